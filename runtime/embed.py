"""A compiled function as a numba dispatcher, to be called inside the user's own ``@njit`` code.

The dispatcher is made for the dtypes and ranks of example arguments. It takes the arguments that were given as arrays
or numbers, in their order, and returns one value or a tuple; static arguments (strings, bools, None) and defaults keep
the values that they had. Arrays of any layout are taken, of any length. Inside ``@njit`` nothing can be traced again,
so a branch that goes another way than it did for the example is a ValueError there.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..tracer.dims import Dim
from ..tracer.errors import CaptureError, layout
from ..tracer.graph import Graph, Guard
from ..tracer.types import SHORT
from .cache import Plan
from .guards import condition_text, inputs_behind
from .jit import Function
from .recording import Recording
from .serving import serving
from .signature import flatten


def forward_dispatcher(function: Function, args: tuple[Any, ...]) -> Any:
    """A numba dispatcher that computes what `function` does, for arguments like `args`.

    Raises
    ------
    TypeError
        An argument or the result is a tree, or the body writes into an argument or a Variable.
    CaptureError
        The body reads arrays or numbers from closures or globals, which might change later.
    """
    full, kwargs = function._binder.bind(args, {})
    for position, arg in enumerate(args):
        _refuse_tree(arg, function._binder.name_of(position), function._label)
    given = len(flatten(function._mark(args, {}))[0])
    entry, leaves = serving(function, full, kwargs)
    _refuse(entry.recording, function._label)
    slots = _slots(entry.plan, function._label)
    return _wrap(entry.plan, entry.compiled.dispatcher, leaves, given, slots)


def value_and_grad_dispatcher(function: Function, args: tuple[Any, ...]) -> Any:
    """A numba dispatcher that returns (value, gradient by the first argument), for arguments like `args`.

    Errors as for :func:`forward_dispatcher`; GradError where the result is not one floating scalar.
    """
    from .transforms import value_and_grad

    return forward_dispatcher(value_and_grad(function), args)


# -- what can't be embedded ------------------------------------------------------------------------------------------


def _refuse_tree(arg: Any, name: str, label: str) -> None:
    leaves, _ = flatten(arg)
    if leaves and leaves[0] is not arg:
        text = f"argument `{name}` of {label} is a {type(arg).__name__}, which @njit code can't pass on"
        raise TypeError(layout(text, fix="Pass its arrays as arguments of their own: wrap it in a function that does."))


def _refuse(recording: Recording, label: str) -> None:
    graph = recording.graph
    captured = [graph.names[k] for k, s in enumerate(recording.sources) if s.kind != "leaf"]
    if captured:
        text = f"{label} reads `{captured[0]}` from outside, which would keep its present value inside @njit code"
        raise CaptureError(layout(text, fix=f"Pass `{captured[0]}` as an argument."))
    if recording.effects:
        text = f"{label} writes into an argument or a Variable, which @njit code would not see"
        raise TypeError(layout(text, fix="Return the new value instead."))


@dataclass(frozen=True)
class _Slot:
    """Stands for an output while the result's structure is looked at."""

    index: int


def _slots(plan: Plan, label: str) -> int | list[int]:
    """Which outputs make up the result: one, or those of a tuple."""
    result = plan.assemble([_Slot(k) for k in range(len(plan.graph.outputs))])
    if isinstance(result, _Slot):
        return result.index
    if isinstance(result, tuple | list) and result and all(isinstance(r, _Slot) for r in result):
        return [r.index for r in result]
    text = f"{label} returns {type(result).__name__ if not isinstance(result, tuple | list) else 'nested values'}"
    raise TypeError(
        layout(f"{text}, which @njit code can't take", fix="Return one array or number, or a tuple of them.")
    )


# -- the wrapper -----------------------------------------------------------------------------------------------------


def _wrap(plan: Plan, run: Any, leaves: Sequence[Any], given: int, slots: int | list[int]) -> Any:
    """A dispatcher that takes what the user passes and returns what the function returns."""
    import numba

    graph = plan.graph
    scope: dict[str, Any] = {"_run": run, "_take": _take()}
    parameters: list[str] = []
    passed: list[str] = []
    for position, source in enumerate(plan.recording.sources):
        label, type_ = graph.names[position], graph.type(position)
        if source.index < given:
            name = label if label.isidentifier() and not keyword.iskeyword(label) else f"argument{position}"
            parameters.append(name)
            wanted = f"{SHORT[type_.dtype.name]}[{','.join(':' * type_.rank)}]"
            passed.append(f"_take({name}, {f'{label} {type_.dtype.name} {type_.rank} {wanted}'!r})")
        else:
            scope[f"_default{position}"] = _default(leaves[source.index], label, graph.name)
            passed.append(f"_default{position}")
    outs = [f"_out{k}" for k in range(len(graph.outputs))]
    result = outs[slots] if isinstance(slots, int) else f"({''.join(f'{outs[k]}, ' for k in slots)})"
    lines = [f"def embedded({', '.join(parameters)}):"]
    lines.append(f"    {', '.join(['_status', *outs])} = _run({', '.join(passed)})")
    lines.append("    if _status != 0:")
    for number, guard in enumerate(graph.guards, 1):
        lines += [f"        if _status == {number}:", f"            raise ValueError({_broken(graph, guard)!r})"]
    text = f"{graph.name}: a check at run time failed, such as an index out of range"
    lines += [f"        raise IndexError({text!r})", f"    return {result}"]
    exec(compile("\n".join(lines), f"<numtape embedded {graph.name}>", "exec"), scope)
    scope["embedded"].__name__ = graph.name
    return numba.njit(nogil=True)(scope["embedded"])


def _default(leaf: Any, name: str, label: str) -> Any:
    if type(leaf) in (int, float):
        return leaf
    raise TypeError(layout(f"the default of `{name}` of {label} is an array", fix=f"Pass `{name}` as an argument."))


def _broken(graph: Graph, guard: Guard) -> str:
    if isinstance(guard.subject, Dim):
        text = f"`{condition_text(guard)}` does not hold"
    else:
        on = ", ".join(f"`{n}`" for n in inputs_behind(graph, guard.subject))
        text = f"the branch on {on} went another way than for the example"
    return f"{graph.name}: {text} ({guard.loc}), and @njit code can't be traced again"


@lru_cache(1)
def _take() -> Callable[..., Any]:
    """Takes an argument as the compiled code wants it: contiguous arrays, numbers of the very dtype."""
    from numba import from_dtype, types
    from numba.core.errors import TypingError
    from numba.extending import overload

    def take(item: Any, wanted: str) -> Any:
        raise NotImplementedError("runs inside @njit code only")

    # without annotations: numba compares the signature with those of the lambdas, which have none
    @overload(take, prefer_literal=True)
    def typed(item, wanted):
        if not isinstance(wanted, types.Literal):
            return None
        label, dtype, rank, short = wanted.literal_value.split(" ", 3)
        cast = getattr(np, dtype)
        scalar = from_dtype(np.dtype(dtype))
        if isinstance(item, types.Array):
            if item.dtype == scalar and item.ndim == int(rank):
                if not item.ndim:
                    return lambda item, wanted: item[()]
                if item.layout == "C" and item.mutable and item.aligned:
                    return lambda item, wanted: item
                if item.layout == "C":
                    return lambda item, wanted: item.copy()
                return lambda item, wanted: np.ascontiguousarray(item)
        elif rank == "0" and isinstance(item, _accepted(types, scalar)):
            return lambda item, wanted: cast(item)
        raise TypingError(f"argument `{label}` was compiled as {short}, but {item} is passed")

    return take


def _accepted(types: Any, scalar: Any) -> tuple[type, ...]:
    """The numbers that a scalar parameter takes without losing anything but precision."""
    if isinstance(scalar, types.Float):
        return (types.Float, types.Integer)
    return (types.Integer,) if isinstance(scalar, types.Integer) else (types.Boolean,)
