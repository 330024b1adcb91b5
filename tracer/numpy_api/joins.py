"""Joining, splitting and repeating."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np

from ..dims import Dim, floordiv, minimum
from ..errors import ShapeError
from ..scalar import Scalar
from ..tensor import Tensor
from ..values import dtype_of, emit, facts, has_traced, rank_of, sizes, to_size
from .common import (
    array,
    axis_of,
    broadcast_to,
    cast,
    constant,
    cut,
    deliver,
    flat,
    force,
    lined_up,
    product,
    promote,
    reshape,
    same_shape,
    show_shape,
    unsupported,
)
from .shapes import atleast_1d, atleast_2d, atleast_3d

Size = int | Dim


def parts_of(items: Any) -> list[Any]:
    """The arrays of a sequence; an array counts as the sequence of its rows."""
    if isinstance(items, list | tuple):
        return [array(i) for i in items]
    x = array(items)
    if rank_of(x) == 0:
        raise TypeError("iteration over a 0-d array")
    return [x[i] for i in range(force(sizes(x)[0]))]


def _joined(parts: list[Any], axis: int, dtype: Any = None, casting: str = "same_kind") -> Any:
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if rank_of(parts[0]) == 0:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = axis_of(axis, rank_of(parts[0]))
    first = sizes(parts[0])
    for place, part in enumerate(parts[1:], 1):
        other = sizes(part)
        if len(other) != len(first):
            text = "all the input array dimensions except for the concatenation axis must match exactly, but"
            raise ShapeError(
                f"{text} the array at index 0 has {len(first)} dimension(s) and the one at {place} {len(other)}"
            )
        if not same_shape(first[:axis] + first[axis + 1 :], other[:axis] + other[axis + 1 :]):
            text = "all the input array dimensions except for the concatenation axis must match exactly:"
            raise ShapeError(f"{text} {show_shape(first)} at index 0, {show_shape(other)} at index {place}")
    if dtype is not None and not all(np.can_cast(dtype_of(p), dtype, casting) for p in parts):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast array data to {np.dtype(dtype)} according to the rule '{casting}'")
    return emit("concatenate", *promote(parts, dtype), axis=axis)


def concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind"):
    parts = parts_of(arrays)
    if axis is None:
        parts, axis = [flat(p) for p in parts], 0
    return deliver(_joined(parts, axis, dtype, casting), out)


def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    parts = parts_of(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if not all(same_shape(sizes(parts[0]), sizes(p)) for p in parts):
        raise ShapeError("all input arrays must have the same shape")
    axis = axis_of(axis, rank_of(parts[0]) + 1)
    return deliver(_joined([emit("expand_dims", p, axes=(axis,)) for p in parts], axis, dtype, casting), out)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def vstack(tup, *, dtype=None, casting="same_kind"):
    return _joined(_listed(atleast_2d(*parts_of(tup))), 0, dtype, casting)


def hstack(tup, *, dtype=None, casting="same_kind"):
    parts = _listed(atleast_1d(*parts_of(tup)))
    return _joined(parts, 0 if parts and rank_of(parts[0]) == 1 else 1, dtype, casting)


def dstack(tup):
    return _joined(_listed(atleast_3d(*parts_of(tup))), 2)


def column_stack(tup):
    parts = [emit("reshape", p, shape=(product(sizes(p)), 1)) if rank_of(p) < 2 else p for p in parts_of(tup)]
    return _joined(parts, 1)


def block(arrays):
    def depth(item: Any) -> int:
        return 1 + max(map(depth, item)) if isinstance(item, list) else 0

    levels = depth(arrays)

    def widest(item: Any) -> int:
        return max(map(widest, item)) if isinstance(item, list) else rank_of(array(item))

    rank = max(widest(arrays), levels)

    def build(item: Any, level: int) -> Any:
        if isinstance(item, list):
            return _joined([build(i, level + 1) for i in item], level - levels)
        x = array(item)
        return emit("expand_dims", x, axes=tuple(range(rank - rank_of(x)))) if rank_of(x) < rank else x

    return build(arrays, 0)


def append(arr, values, axis=None):
    x, more = array(arr), array(values)
    return _joined([flat(x), flat(more)], 0) if axis is None else _joined([x, more], axis)


def insert(arr, obj, values, axis=None):
    x = array(arr)
    if axis is None:
        x, axis = flat(x), 0
    axis = axis_of(axis, rank_of(x))
    length = sizes(x)[axis]
    place = _place(obj, length, length)
    places = _places("insert", obj, force(length), extra=1) if place is None else []
    new = cast(array(values), dtype_of(x))
    scalar = np.ndim(obj) == 0 and not isinstance(obj, slice)
    if scalar:
        # NumPy lays a single place's values along the axis, as an assignment would
        new = emit("expand_dims", new, axes=(0,)) if rank_of(new) < 1 else new
        if rank_of(new) < rank_of(x):
            new = emit("expand_dims", new, axes=tuple(range(rank_of(x) - rank_of(new))))
        perm = [*range(1, axis + 1), 0, *range(axis + 1, rank_of(x))]
        new = emit("transpose", new, perm=tuple(perm)) if axis else new
        if place is not None:
            count = sizes(new)[axis]
            new = broadcast_to(new, tuple(count if i == axis else s for i, s in enumerate(sizes(x))))
            return _joined([cut(x, axis, 0, place), new, cut(x, axis, place, length - place)], axis)
        places = places * force(sizes(new)[axis])
    target = tuple(len(places) if i == axis else s for i, s in enumerate(sizes(x)))
    new = broadcast_to(new, target)
    order = sorted(range(len(places)), key=lambda i: places[i])
    parts, last = [], 0
    for i in order:
        parts += [cut(x, axis, last, places[i] - last), cut(new, axis, i, 1)]
        last = places[i]
    return _joined([*parts, cut(x, axis, last, sizes(x)[axis] - last)], axis)


def delete(arr, obj, axis=None):
    x = array(arr)
    if axis is None:
        x, axis = flat(x), 0
    axis = axis_of(axis, rank_of(x))
    size = sizes(x)[axis]
    place = _place(obj, size, size - 1)
    if place is not None:
        return _joined([cut(x, axis, 0, place), cut(x, axis, place + 1, size - place - 1)], axis)
    length = force(size)
    gone = set(_places("delete", obj, length))
    kept = constant(np.array([i for i in range(length) if i not in gone], dtype=np.intp))
    return emit("gather", x, kept, axes=(axis,), at=axis)


def _place(obj: Any, length: int | Dim, last: int | Dim) -> int | Dim | None:
    """One position, counted from the front; None where there are several, or none that lies up to `last`."""
    whole = isinstance(obj, int | np.integer) and not isinstance(obj, bool)
    if not (whole or (isinstance(obj, Scalar | Tensor) and rank_of(obj) == 0 and dtype_of(obj).kind in "iu")):
        return None
    place = to_size(obj)
    place = length + place if facts().less(place, 0) else place
    return None if facts().less(place, 0) or facts().less(last, place) else place


def _places(function: str, obj: Any, length: int, extra: int = 0) -> list[int]:
    """Positions along an axis, counted from the front."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(length)))
    if isinstance(obj, Tensor) and obj.ndim:
        raise unsupported(function, "an array of traced positions", "Use a boolean mask or np.where.")
    found = np.asarray(operator.index(obj) if isinstance(obj, Scalar | Tensor) else obj)
    if found.dtype.kind == "b":
        found = np.flatnonzero(found)
    places = []
    for place in found.ravel().tolist():
        if not -length <= place < length + extra:
            raise IndexError(f"index {place} is out of bounds for axis with size {length}")
        places.append(place + length if place < 0 else place)
    return places


# splitting


def array_split(ary, indices_or_sections, axis=0):
    x = array(ary)
    axis = axis_of(axis, rank_of(x))
    length = sizes(x)[axis]
    if isinstance(indices_or_sections, list | tuple) or np.ndim(indices_or_sections):
        ends = [slice(None, None) if i is None else i for i in list(indices_or_sections)]
        bounds = [0, *ends, None]
        key = [slice(None)] * rank_of(x)
        parts = []
        for start, stop in pairwise(bounds):
            key[axis] = slice(start, stop)
            parts.append(x[tuple(key)])
        return parts
    count = operator.index(indices_or_sections)
    if count <= 0:
        raise ValueError("number sections must be larger than 0.")
    each = floordiv(length, count)
    rest = length - each * count
    starts = [each * k + minimum(rest, k, facts().bounds()) for k in range(count + 1)]
    return [cut(x, axis, a, b - a) for a, b in pairwise(starts)]


def split(ary, indices_or_sections, axis=0):
    x = array(ary)
    if not (isinstance(indices_or_sections, list | tuple) or np.ndim(indices_or_sections)):
        length = sizes(x)[axis_of(axis, rank_of(x))]
        count = operator.index(indices_or_sections)
        if count > 0 and facts().same(floordiv(length, count) * count, length) is None:
            raise ValueError("array split does not result in an equal division")
    return array_split(x, indices_or_sections, axis)


def hsplit(ary, indices_or_sections):
    x = array(ary)
    if rank_of(x) == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return split(x, indices_or_sections, 1 if rank_of(x) > 1 else 0)


def vsplit(ary, indices_or_sections):
    if rank_of(array(ary)) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


def dsplit(ary, indices_or_sections):
    if rank_of(array(ary)) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


def unstack(x, /, *, axis=0):
    x = array(x)
    if rank_of(x) == 0:
        raise ValueError("Input array must be at least 1-d.")
    axis = axis_of(axis, rank_of(x))
    return tuple(x[(slice(None),) * axis + (i,)] for i in range(force(sizes(x)[axis])))


# repeating


def tile(A, reps):
    x = array(A)
    counts: list[Size] = [to_size(r) for r in (reps if isinstance(reps, list | tuple) or np.ndim(reps) else (reps,))]
    if any(facts().less(c, 0) for c in counts):
        raise ValueError("negative dimensions are not allowed")
    rank = max(rank_of(x), len(counts))
    shape = (1,) * (rank - rank_of(x)) + sizes(x)
    counts = [1] * (rank - len(counts)) + counts
    spread = reshape(x, tuple(p for s in shape for p in (1, s)))
    spread = broadcast_to(spread, tuple(p for c, s in zip(counts, shape, strict=True) for p in (c, s)))
    return emit("copy", reshape(spread, tuple(c * s for c, s in zip(counts, shape, strict=True))))


def repeat(a, repeats, axis=None):
    x, axis = lined_up(array(a), axis)
    shape = sizes(x)
    if not has_traced(repeats) and np.size(repeats) == 1:
        repeats = int(np.asarray(repeats).reshape(()))
    if rank_of(repeats if not isinstance(repeats, list | tuple) else array(repeats)) == 0:
        count = to_size(repeats)
        if facts().less(count, 0):
            raise ValueError("repeats may not contain negative values.")
        spread = emit("expand_dims", x, axes=(axis + 1,))
        spread = broadcast_to(spread, (*shape[: axis + 1], count, *shape[axis + 1 :]))
        return reshape(spread, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]))
    counts = array(repeats)
    if facts().is_one(sizes(counts)[0]):
        return repeat(x, counts[0], axis)
    if facts().same(sizes(counts)[0], shape[axis]) is None:
        raise ShapeError(
            f"operands could not be broadcast together with shape {show_shape(shape)} and {show_shape(sizes(counts))}"
        )
    if np.any(counts < 0):
        raise ValueError("repeats may not contain negative values.")
    return emit("gather", x, spread_index(counts), axes=(axis,), at=axis)


def spread_index(counts: Any) -> Any:
    """``np.repeat(np.arange(len(counts)), counts)``: the number of groups that end at or before each place."""
    ends = emit("cumsum", counts, axis=0)
    total = to_size(emit("sum", counts, axes=(0,)))
    one = broadcast_to(constant(np.array(1)), sizes(ends))
    marks = emit("scatter_add", one, ends, shape=(total + 1,), axes=(0,), at=0)
    return cut(emit("cumsum", marks, axis=0), 0, 0, total)


FUNCTIONS: dict[Any, Any] = {
    np.concatenate: concatenate, np.stack: stack, np.vstack: vstack, np.hstack: hstack, np.dstack: dstack,
    np.column_stack: column_stack, np.block: block, np.append: append, np.insert: insert, np.delete: delete,
    np.array_split: array_split, np.split: split, np.hsplit: hsplit, np.vsplit: vsplit, np.dsplit: dsplit,
    np.unstack: unstack, np.tile: tile, np.repeat: repeat,
}  # fmt: skip
