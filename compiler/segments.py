"""Graphs with ops that no back end has a kernel for: what lies between these is compiled, they are NumPy's.

A stage is a graph of its own, compiled as any other; a host step is one node that NumPy computes. Sizes that a stage
can't see in the shapes of its arrays come in as integers, under the very names that its types mention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from ..tracer.dims import RELATIONS, Dim, evaluate_size, names
from ..tracer.evaluate import evaluate_node, settle
from ..tracer.graph import BINDING, Graph, Node
from ..tracer.plain import dataclass
from ..tracer.types import INT64, ArrayType
from .inline import inline
from .lower import lower
from .steps import is_known, is_strange

INT = ArrayType(INT64, (), True)
BY_NUMPY: frozenset[str] = frozenset()  # ops that are left to NumPy though there is a kernel: for tests


@dataclass(frozen=True)
class Stage:
    """A compiled part: `sizes` and `values` are its inputs, by name and by node, and `nodes` what it gives."""

    compiled: Any
    sizes: tuple[str, ...]
    values: tuple[int, ...]
    nodes: tuple[int, ...]


class Segmented:
    """A graph that is compiled in parts, with the interface of a compiled one."""

    def __init__(self, graph: Graph, compile_part: Callable[[Graph], Any]) -> None:
        self.graph = graph = inline(graph)
        host = _host_nodes(graph)
        stages = _stages(graph, host)
        self._steps: list[Stage | int] = []
        for number in range(max(stages, default=0) + 1):
            part = _part(graph, host, stages, number)
            if part is not None:
                inner, sizes, values, nodes = part
                self._steps.append(Stage(compile_part(inner), sizes, values, nodes))
            self._steps += [i for i in range(len(graph.nodes)) if host[i] and stages[i] == number]
        self._steps.append(-1)  # the end, where the last guards are due
        self._parts = [step.compiled for step in self._steps if isinstance(step, Stage)]
        self._guards = [(k, g) for k, g in enumerate(graph.guards) if isinstance(g.subject, int)]
        self._facts = [(k, g) for k, g in enumerate(graph.guards) if isinstance(g.subject, Dim)]
        self._atoms = [(f"{name}.{axis}", i, axis) for i, name in enumerate(graph.names)
                       for axis in range(graph.type(i).rank)]  # fmt: skip
        self._whole = [(name, i) for i, name in enumerate(graph.names) if graph.type(i).dtype.kind in "iu"
                       and not graph.type(i).rank]  # fmt: skip
        self.compile_seconds = sum(part.compile_seconds for part in self._parts)
        self.found = bool(self._parts) and all(part.found for part in self._parts)

    def run(self, inputs: Sequence[Any]) -> tuple[int, list[Any]]:
        """Compute the outputs: (status, outputs); what NumPy raises in a host step goes through."""
        graph = self.graph
        values: dict[int, Any] = dict(enumerate(inputs))
        sizes: dict[str, int] = {atom: inputs[i].shape[axis] for atom, i, axis in self._atoms}
        sizes.update({name: int(inputs[i]) for name, i in self._whole})
        facts, guards = iter(self._facts), iter(self._guards)
        fact, guard = next(facts, None), next(guards, None)
        for step in self._steps:
            while fact is not None and names(fact[1].subject) <= sizes.keys():
                if RELATIONS[fact[1].relation](evaluate_size(fact[1].subject, sizes), 0) != fact[1].outcome:
                    return fact[0] + 1, []
                fact = next(facts, None)
            while guard is not None and guard[1].subject in values:
                if bool(values[cast(int, guard[1].subject)]) != guard[1].outcome:
                    return guard[0] + 1, []
                guard = next(guards, None)
            if isinstance(step, Stage):
                status, outs = step.compiled.run([*(sizes[s] for s in step.sizes), *(values[v] for v in step.values)])
                if status:
                    return status, []
                values.update(zip(step.nodes, outs, strict=True))
            elif step >= 0:
                node = graph.nodes[step]
                found = evaluate_node(node, [_constant(graph, values, a) for a in node.args], sizes)
                values[step] = tuple(map(_plain, found)) if isinstance(found, tuple) else _plain(found)
        return 0, _fresh([_constant(graph, values, o) for o in graph.outputs], inputs)

    @property
    def source(self) -> str:
        """The sources of the parts."""
        return "\n\n".join(part.source for part in self._parts)

    @property
    def kernels(self) -> str:
        """The kernels of the parts, printed."""
        return "\n\n".join(part.kernels for part in self._parts)

    @property
    def dispatcher(self) -> Any:
        raise TypeError(
            f"{self.graph.name} holds an op or dtype that numba can't compile: it can't be called from @njit code"
        )


def segmented(graph: Graph, compile_part: Callable[[Graph], Any]) -> Segmented | None:
    """The graph compiled in parts; None where there is nothing to compile."""
    whole = inline(graph)
    host = _host_nodes(whole)
    native = [n for i, n in enumerate(whole.nodes) if not host[i] and n.op not in ("input", "const")]
    return Segmented(graph, compile_part) if native else None


def _plain(value: Any) -> Any:
    """An array as stages take it: C-contiguous; NumPy may have given a view."""
    return np.ascontiguousarray(value) if isinstance(value, np.ndarray) and value.ndim else value


def _constant(graph: Graph, values: dict[int, Any], index: int) -> Any:
    node = graph.nodes[index]
    return settle(node.param("value").array(), node.type) if node.op == "const" else values[index]


def _fresh(outputs: list[Any], inputs: Sequence[Any]) -> list[Any]:
    """The outputs, copied where one is an input, a view or another output."""
    seen = {id(value) for value in inputs}
    out = []
    for value in outputs:
        if isinstance(value, np.ndarray):
            if id(value) in seen or not (value.flags.owndata and value.flags.carray):
                value = np.array(value, order="C")
            seen.add(id(value))
        out.append(value)
    return out


def _host_nodes(graph: Graph) -> list[bool]:
    """For each node whether NumPy has to compute it."""
    lowered = lower(graph)
    strange = {n.op for n in lowered.nodes if n.op != "map" and not is_known(lowered, n)} | BY_NUMPY
    host: list[bool] = []
    for index, node in enumerate(graph.nodes):
        types = [node.type, *(graph.nodes[a].type for a in node.args)]
        own = node.op in strange or node.op in BINDING or any(map(is_strange, types))
        own = own or (node.op == "map" and not is_known(graph, node))
        of_host = node.op == "pick" and host[node.args[0]]
        host.append((own or of_host) and index >= len(graph.names) and node.op != "const")
    return host


def _stages(graph: Graph, host: list[bool]) -> list[int]:
    """The stage of each node: a host step runs after the compiled part of its stage."""
    stages: list[int] = []
    born = {n.param("count"): i for i, n in enumerate(graph.nodes) if n.op in BINDING}
    for index, node in enumerate(graph.nodes):
        needs = [*node.args, *(born[a] for a in _atoms_of(node) if a in born and born[a] < index)]
        stages.append(max([stages[a] + (host[a] and not host[index]) for a in needs], default=0))
    return stages


def _atoms_of(node: Node) -> set[str]:
    """The names of sizes that a node's type and parameters mention."""
    found: set[str] = set()

    def visit(item: Any) -> None:
        if isinstance(item, Dim):
            found.update(names(item))
        elif isinstance(item, ArrayType):
            visit(item.shape)
        elif isinstance(item, Graph):
            return  # sizes of a mapped body are its own
        elif isinstance(item, tuple):
            for part in item:
                visit(part)

    visit(node.type)
    visit(node.params)
    return found


def _part(
    graph: Graph, host: list[bool], stages: list[int], number: int
) -> tuple[Graph, tuple[str, ...], tuple[int, ...], tuple[int, ...]] | None:
    """The graph of a stage's compiled part, the sizes and values that it takes, and the nodes that it gives."""
    inside = [
        i for i, n in enumerate(graph.nodes)
        if stages[i] == number and not host[i] and i >= len(graph.names) and n.op != "const"
    ]  # fmt: skip
    members = set(inside)
    wanted = _wanted(graph, members)
    if not wanted:
        return None
    read = dict.fromkeys(a for i in inside for a in graph.nodes[i].args)
    written = sorted([*inside, *(a for a in read if graph.nodes[a].op == "const")])
    values = [a for a in read if a not in members and graph.nodes[a].op != "const"]
    own = {name for v in values if v < len(graph.names) for name in _names_given(graph, v)}
    needed = set[str]().union(*(_atoms_of(graph.nodes[i]) for i in (*inside, *values)))
    sizes = sorted(needed - own)
    taken = {*graph.names, *sizes}
    labels = [graph.names[v] if v < len(graph.names) else _label(v, taken) for v in values]
    moved = {v: len(sizes) + k for k, v in enumerate(values)}
    nodes = [_input(name, INT) for name in sizes]
    nodes += [_input(label, graph.type(v)) for label, v in zip(labels, values, strict=True)]
    for index in written:
        node = graph.nodes[index]
        moved[index] = len(nodes)
        nodes.append(Node(node.op, tuple(moved[a] for a in node.args), node.params, node.type))
    locs = tuple([graph.loc(0)] * (len(sizes) + len(values)) + [graph.loc(i) for i in written])
    outputs = tuple(moved[w] for w in wanted)
    part = Graph(f"{graph.name}_{number}", tuple(nodes), outputs, (*sizes, *labels), (), locs)
    return part, tuple(sizes), tuple(values), tuple(wanted)


def _input(name: str, type_: ArrayType) -> Node:
    return Node("input", (), (("name", name),), type_)


def _label(index: int, taken: set[str]) -> str:
    name = f"v{index}"
    while name in taken:
        name += "_"
    return name


def _names_given(graph: Graph, index: int) -> Iterable[str]:
    type_, name = graph.type(index), graph.names[index]
    return [f"{name}.{axis}" for axis in range(type_.rank)] or ([name] if type_.dtype.kind in "iu" else [])


def _wanted(graph: Graph, members: set[int]) -> list[int]:
    """The members that others read, or that are returned or guarded."""
    outside = {a for i, n in enumerate(graph.nodes) if i not in members for a in n.args}
    outside |= set(graph.outputs) | {g.subject for g in graph.guards if isinstance(g.subject, int)}
    return sorted(m for m in members if m in outside)
