"""Taking elements by index, sorting, and finding places."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..dims import maximum, minimum
from ..errors import ShapeError
from ..tensor import Tensor
from ..values import as_tensor, dtype_of, emit, facts, rank_of, sizes, to_size
from .common import (
    along,
    array,
    axis_of,
    broadcast_to,
    cast,
    constant,
    cut,
    deliver,
    flat,
    given,
    iota,
    lined_up,
    show_shape,
    size_value,
    to_bool,
    unsupported,
)
from .joins import concatenate
from .reductions import any_, sum_
from .shapes import broadcast_arrays, shape_of


def indices_of(item: Any) -> Any:
    """An index argument as an integer array. Raises TypeError for other kinds, as NumPy does."""
    index = array(item)
    if dtype_of(index).kind not in "biu":
        if 0 in sizes(index):
            return cast(index, np.intp)
        raise TypeError(
            f"Cannot cast array data from {dtype_of(index)!r} to dtype('int64') according to the rule 'safe'"
        )
    return cast(index, np.intp) if dtype_of(index).kind == "b" else index


def bounded(index: Any, length: Any, mode: Any) -> Any:
    """Indices as one of NumPy's modes reads them; gather itself checks for "raise"."""
    match mode:
        case "raise":
            return index
        case "wrap":
            return emit("remainder", index, size_value(length))
        case "clip":
            return emit("minimum", emit("maximum", index, 0), emit("subtract", size_value(length), 1))
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def take(a, indices, axis=None, out=None, mode="raise"):
    x, axis = lined_up(array(a), axis)
    index = bounded(indices_of(indices), sizes(x)[axis], mode)
    return deliver(emit("gather", x, index, axes=(axis,), at=axis), out)


def _places(arr: Any, indices: Any, axis: Any) -> tuple[Any, tuple[Any, ...]]:
    """The array and the key that take_along_axis and put_along_axis mean."""
    x, index = array(arr), indices_of(indices)
    if axis is None:
        if rank_of(index) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        return flat(x), (index,)
    rank = rank_of(x)
    if rank_of(index) != rank:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = axis_of(axis, rank)
    return x, tuple(index if i == axis else along(iota(s), i, rank) for i, s in enumerate(sizes(x)))


def take_along_axis(arr, indices, axis=-1):
    x, key = _places(arr, indices, axis)
    return _handle(x)[key]


def _handle(x: Any) -> Tensor:
    """A Tensor, whose indexing takes traced keys."""
    return as_tensor(x)


def put_along_axis(arr, indices, values, axis):
    x, key = _places(arr, indices, axis)
    x[key] = values
    if axis is None and x is not arr:
        arr[...] = emit("reshape", x, shape=sizes(arr))


def compress(condition, a, axis=None, out=None):
    x, axis = lined_up(array(a), axis)
    mask = to_bool(array(condition))
    if rank_of(mask) != 1:
        raise ValueError("condition must be a 1-d array")
    (places,) = nonzero(mask)
    return deliver(emit("gather", x, places, axes=(axis,), at=axis), out)


def extract(condition, arr):
    (places,) = nonzero(flat(to_bool(array(condition))))
    return emit("gather", flat(array(arr)), places, axes=(0,), at=0)


def choose(a, choices, out=None, mode="raise"):
    index = indices_of(a)
    options = [array(c) for c in (choices if isinstance(choices, list | tuple) else list(choices))]
    index, *options = broadcast_arrays(index, *options)
    table = concatenate([emit("expand_dims", c, axes=(0,)) for c in options])
    picked = emit("expand_dims", bounded(index, len(options), mode), axes=(0,))
    found = take_along_axis(table, picked, 0)
    return deliver(emit("squeeze", found, axes=(0,)), out)


# order


def _no_fields(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    # every kind of sort gives the same values
    _no_fields(order)
    x = array(a)
    x, axis = (flat(x), 0) if axis is None else (x, axis_of(axis, rank_of(x)))
    return emit("sort", x, axis=axis)


def argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    # ours is stable, which every kind may be
    _no_fields(order)
    x, axis = lined_up(array(a), axis)
    return emit("argsort", x, axis=axis)


def partition(a, kth, axis=-1, kind="introselect", order=None):
    # a sorted array is partitioned at every place
    return sort(a, axis, order=order)


def argpartition(a, kth, axis=-1, kind="introselect", order=None):
    return argsort(a, axis, order=order)


def sort_complex(a):
    raise unsupported("sort_complex", "a complex result", "Use np.sort.")


def lexsort(keys, axis=-1):
    rows = [array(k) for k in (keys if isinstance(keys, list | tuple) else list(keys))]
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    if rank_of(rows[0]) == 0:
        return constant(np.array(0))
    axis = axis_of(axis, rank_of(rows[0]))
    order = emit("argsort", rows[0], axis=axis)
    for row in rows[1:]:
        finer = emit("argsort", take_along_axis(row, order, axis), axis=axis)
        order = take_along_axis(order, finer, axis)
    return order


def searchsorted(a, v, side="left", sorter=None):
    """By one stable sort of both together: where a value lands, less the values that landed before it."""
    x, values = array(a), array(v)
    if rank_of(x) != 1:
        raise ValueError("object too deep for desired array")
    if side not in ("left", "right"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    if given(sorter):
        x = take(x, sorter)
    wanted = flat(values)
    # equal elements keep their order: for "left", values come before the elements that they equal
    both = concatenate([wanted, x] if side == "left" else [x, wanted])
    order = emit("argsort", both, axis=0)
    count = sizes(wanted)[0]
    first = 0 if side == "left" else sizes(x)[0]
    own = emit("greater_equal", order, size_value(first))
    own = emit("logical_and", own, emit("less", order, size_value(first + count)))
    before = emit("cumsum", cast(emit("logical_not", own), np.int64), axis=0)
    blank = broadcast_to(constant(np.array(0)), sizes(before))
    placed = emit("scatter_set", blank, before, order, axes=(0,), at=0)
    return emit("reshape", cut(placed, 0, first, count), shape=sizes(values))


def digitize(x, bins, right=False):
    edges = array(bins)
    if rank_of(edges) != 1:
        raise ValueError("bins must be 1-dimensional")
    length = sizes(edges)[0]
    if facts().less(1, length) and bool(emit("greater", _handle(edges)[0], _handle(edges)[-1])):
        found = searchsorted(_handle(edges)[::-1], x, side="left" if right else "right")
        return emit("subtract", size_value(length), found)
    return searchsorted(edges, x, side="left" if right else "right")


# places


def nonzero(a):
    from ..keys import hits

    x = to_bool(array(a))
    if rank_of(x) == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead.")
    return hits(x)


def flatnonzero(a):
    return nonzero(flat(array(a)))[0]


def argwhere(a):
    x = array(a)
    if rank_of(x) == 0:
        x = emit("reshape", x, shape=(1,))
        return cut(argwhere(x), 1, 0, 0)
    places = nonzero(x)
    return concatenate([emit("expand_dims", p, axes=(1,)) for p in places], axis=1)


def bincount(x, /, weights=None, minlength=0):
    index = array(x)
    if rank_of(index) != 1:
        raise ValueError("object too deep for desired array")
    if dtype_of(index).kind not in "biu":
        raise TypeError(
            f"Cannot cast array data from {dtype_of(index)!r} to dtype('int64') according to the rule 'safe'"
        )
    if facts().sign(sizes(index)[0]) == 0:
        # NumPy forgets the weights of nothing
        return broadcast_to(constant(np.array(0)), (to_size(minlength),))
    if facts().less(to_size(emit("min", index, axes=(0,))), 0):
        raise ValueError("'list' argument must have no negative elements")
    largest = to_size(cast(emit("max", index, axes=(0,)), np.int64))
    count = maximum(largest + 1, to_size(minlength), facts().bounds())
    if weights is None:
        amount = broadcast_to(constant(np.array(1)), sizes(index))
    else:
        amount = cast(array(weights), np.float64)
        if rank_of(amount) != 1 or facts().same(sizes(amount)[0], sizes(index)[0]) is None:
            raise ShapeError("The weights and list don't have the same length.")
    return emit("scatter_add", amount, index, shape=(count,), axes=(0,), at=0)


def unravel_index(indices, shape, order="C"):
    index = indices_of(indices)
    lengths = shape_of(shape)
    if order not in ("C", "F"):
        raise ValueError("only 'C' or 'F' order is permitted")
    parts = []
    for length in lengths[::-1] if order == "C" else lengths:
        parts.append(emit("remainder", index, size_value(length)))
        index = emit("floor_divide", index, size_value(length))
    if any_(emit("not_equal", index, 0)):
        raise ValueError(f"an index is out of bounds for array with shape {show_shape(lengths)}")
    return tuple(parts[::-1] if order == "C" else parts)


def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    lengths = shape_of(dims)
    index = [indices_of(i) for i in multi_index]
    places = range(len(lengths)) if order == "C" else range(len(lengths))[::-1]
    total: Any = 0
    for place in places:
        size = size_value(lengths[place])
        part = bounded(index[place], lengths[place], mode)
        outside = emit("logical_or", emit("less", part, 0), emit("greater_equal", part, size))
        if mode == "raise" and any_(outside):
            raise ValueError("invalid entry in coordinates array")
        total = emit("add", emit("multiply", total, size), part)
    return total


def diagonal(a, offset=0, axis1=0, axis2=1):
    x = array(a)
    shape = sizes(x)
    if len(shape) < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = axis_of(axis1, len(shape)), axis_of(axis2, len(shape))
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    k = operator.index(offset)
    below, right = max(-k, 0), max(k, 0)
    bounds = facts().bounds()
    length = maximum(minimum(shape[first] - below, shape[second] - right, bounds), 0, bounds)
    step = iota(length)
    rows = emit("add", step, below) if below else step
    columns = emit("add", step, right) if right else step
    return emit("gather", x, rows, columns, axes=(first, second), at=len(shape) - 2)


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    return sum_(diagonal(a, offset, axis1, axis2), -1, dtype, out)


def linalg_diagonal(x, /, *, offset=0):
    return diagonal(x, offset, -2, -1)


def linalg_trace(x, /, *, offset=0, dtype=None):
    return trace(x, offset, -2, -1, dtype)


FUNCTIONS: dict[Any, Any] = {
    np.take: take, np.take_along_axis: take_along_axis, np.put_along_axis: put_along_axis, np.compress: compress,
    np.extract: extract, np.choose: choose, np.sort: sort, np.argsort: argsort, np.partition: partition,
    np.argpartition: argpartition, np.sort_complex: sort_complex, np.lexsort: lexsort, np.searchsorted: searchsorted,
    np.digitize: digitize, np.nonzero: nonzero, np.flatnonzero: flatnonzero, np.argwhere: argwhere,
    np.bincount: bincount, np.diagonal: diagonal, np.trace: trace, np.linalg.diagonal: linalg_diagonal,
    np.linalg.trace: linalg_trace, np.unravel_index: unravel_index, np.ravel_multi_index: ravel_multi_index,
}  # fmt: skip
