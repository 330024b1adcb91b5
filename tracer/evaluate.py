"""The NumPy interpreter of a graph: what every back end is held against."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from .dims import RELATIONS, Dim, evaluate_size, names
from .graph import BINDING, Graph, Guard, Node
from .op import Output
from .ops import OPS
from .show import show_guard, show_type
from .types import WEAK_DTYPES, ArrayType


class GuardFailed(Exception):
    """What the recording assumed doesn't hold for these inputs: guard number `index` of `graph`."""

    def __init__(self, graph: Graph, index: int) -> None:
        text = show_guard(graph.guards[index], [f"%{i}" for i in range(len(graph.nodes))])
        super().__init__(f"{graph.name}: guard {index} does not hold: {text}")
        self.graph, self.index = graph, index


def evaluate(graph: Graph, inputs: Sequence[Any], sizes: Mapping[str, int] | None = None) -> tuple[Any, ...]:
    """Compute the outputs of a graph with NumPy, one node after another.

    Values of rank 0 are NumPy scalars, weak ones Python numbers. Results are fresh C-contiguous arrays. `sizes` are
    numbers for names that neither an input's axes nor an integer input give. Each value is held against the type of
    its node (AssertionError): NumPy derives shapes anew and would hide a wrong one.

    Raises GuardFailed for the first guard, in program order, that doesn't hold.
    """
    known = dict(sizes or ())
    values: list[Any] = []
    for index, (name, value) in enumerate(zip(graph.names, inputs, strict=True)):
        values.append(_given(value, graph.type(index)))
        _bind_input(name, values[index], known)
    broken = _broken_equality(graph, known)
    # a cotangent of the hits of a mask is an input too: its size has a number only at the end
    late = {i: values[i] for i in graph.inputs if any(names(size) - known.keys() for size in graph.type(i).shape)}
    for index in graph.inputs:
        if index not in late and broken is None:
            _check(graph, index, values[index], known)
    guards = enumerate(_due_guards(graph))
    due = next(guards, None)
    last = _last_uses(graph)
    for index in range(len(graph.names), len(graph.nodes) + 1):
        while due is not None and due[1] <= index:
            if not _holds(graph.guards[due[0]], values, known):
                raise GuardFailed(graph, due[0])
            due = next(guards, None)
        if index == len(graph.nodes):
            break
        node = graph.nodes[index]
        try:
            value = evaluate_node(node, [values[a] for a in node.args], known)
        except Exception as error:
            if broken is not None:
                raise GuardFailed(graph, broken) from error
            error.add_note(f"in {graph.name}: %{index}: {show_type(node.type)} = {node.op}")
            raise
        if node.op in BINDING and broken is None:
            broken = _broken_equality(graph, known)
        if broken is None:
            _check(graph, index, value, known)
        values.append(value)
        for done in (*node.args, index):
            if last[done] <= index:
                values[done] = None
    for index, value in late.items():
        _check(graph, index, value, known)
    return _fresh([values[index] for index in graph.outputs], inputs)


def evaluate_node(node: Node, values: Sequence[Any], sizes: MutableMapping[str, int]) -> Any:
    """Compute one node with NumPy. A node that finds a size at run time writes its number into `sizes`."""
    params = {name: concrete(value, sizes) for name, value in node.params}
    result = settle(OPS[node.op].reference(*values, **params), node.type)
    if node.op in BINDING:
        sizes[node.param("count")] = len(result[0]) if node.op == "nonzero" else result
    return result


def concrete(item: Any, sizes: Mapping[str, int]) -> Any:
    """A parameter with every size in it replaced by its number."""
    if isinstance(item, Dim):
        return evaluate_size(item, sizes)
    if type(item) is tuple:
        return tuple([concrete(part, sizes) for part in item])
    return item


def settle(value: Any, type_: Output) -> Any:
    """A result in the form that its type asks for: weak ones as Python numbers, others of rank 0 as NumPy scalars."""
    if isinstance(type_, tuple):
        return tuple([settle(v, t) for v, t in zip(value, type_, strict=True)])
    if type_.weak:
        return value.item() if isinstance(value, np.ndarray | np.generic) else value
    return value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value


def _given(value: Any, type_: ArrayType) -> Any:
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic) and not type_.weak:
        return np.asarray(value, type_.dtype)[()]
    return settle(value, type_)


def _bind_input(name: str, value: Any, known: dict[str, int]) -> None:
    shape = np.shape(value)
    known.update({f"{name}.{axis}": size for axis, size in enumerate(shape)})
    if not shape and isinstance(value, int | np.integer) and not isinstance(value, bool):
        known[name] = int(value)


def _check(graph: Graph, index: int, value: Any, known: Mapping[str, int]) -> None:
    node = graph.nodes[index]
    try:
        if _fits(value, node.type, known):
            return
        problem = f"the value is {_describe(value)}"
    except KeyError as error:
        problem = f"the size {error} has no number"
    raise AssertionError(f"{graph.name}: %{index}: {show_type(node.type)} = {node.op}: {problem}")


def _fits(value: Any, type_: Output, known: Mapping[str, int]) -> bool:
    if isinstance(type_, tuple):
        return all(_fits(v, t, known) for v, t in zip(value, type_, strict=True))
    if type_.weak:
        return WEAK_DTYPES.get(type(value)) == type_.dtype
    shape = tuple(evaluate_size(size, known) for size in type_.shape)
    return isinstance(value, np.ndarray | np.generic) and value.dtype == type_.dtype and value.shape == shape


def _describe(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_describe, value))})"
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray | np.generic) else repr(value)


def _broken_equality(graph: Graph, known: Mapping[str, int]) -> int | None:
    """The first guard on the equality of two sizes that doesn't hold, or None.

    The types rely on such an equality from the first node on (one name stands for both sizes), also where the program
    comes to it later. Until then nodes are computed unchecked, since an earlier guard may fail.
    """
    for index, guard in enumerate(graph.guards):
        equality = isinstance(guard.subject, Dim) and (guard.relation, guard.outcome) in (("==", True), ("!=", False))
        if equality and names(guard.subject) <= known.keys() and not _holds(guard, (), known):
            return index
    return None


def _holds(guard: Guard, values: Sequence[Any], known: Mapping[str, int]) -> bool:
    if isinstance(guard.subject, Dim):
        truth = RELATIONS[guard.relation](evaluate_size(guard.subject, known), 0)
    else:
        truth = bool(values[guard.subject])
    return truth == guard.outcome


def _due_guards(graph: Graph) -> list[int]:
    """For each guard the number of nodes after which it can be and is checked, in program order."""
    born: dict[str, int] = {n.param("count"): i + 1 for i, n in enumerate(graph.nodes) if n.op in BINDING}
    due: list[int] = []
    for guard in graph.guards:
        subject = guard.subject
        needs = [subject + 1] if isinstance(subject, int) else [born.get(name, 0) for name in names(subject)]
        due.append(max(guard.at, *needs, due[-1] if due else 0))
    return due


def _last_uses(graph: Graph) -> list[int]:
    """For each node the index of the last node that reads it; the end for outputs and guarded nodes."""
    last = list(range(len(graph.nodes)))
    for index, node in enumerate(graph.nodes):
        for arg in node.args:
            last[arg] = index
    for index in (*graph.outputs, *(g.subject for g in graph.guards if isinstance(g.subject, int))):
        last[index] = len(graph.nodes)
    return last


def _fresh(outputs: list[Any], inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs, copied where one is a view, an input or another output."""
    seen = {id(value) for value in inputs}
    out = []
    for value in outputs:
        if isinstance(value, np.ndarray):
            flags = value.flags
            if id(value) in seen or not (flags.owndata and flags.c_contiguous and flags.writeable):
                value = np.array(value, order="C")
            seen.add(id(value))
        out.append(value)
    return tuple(out)
