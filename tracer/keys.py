"""What a NumPy index means: a key, with runtime integers and traced arrays in it, is read into a Plan.

A Plan is a slice of every axis, then axes dropped (for integers) and added (for None), then one gather for all index
arrays together.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .context import context
from .dims import Dim, floordiv, lower_bound, maximum, minimum
from .errors import ShapeError
from .numpy_api.common import constant, show_shape, stack_nested
from .plain import dataclass, field
from .scalar import Scalar
from .tensor import Tensor
from .types import Shape, broadcast
from .values import dtype_of, emit, facts, has_traced, is_traced, number, rank_of, sizes, to_size

Size = int | Dim

_KINDS = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)
_ARRAYS = "arrays used as indices must be of integer (or boolean) type"


@dataclass
class Plan:
    """What a key does to an array, in this order: slice all axes, squeeze, expand, gather."""

    start: list[Size] = field(default_factory=list)
    size: list[Size] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    squeezed: list[int] = field(default_factory=list)  # axes of the array that integers pick
    added: list[int] = field(default_factory=list)  # axes of length 1 in the result of the expansion
    indices: list[Any] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)  # which expanded axes the indices run over
    at: int = 0
    whole: bool = True  # whether the slice takes everything
    rank: int = 0  # of what is gathered from

    def take(self, start: Size, size: Size, step: int, length: Size) -> None:
        self.whole = self.whole and start == 0 and step == 1 and size == length
        self.start.append(start)
        self.size.append(size)
        self.step.append(step)


# reading a key


@dataclass(frozen=True)
class Key:
    """The items of a key, one or more for each axis; `dots` tells where its ellipsis stood (-1: nowhere)."""

    items: list[Any]
    dots: int
    element: bool
    """Whether there is an integer for every axis, so that one element is meant."""


def read_key(key: Any, rank: int) -> Key:
    """A key for an array of some rank. Raises IndexError where there are too many items."""
    parts = list(key) if isinstance(key, tuple) else [key]
    items, dots = _filled([index_array(p) if isinstance(p, list | tuple) or _is_foreign(p) else p for p in parts], rank)
    return Key(items, dots, dots < 0 and len(items) == rank and all(map(_is_integer, items)))


def _is_foreign(item: Any) -> bool:
    """Whether an item is an array of another library, or one like range."""
    known = (
        isinstance(item, slice | int | np.ndarray | np.generic) or item is None or item is Ellipsis or is_traced(item)
    )
    return not known and (hasattr(item, "__array__") or isinstance(item, range))


def index_array(items: Any) -> Any:
    if has_traced(items):
        return stack_nested(items)
    found = np.asarray(items)
    return constant(found.astype(np.intp) if found.size == 0 else found)


def _is_integer(item: Any) -> bool:
    if isinstance(item, bool | np.bool_):
        return False
    if isinstance(item, int | np.integer):
        return True
    if isinstance(item, Scalar):
        return item.kind is int
    if isinstance(item, np.ndarray) or is_traced(item):
        return rank_of(item) == 0 and dtype_of(item).kind in "iu"
    return hasattr(item, "__index__")


def _consumed(item: Any) -> int:
    """How many axes of the array an item of a key stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool | np.bool_):
        return 0
    if isinstance(item, Scalar):
        return 0 if item.kind is bool else 1
    if isinstance(item, np.ndarray) or is_traced(item):
        return rank_of(item) if dtype_of(item).kind == "b" else 1
    return 1


def integers(shape: Shape, key: tuple[int, ...]) -> Plan | None:
    """The plan of plain integers where every size is a number, in a short way; None where one is out of range."""
    rank = len(shape)
    plan = Plan([0] * rank, list(shape), [1] * rank, list(range(len(key))), whole=False, rank=rank - len(key))
    if len(key) > rank:
        return None
    for axis, (index, length) in enumerate(zip(key, shape, strict=False)):
        assert isinstance(length, int)
        if not -length <= index < length:
            return None
        plan.start[axis], plan.size[axis] = index % length, 1
    return plan


def _filled(items: list[Any], rank: int) -> tuple[list[Any], int]:
    """The items with a slice for each axis that the key leaves out, and where the ellipsis stood (-1: nowhere)."""
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    used = sum(map(_consumed, items))
    if used > rank:
        text = f"too many indices for array: array is {rank}-dimensional, but {used} were indexed"
        raise IndexError(text)
    rest = [slice(None)] * (rank - used)
    if not dots:
        return items + rest, -1
    position = dots[0]
    return items[:position] + rest + items[position + 1 :], position


def plan_of(shape: Shape, key: Key, views: bool) -> Plan:
    """What a key does to an array of some shape.

    Where `views` is false, a traced integer gathers: it then needs no guard.
    """
    plan = Plan()
    axis = 0  # of the array
    blocks: list[tuple[int, int]] = []  # of each advanced item: its place in the key, and the axes that stand before
    advanced = False
    for place, item in enumerate(key.items):
        # an ellipsis separates index arrays even where it stands for no axes
        spot = 2 * place + (1 if 0 <= key.dots <= place else 0)
        here = plan.rank
        if item is None:
            plan.added.append(here)
            plan.rank += 1
        elif isinstance(item, slice):
            plan.take(*_slice(item, shape[axis]), shape[axis])
            plan.rank += 1
            axis += 1
        elif _is_integer(item) and (views or not isinstance(item, Tensor)):
            plan.take(_integer(item, shape[axis], axis), 1, 1, -1)
            plan.squeezed.append(axis)
            blocks.append((spot, here - len(plan.axes)))
            axis += 1
        else:
            advanced = True
            blocks.append((spot, here - len(plan.axes)))
            axis = _advanced(plan, item, shape, axis)
    if advanced:
        spots = [spot for spot, _ in blocks]
        adjacent = spots[-1] - spots[0] == 2 * (len(spots) - 1)
        plan.at = blocks[0][1] if adjacent else 0
        _align(plan)
    return plan


def _advanced(plan: Plan, item: Any, shape: Shape, axis: int) -> int:
    """Take an index array or a mask into the plan; returns the next axis."""
    if not (isinstance(item, np.ndarray | np.generic | bool) or is_traced(item)):
        raise IndexError(_KINDS)
    kind = dtype_of(item).kind
    if kind in "iu":
        plan.take(0, shape[axis], 1, shape[axis])
        plan.indices.append(item)
        plan.axes.append(plan.rank)
        plan.rank += 1
        return axis + 1
    if kind != "b":
        raise IndexError(_ARRAYS if rank_of(item) else _KINDS)
    extent = sizes(item)
    if not extent:  # one boolean adds an axis of length 0 or 1
        plan.added.append(plan.rank)
        found = hits(emit("reshape", item, shape=(1,)))
    else:
        for offset, size in enumerate(extent):
            length = shape[axis + offset]
            if facts().same(size, length) is None:
                text = f"boolean index did not match indexed array along axis {axis + offset}; size of axis is"
                raise IndexError(f"{text} {number(length)} but size of corresponding boolean axis is {number(size)}")
            plan.take(0, length, 1, length)
        found = hits(item)
    for index in found:
        plan.indices.append(index)
        plan.axes.append(plan.rank)
        plan.rank += 1
    return axis + len(extent)


def hits(mask: Any) -> tuple[Any, ...]:
    """The places where a mask is true: one index array per axis."""
    trace = context.trace
    found = emit("nonzero", mask, count="#0" if trace is None else trace.fresh("#"))
    return found if isinstance(found, tuple) else (found,)


def _align(plan: Plan) -> None:
    """Broadcast the index arrays against each other."""
    shapes = [sizes(i) for i in plan.indices]
    try:
        shape = broadcast(facts(), *shapes)
    except ShapeError:
        text = " ".join(map(show_shape, shapes))
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {text}"
        ) from None
    plan.indices = [i if sizes(i) == shape else emit("broadcast_to", i, shape=shape) for i in plan.indices]


def _integer(item: Any, length: Size, axis: int) -> Size:
    """An integer index, counted from the front. Raises IndexError as NumPy does."""
    index = to_size(item)
    place = length + index if facts().less(index, 0) else index
    if facts().less(place, 0) or not facts().less(place, length):
        raise IndexError(f"index {number(index)} is out of bounds for axis {axis} with size {number(length)}")
    return place


def _bound(item: Any) -> Size:
    if isinstance(item, Tensor | Scalar) and _is_integer(item):
        return to_size(item)
    try:
        return max(-(2**62), min(operator.index(item), 2**62))  # no axis is as long: x[: 2**80] is x
    except TypeError:
        raise TypeError("slice indices must be integers or None or have an __index__ method") from None


def _slice(item: slice, length: Size) -> tuple[Size, Size, int]:
    """A slice of an axis as start, size and step; the start is never negative.

    Only a bound whose sign isn't known leaves a guard: clamping is exact arithmetic of sizes.
    """
    if item.start is None and item.stop is None and item.step is None:
        return 0, length, 1
    step = 1 if item.step is None else operator.index(item.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    start, stop = (None if b is None else _bound(b) for b in (item.start, item.stop))
    if not (isinstance(length, Dim) or isinstance(start, Dim) or isinstance(stop, Dim)):
        begin, end, _ = slice(start, stop, step).indices(length)
        return max(begin, 0), len(range(begin, end, step)), step
    first: Size
    last: Size
    bounds = facts().bounds()
    only = _only_place(start, stop) if step == 1 else None
    if only is not None:
        # written as a size of at most 1, so that broadcasting knows to ask whether it is 1
        first = maximum(length + only, 0, bounds) if only < 0 else only
        there = length - only if only >= 0 else length + only + 1
        return first, minimum(maximum(there, 0, bounds), 1, bounds), 1

    def clamp(bound: Size, low: int, high: Size | None) -> Size:
        if low == 0 and _reaches(bound + 2, length):
            bound = maximum(bound, 0, bounds)  # x[: n - 1]: where it is negative, counting from the end is too
        if facts().less(bound, 0):
            return maximum(length + bound, low, bounds)
        return bound if high is None else minimum(bound, high, bounds)

    if step > 0:
        # a start beyond the end may stay so, since the size is then 0
        first = 0 if start is None else clamp(start, 0, None)
        last = length if stop is None else clamp(stop, 0, length)
        extent = maximum(last - first, 0, bounds)
    else:
        first = length - 1 if start is None else clamp(start, -1, length - 1)
        last = -1 if stop is None else clamp(stop, -1, length - 1)
        extent = maximum(first - last, 0, bounds)
        first = maximum(first, 0, bounds)
    return first, floordiv(extent + (abs(step) - 1), abs(step)), step


def _reaches(a: Size, b: Size) -> bool:
    """Whether a size is known to be at least another one."""
    least = lower_bound(a - b, facts().bounds())
    return least is not None and least >= 0


def _only_place(start: Size | None, stop: Size | None) -> int | None:
    """Where the only element is that a slice like ``2:3``, ``:1``, ``-2:-1`` or ``-1:`` can have; else None."""
    first = 0 if start is None else start
    if not isinstance(first, int):
        return None
    if stop is None:
        return first if first == -1 else None
    return first if isinstance(stop, int) and stop - first == 1 and (first >= 0 or stop < 0) else None
