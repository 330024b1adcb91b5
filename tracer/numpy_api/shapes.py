"""Reshaping and rearranging: the same elements in another order or another shape."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..dims import Dim, floordiv, maximum
from ..errors import ShapeError
from ..types import Shape, broadcast
from ..values import as_tensor, dtype_of, emit, facts, number, rank_of, sizes, to_size
from .common import (
    array,
    axes_of,
    axis_of,
    constant,
    cut,
    flat,
    force,
    given,
    is_exactly,
    permute,
    product,
    stack_nested,
    unsupported,
)
from .common import (
    broadcast_to as stretch_to,
)

Size = int | Dim


def shape_of(shape: Any) -> tuple[Size, ...]:
    """A shape argument, an integer or a sequence of them, as sizes."""
    parts = shape if isinstance(shape, list | tuple) else shape.tolist() if isinstance(shape, np.ndarray) else (shape,)
    return tuple(to_size(p) for p in (parts if isinstance(parts, list | tuple) else (parts,)))


def lengths_of(shape: Any) -> tuple[Size, ...]:
    """A shape argument whose sizes can't be negative. Raises ValueError as NumPy does."""
    lengths = shape_of(shape)
    if any(facts().less(s, 0) for s in lengths):
        raise ValueError("negative dimensions are not allowed")
    return lengths


def solve_shape(shape: Any, old: Shape) -> tuple[Size, ...]:
    """The shape that a reshape asks for, -1 solved. Raises ValueError with NumPy's text where the sizes don't fit."""
    wanted = shape_of(shape)
    total = product(old)
    # an integer argument may be -1 in one call and a length in another
    unknown = [i for i, s in enumerate(wanted) if facts().less(s, 0)]
    known = product(s for i, s in enumerate(wanted) if i not in unknown)
    misfit = ShapeError(f"cannot reshape array of size {number(total)} into shape {_show_wanted(wanted, unknown)}")
    if len(unknown) > 1:
        raise ShapeError("can only specify one unknown dimension")
    if unknown:
        if facts().sign(known) == 0:
            raise misfit
        quotient = floordiv(total, known)
        wanted = tuple(quotient if i in unknown else s for i, s in enumerate(wanted))
        known = quotient * known
    if known != total and facts().same(known, total) is None:
        raise misfit
    return wanted


def _show_wanted(wanted: Shape, unknown: list[int]) -> str:
    inner = ",".join("newaxis" if i in unknown else str(number(s)) for i, s in enumerate(wanted))
    return f"({inner},)" if len(wanted) == 1 else f"({inner})"


def _order(function: str, order: Any) -> bool:
    """Whether an order argument means Fortran's."""
    if order in ("C", "F"):
        return bool(order == "F")
    fix = "The layout in memory is not part of a traced value: pass order='C' or order='F'."
    raise unsupported(function, f"order={order!r}", fix)


def reshape(a, /, shape=None, order="C", *, newshape=None, copy=None):
    x = array(a)
    wanted = solve_shape(newshape if shape is None else shape, sizes(x))
    if copy is False:
        raise unsupported("reshape", "copy=False", "Leave it away: a reshape copies where it must.")
    if _order("reshape", order):
        y = _reversed(emit("reshape", _reversed(x), shape=wanted[::-1]))
    else:
        y = emit("reshape", x, shape=wanted)
    return emit("copy", y) if copy else y


def _reversed(x: Any) -> Any:
    return permute(x, range(rank_of(x))[::-1])


def ravel(a, order="C"):
    x = array(a)
    return flat(_reversed(x) if _order("ravel", order) else x)


def transpose(a, axes=None):
    x = array(a)
    rank = rank_of(x)
    if axes is None:
        perm = tuple(range(rank))[::-1]
    else:
        perm = tuple(axis_of(i, rank) for i in axes)
        if len(perm) != rank:
            raise ValueError("axes don't match array")
        if len(set(perm)) != rank:
            raise ValueError("repeated axis in transpose")
    return emit("transpose", x, perm=perm)


def matrix_transpose(x, /):
    x = array(x)
    if rank_of(x) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {rank_of(x)}")
    return swapaxes(x, -1, -2)


def swapaxes(a, axis1, axis2):
    x = array(a)
    perm = list(range(rank_of(x)))
    i, j = axis_of(axis1, len(perm)), axis_of(axis2, len(perm))
    perm[i], perm[j] = perm[j], perm[i]
    return emit("transpose", x, perm=tuple(perm))


def moveaxis(a, source, destination):
    x = array(a)
    rank = rank_of(x)
    origin, target = (
        [axis_of(i, rank) for i in (axes if isinstance(axes, list | tuple) else (axes,))]
        for axes in (source, destination)
    )
    if len(set(origin)) != len(origin) or len(set(target)) != len(target):
        raise ValueError("repeated axis in `source` or `destination` argument")
    if len(origin) != len(target):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    perm = [i for i in range(rank) if i not in origin]
    for place, axis in sorted(zip(target, origin, strict=True)):
        perm.insert(place, axis)
    return emit("transpose", x, perm=tuple(perm))


def rollaxis(a, axis, start=0):
    x = array(a)
    rank = rank_of(x)
    axis = axis_of(axis, rank)
    start = operator.index(start)
    start = start + rank if start < 0 else start
    axis_of(start, rank + 1)
    perm = [i for i in range(rank) if i != axis]
    perm.insert(start - 1 if axis < start else start, axis)
    return emit("transpose", x, perm=tuple(perm))


def squeeze(a, axis=None):
    x = array(a)
    shape = sizes(x)
    if axis is None:
        axes = tuple(i for i, s in enumerate(shape) if is_exactly(s, 1))
    else:
        axes = axes_of(axis, len(shape))
        if not all(facts().is_one(shape[i]) for i in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return emit("squeeze", x, axes=axes)


def expand_dims(a, axis):
    x = array(a)
    places = axis if isinstance(axis, list | tuple) else (axis,)
    return emit("expand_dims", x, axes=axes_of(tuple(places), rank_of(x) + len(places)))


def atleast_1d(*arys):
    return _each(arys, lambda x: x if rank_of(x) else emit("reshape", x, shape=(1,)))


def atleast_2d(*arys):
    return _each(arys, lambda x: x if rank_of(x) >= 2 else emit("expand_dims", x, axes=tuple(range(2 - rank_of(x)))))


def atleast_3d(*arys):
    places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return _each(arys, lambda x: x if rank_of(x) >= 3 else emit("expand_dims", x, axes=places[rank_of(x)]))


def _each(items: tuple[Any, ...], change: Any) -> Any:
    results = tuple(change(array(i)) for i in items)
    return results[0] if len(results) == 1 else results


def broadcast_to(array, shape, subok=False):
    return emit("broadcast_to", array, shape=lengths_of(shape))


def broadcast_arrays(*args, subok=False):
    items = [array(a) for a in args]
    if not items:
        return ()
    shape = broadcast(facts(), *(sizes(i) for i in items))
    return tuple(stretch_to(i, shape) for i in items)


def broadcast_shapes(*args):
    from ..scalar import as_user_size

    return tuple(as_user_size(s) for s in broadcast(facts(), *(shape_of(a) for a in args))) if args else ()


# turning round


def flip(m, axis=None):
    x = array(m)
    axes = axes_of(axis, rank_of(x))
    return x[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(rank_of(x)))]


def flipud(m):
    if rank_of(array(m)) < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


def fliplr(m):
    if rank_of(array(m)) < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


def rot90(m, k=1, axes=(0, 1)):
    x = array(m)
    first, second = (axis_of(i, rank_of(x)) for i in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    match operator.index(k) % 4:
        case 0:
            return emit("copy", x)
        case 1:
            return swapaxes(flip(x, second), first, second)
        case 2:
            return flip(flip(x, first), second)
        case _:
            return flip(swapaxes(x, first, second), second)


def roll(a, shift, axis=None):
    x = array(a)
    if axis is None:
        return emit("reshape", roll(flat(x), shift, 0), shape=sizes(x))
    shifts = shift if isinstance(shift, list | tuple) else (shift,)
    axes = axis if isinstance(axis, list | tuple) else (axis,)
    if len(shifts) != len(axes):
        if 1 not in (len(shifts), len(axes)):
            raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
        count = max(len(shifts), len(axes))
        shifts, axes = (tuple(s) * (count if len(s) == 1 else 1) for s in (shifts, axes))
    moves: dict[int, Size] = {}
    for s, i in zip(shifts, axes, strict=True):
        place = axis_of(i, rank_of(x))
        moves[place] = moves.get(place, 0) + to_size(s)
    for place, move in moves.items():
        x = _rolled(x, move, place)
    return x


def _rolled(x: Any, move: Size, axis: int) -> Any:
    length = sizes(x)[axis]
    if move == 0 or length == 0:
        return emit("copy", x)
    turn = maximum(length, 1, facts().bounds())
    move = move - floordiv(move, turn) * turn  # in [0, length), or 0
    return emit("concatenate", cut(x, axis, length - move, move), cut(x, axis, 0, length - move), axis=axis)


def resize(a, new_shape):
    x = flat(array(a))
    shape = lengths_of(new_shape)
    total, old = product(shape), sizes(x)[0]
    if facts().sign(old) == 0 or facts().sign(total) == 0:
        return stretch_to(constant(np.zeros((), dtype_of(x))), shape)
    repeats = floordiv(total + old - 1, old)
    many = emit("reshape", stretch_to(emit("expand_dims", x, axes=(0,)), (repeats, old)), shape=(repeats * old,))
    return emit("reshape", cut(many, 0, 0, total), shape=shape)


def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    x = array(arr)
    axis = axis_of(axis, rank_of(x))
    rows = permute(x, (*(i for i in range(rank_of(x)) if i != axis), axis))
    outer = tuple(map(force, sizes(rows)[:-1]))
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [array(func1d(as_tensor(rows)[place], *args, **kwargs)) for place in np.ndindex(outer)]
    shape = sizes(results[0])
    y = stack_nested(results)
    y = emit("reshape", y, shape=(*outer, *shape))
    depth = len(outer)
    return permute(y, (*range(axis), *range(depth, depth + len(shape)), *range(axis, depth)))


def apply_over_axes(func, a, axes):
    x = array(a)
    for axis in axes if isinstance(axes, list | tuple) else (axes,):
        axis = axis_of(axis, rank_of(x))
        y = func(x, axis)
        if rank_of(y) == rank_of(x) - 1:
            y = emit("expand_dims", y, axes=(axis,))
        if rank_of(y) != rank_of(x):
            raise ValueError("function is not returning an array of the correct shape")
        x = y
    return x


def shape(a):
    from ..scalar import as_user_size

    return tuple(as_user_size(s) for s in sizes(array(a)))


def ndim(a):
    return rank_of(array(a))


def size(a, axis=None):
    from ..scalar import as_user_size

    old = sizes(array(a))
    return as_user_size(product(old[i] for i in axes_of(axis, len(old))) if given(axis) else product(old))


FUNCTIONS: dict[Any, Any] = {
    np.reshape: reshape, np.ravel: ravel, np.transpose: transpose, np.matrix_transpose: matrix_transpose,
    np.linalg.matrix_transpose: matrix_transpose, np.swapaxes: swapaxes, np.moveaxis: moveaxis, np.rollaxis: rollaxis,
    np.squeeze: squeeze, np.expand_dims: expand_dims, np.atleast_1d: atleast_1d, np.atleast_2d: atleast_2d,
    np.atleast_3d: atleast_3d, np.broadcast_to: broadcast_to, np.broadcast_arrays: broadcast_arrays,
    np.broadcast_shapes: broadcast_shapes, np.flip: flip, np.flipud: flipud, np.fliplr: fliplr, np.rot90: rot90,
    np.roll: roll, np.resize: resize, np.apply_along_axis: apply_along_axis,
    np.apply_over_axes: apply_over_axes, np.shape: shape, np.ndim: ndim, np.size: size,
}  # fmt: skip
