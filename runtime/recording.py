"""One recording of a user's function: its graph, where the inputs come from, and what becomes of the outputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..tracer.capture import Captures, instrument
from ..tracer.context import is_inside
from ..tracer.dims import atom
from ..tracer.errors import CaptureError, NumtapeError, add_line, layout
from ..tracer.graph import Graph, Loc
from ..tracer.record import Trace, recording
from ..tracer.scalar import Scalar
from ..tracer.tensor import Tensor
from ..tracer.values import Value, is_traced, lift
from ..tracer.variable import Variable
from .signature import Marked, Spec, flatten, spec_of, unflatten


@dataclass(frozen=True, slots=True)
class Source:
    """Where a graph input is found at a call: kind "leaf" (of the arguments), "capture" or "variable"."""

    kind: str
    index: int = -1
    variable: Any = None


@dataclass(frozen=True, slots=True)
class Effect:
    """An output that goes into something of the caller's: a Variable is assigned, an array is written."""

    output: int
    into: Source


@dataclass
class Recording:
    """What one run of the function left behind. Graph outputs: the user's, then the effects'."""

    graph: Graph
    sources: tuple[Source, ...]
    specs: tuple[Spec, ...]
    names: tuple[str, ...]
    tree: Any
    out_tree: Any
    out_leaves: tuple[Any, ...]
    effects: tuple[Effect, ...]
    captures: Captures
    capture_specs: tuple[Spec, ...]
    aliases: tuple[int, ...] | None  # of leaves, Variables and captures, where the body writes into one
    written: tuple[int, ...]  # which of these it writes into
    variables: tuple[Any, ...]  # those that the body met outside of its arguments
    seconds: float = 0.0
    made: tuple[Any, ...] = field(default=(), repr=False)

    def result(self, outs: Sequence[Any]) -> Any:
        """The user's result from the graph's outputs."""
        leaves = [outs[leaf.index] if isinstance(leaf, Out) else leaf for leaf in self.out_leaves]
        return unflatten(self.out_tree, leaves)


@dataclass(frozen=True, slots=True)
class Out:
    """A leaf of the result that is an output of the graph."""

    index: int


def record(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    names: Sequence[str],
    specs: Sequence[Spec],
    name: str,
    share: bool = False,
    run: Callable[..., Any] | None = None,
) -> Recording:
    """Run `function` once on real arguments and write down what it does.

    `run` is what is called in its place, if it does more than call the function.
    `share` makes arguments that are one array one Tensor, for bodies that write into it.
    """
    started = time.perf_counter()
    leaves, tree = flatten((args, kwargs))
    trace = Trace(name)
    sources: list[Source] = []
    variables: list[Any] = []
    captured: list[Any] = []
    capture_handles: list[tuple[int, Tensor, Value]] = []
    capture_specs: list[Spec] = []

    shadows: list[tuple[int, Variable]] = []
    read_variable = trace.variable_value

    def variable_value(variable: Any) -> Value:
        if not any(variable is v for v in variables) and not any(variable is handle for _, handle in shadows):
            variables.append(variable)
        before = len(trace.inputs)
        value = read_variable(variable)
        if len(trace.inputs) > before:
            sources.append(Source("variable", variable=variable))
        return value

    trace.variable_value = variable_value  # type: ignore[method-assign]

    def lift_capture(path: Any, item: Any, label: str) -> Any:
        captured.append(item)
        if share and isinstance(item, np.ndarray) and id(item) in by_identity:
            capture_specs.append(spec_of(item, label))
            return by_identity[id(item)]
        value = trace.input(label, item)
        sources.append(Source("capture", len(capture_specs)))
        capture_specs.append(spec_of(item, label))
        handle = handle_for(value, item, trace.input_names[-1])
        if isinstance(handle, Tensor):
            capture_handles.append((len(sources) - 1, handle, value))
            by_identity[id(item)] = handle
        return handle

    with recording(trace):
        handles: list[Any] = []
        arrays: list[tuple[int, Tensor, Value]] = []
        by_identity: dict[int, Any] = {}
        captures = Captures(lift_capture, lambda array: Tensor(trace.constant(array)))
        trace.captures = captures
        for index, (leaf, spec, label) in enumerate(zip(leaves, specs, names, strict=True)):
            if not spec.dynamic:
                handles.append(captures.argument(index, leaf.item if type(leaf) is Marked else leaf, label))
                continue
            if share and id(leaf) in by_identity:
                handles.append(by_identity[id(leaf)])
                continue
            item = content(leaf)
            value = trace.input(label, item)
            sources.append(Source("leaf", index))
            if spec.kind == "variable":
                handle: Any = shadow_of(leaf, value)
                trace.variables[id(handle)] = (handle, value)
                shadows.append((index, handle))
                by_identity[id(leaf)] = handle
                if share:
                    trace.stands[id(leaf)] = handle
            else:
                handle = handle_for(value, item, trace.input_names[-1])
                if isinstance(handle, Tensor):
                    arrays.append((len(sources) - 1, handle, value))
                    by_identity[id(leaf)] = handle
            handles.append(handle)
        own_args, own_kwargs = unflatten(tree, handles)
        body = instrument(function, captures)  # in any case: captures are found from this function
        body = body if run is None else run
        try:
            result = body(*own_args, **own_kwargs)
        except NumtapeError as error:
            add_line(error, _line_of(error))
            raise
        finally:
            captures.finish()
        trace.refuse_caught_error()
        _refuse_mutation(tree, handles, (own_args, own_kwargs))
        out_leaves, out_tree = flatten(result)
        values: list[Value] = []
        kept: list[Any] = []
        for leaf in out_leaves:
            if is_traced(leaf):
                values.append(trace.follow(leaf._read()))
                kept.append(Out(len(values) - 1))
            elif isinstance(leaf, np.ndarray | np.generic):
                values.append(trace.follow(lift(leaf)))
                kept.append(Out(len(values) - 1))
            else:
                _refuse_lazy(leaf)
                kept.append(captures.plain(leaf))
        effects: list[Effect] = []
        shadow_index = {id(handle): index for index, handle in shadows}
        for key, variable in trace.assigned.items():
            into = Source("leaf", shadow_index[key]) if key in shadow_index else Source("variable", variable=variable)
            effects.append(Effect(len(values), into))
            values.append(trace.variables[key][1])
        for position, handle, before in [*arrays, *capture_handles]:
            if handle._version and handle._read() is not before:
                effects.append(Effect(len(values), sources[position]))
                values.append(handle._read())
    graph = trace.finish(values)
    met = [*leaves, *variables, *captured]
    start = {"leaf": 0, "capture": len(leaves) + len(variables)}
    written = tuple([start[e.into.kind] + e.into.index for e in effects if e.into.kind in start])
    aliases = alias_pattern(met) if effects else None
    refuse_overlap(met, written)
    if aliases is not None and not share and len(set(aliases)) < len(aliases):
        return record(function, args, kwargs, names, specs, name, True, run)
    return Recording(
        graph, tuple(sources), tuple(specs), tuple(names), tree, out_tree, tuple(kept), tuple(effects), captures,
        tuple(capture_specs), aliases, written, tuple(variables), time.perf_counter() - started, tuple(trace.made),
    )  # fmt: skip


def _refuse_lazy(leaf: Any) -> None:
    if hasattr(type(leaf), "__next__") or hasattr(type(leaf), "__await__"):
        text = f"the function returns a {type(leaf).__name__}, which would compute after the recording has ended"
        raise CaptureError(layout(text, fix="Return a list or tuple of what it yields."))


def _line_of(error: BaseException) -> str:
    """The innermost line of the user's code that an error passed through."""
    found, step = "", error.__traceback__
    while step is not None:
        if not is_inside(step.tb_frame.f_code.co_filename):
            found = str(Loc(step.tb_frame.f_code.co_filename, step.tb_lineno))
        step = step.tb_next
    return found


def content(leaf: Any) -> Any:
    """The array or number behind a leaf, in this machine's byte order."""
    if isinstance(leaf, Tensor):
        leaf = leaf._current().array
    if isinstance(leaf, np.ndarray):
        if leaf.ndim == 0:
            leaf = leaf[()]
        elif not leaf.dtype.isnative:
            leaf = leaf.astype(leaf.dtype.newbyteorder("="))
        elif type(leaf) is not np.ndarray:
            leaf = np.asarray(leaf)
    return leaf


def handle_for(value: Value, item: Any, name: str) -> Any:
    """What the body sees of an input: a runtime scalar for a Python number, else a Tensor."""
    if value.weak:
        return Scalar(value, atom(name) if isinstance(item, int) else None)
    return Tensor(value)


def shadow_of(variable: Variable, value: Value) -> Variable:
    """A Variable that stands for an argument: assigning it assigns whatever Variable is passed at a call."""
    shadow = Variable.__new__(Variable)
    Tensor.__init__(shadow, Value(value.array))
    shadow.trainable, shadow.name = variable.trainable, variable.name
    return shadow


def alias_pattern(items: Sequence[Any]) -> tuple[int, ...]:
    """For each item the first one that is the same array or Tensor: which of them are one object."""
    first: dict[int, int] = {}
    mutable = (np.ndarray, Tensor)
    return tuple([first.setdefault(id(item), k) if isinstance(item, mutable) else k for k, item in enumerate(items)])


def refuse_overlap(items: Sequence[Any], written: Sequence[int]) -> None:
    """Raise CaptureError if an array that is written into shares memory with another one."""
    for item in [items[k] for k in written]:
        if any(_overlap(item, other) for other in items):
            text = "the function writes into an array that shares memory with another one that it takes"
            raise CaptureError(layout(text, fix="Pass a copy of one of them, or write into a new array."))


def _overlap(a: Any, b: Any) -> bool:
    if a is b or not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=1000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _refuse_mutation(tree: Any, handles: list[Any], arguments: Any) -> None:
    known = {id(handle) for handle in handles}
    after, after_tree = flatten(arguments, lambda item: id(item) in known)  # a static list is one leaf
    if after_tree != tree or any(a is not b for a, b in zip(after, handles, strict=False)):
        text = "the function changes a list or dict that was passed to it"
        fix = "The change would happen while recording only. Return the new container instead."
        raise ValueError(layout(text, fix=fix))
