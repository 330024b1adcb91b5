"""Ops that rearrange: reshape, transpose, broadcast, join, slice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import show_size
from ..errors import ShapeError
from ..op import Op, Types
from ..types import ArrayType, Facts, Shape, result_dtype
from .words import (
    count,
    expand_dims,
    inverse,
    reshape,
    set_slice,
    slice_,
    slice_axis,
    squeeze,
    sum_,
    transpose,
    unslice,
    zeros_like,
)

if TYPE_CHECKING:
    from ..graph import Expr

Params = Mapping[str, Any]


def show_shape(shape: Shape) -> str:
    """A shape as NumPy prints it: ``(x.0, 3)``, ``(4,)``."""
    return f"({', '.join(map(show_size, shape))}{',' if len(shape) == 1 else ''})"


def require_shape(facts: Facts, what: str, got: Shape, expected: Shape) -> Shape:
    """One shape for two that must be equal. Raises ShapeError where they differ."""
    merged = [facts.same(g, e) for g, e in zip(got, expected, strict=True)] if len(got) == len(expected) else [None]
    if None in merged:
        raise ShapeError(f"{what} has shape {show_shape(got)} instead of {show_shape(expected)}")
    return tuple(size for size in merged if size is not None)


def unbroadcast(ct: Expr, shape: Shape) -> Expr:
    """The adjoint of stretching `shape` to the shape of `ct`: sums over the axes that were added or stretched."""
    extra = ct.rank - len(shape)
    stretched = [
        axis for axis, size in enumerate(shape, extra) if type(size) is int and size == 1 and ct.shape[axis] != 1
    ]
    axes = (*range(extra), *stretched)
    return expand_dims(sum_(ct, axes), [axis - extra for axis in stretched]) if axes else ct


def _slices(start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> tuple[slice, ...]:
    keys = []
    for first, length, stride in zip(start, size, step, strict=True):
        # one past the last element, so that a slice that leaves the array comes out short and is noticed
        stop = first + (length - 1) * stride + (1 if stride > 0 else -1)
        keys.append(slice(0, 0) if length == 0 else slice(first, stop if stop >= 0 else None, stride))
    return tuple(keys)


def _require_inside(op: str, shape: Shape, params: Params, size: Shape) -> None:
    if not len(shape) == len(size) == len(params["start"]) == len(params["step"]):
        raise ShapeError(f"{op}: start, size and step need {len(shape)} entries, one per axis of {show_shape(shape)}")
    for axis, (first, length, step, whole) in enumerate(zip(params["start"], size, params["step"], shape, strict=True)):
        if step == 0:
            raise ShapeError(f"{op}: the step of axis {axis} is 0")
        if isinstance(first, int) and isinstance(length, int) and isinstance(whole, int) and length:
            last = first + (length - 1) * step
            if not (0 <= first < whole and 0 <= last < whole):
                raise ShapeError(f"{op}: elements {first} to {last} of axis {axis}, which has size {whole}")


def _reshape_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,), shape = types, params["shape"]
    if facts.same(count(x.shape), count(shape)) is None:
        raise ShapeError(f"reshape: an array of shape {show_shape(x.shape)} does not fill {show_shape(shape)}")
    return x.with_shape(shape)


def _transpose_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,), perm = types, params["perm"]
    if sorted(perm) != list(range(x.rank)):
        raise ShapeError(f"transpose: axes {perm} don't permute those of shape {show_shape(x.shape)}")
    return x.with_shape(tuple(x.shape[axis] for axis in perm))


def _expand_dims_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,), axes = types, params["axes"]
    rank = x.rank + len(axes)
    if len(set(axes)) < len(axes) or not all(0 <= axis < rank for axis in axes):
        raise ShapeError(f"expand_dims: axes {axes} are repeated or out of range for a result with {rank} axes")
    sizes = iter(x.shape)
    return x.with_shape(tuple(1 if axis in axes else next(sizes) for axis in range(rank)))


def _squeeze_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,), axes = types, params["axes"]
    for axis in axes:
        if not 0 <= axis < x.rank:
            raise ShapeError(f"squeeze: axis {axis} is out of range for shape {show_shape(x.shape)}")
        if not facts.is_one(x.shape[axis]):
            raise ShapeError(f"squeeze: axis {axis} of shape {show_shape(x.shape)} does not have size 1")
    return x.with_shape(tuple(size for axis, size in enumerate(x.shape) if axis not in axes))


def _broadcast_to_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,), shape = types, params["shape"]
    fits = x.rank <= len(shape)
    for size, wanted in zip(reversed(x.shape), reversed(shape), strict=False):
        stretches = type(size) is int and size == 1
        fits = fits and (size == wanted or stretches or facts.same(size, wanted) is not None or facts.is_one(size))
    if not fits:
        raise ShapeError(f"broadcast_to: shape {show_shape(x.shape)} does not stretch to {show_shape(shape)}")
    return x.with_shape(shape)


def _concatenate_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    axis, first = params["axis"], types[0]
    if not 0 <= axis < first.rank:
        raise ShapeError(f"concatenate: axis {axis} is out of range for shape {show_shape(first.shape)}")
    shape = list(first.shape)
    for other in types[1:]:
        merged = [facts.same(a, b) for i, (a, b) in enumerate(zip(shape, other.shape, strict=False)) if i != axis]
        if other.rank != first.rank or None in merged:
            raise ShapeError(
                f"concatenate: shapes {show_shape(first.shape)} and {show_shape(other.shape)} differ "
                f"in more than axis {axis}"
            )
        total = shape[axis] + other.shape[axis]
        shape = [size for size in merged if size is not None]
        shape.insert(axis, total)
    return ArrayType(result_dtype(types), tuple(shape))


def _slice_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,) = types
    _require_inside("slice", x.shape, params, params["size"])
    return x.with_shape(params["size"])


def _unslice_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,) = types
    _require_inside("unslice", params["shape"], params, x.shape)
    return ArrayType(x.dtype, params["shape"])


def _set_slice_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    base, value = types
    _require_inside("set_slice", base.shape, params, value.shape)
    return ArrayType(base.dtype, base.shape)


def _copy_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    return types[0]


def _broadcast_to(x: Any, shape: tuple[int, ...]) -> Any:
    # a copy: what shares memory with its input must be a view op, and NumPy lets nobody write through this one
    return np.array(np.broadcast_to(x, shape))[()]


def _unslice(x: Any, shape: tuple[int, ...], start: tuple[int, ...], step: tuple[int, ...]) -> Any:
    x = np.asarray(x)
    out = np.zeros(shape, x.dtype)
    out[_slices(start, x.shape, step)] = x
    return out[()]


def _set_slice(base: Any, value: Any, start: tuple[int, ...], step: tuple[int, ...]) -> Any:
    out = np.array(base)
    out[_slices(start, np.shape(value), step)] = value
    return out[()]


def _concatenate_vjp(ct: Expr, y: Expr, *parts: Expr, axis: int) -> tuple[Expr, ...]:
    out, start = [], 0
    for part in parts:
        size = part.shape[axis]
        out.append(slice_axis(ct, axis, start, size))
        start = start + size  # type: ignore[assignment]
    return tuple(out)


def _set_slice_vjp(
    ct: Expr, y: Expr, base: Expr, value: Expr, start: Shape, step: tuple[int, ...]
) -> tuple[Expr, Expr]:
    hole = set_slice(ct, zeros_like(ct, value.shape), start, step)
    return hole, slice_(ct, start, value.shape, step)


TABLE = (
    Op(
        "reshape", _reshape_type, lambda x, shape: np.reshape(x, shape)[()],
        vjp=lambda ct, y, x, shape: (reshape(ct, x.shape),),
        linear=(0,), lower="reshape", view=True,
    ),
    Op(
        "transpose", _transpose_type, lambda x, perm: np.transpose(x, perm)[()],
        vjp=lambda ct, y, x, perm: (transpose(ct, inverse(perm)),),
        linear=(0,), lower="transpose", view=True,
    ),
    Op(
        "expand_dims", _expand_dims_type, lambda x, axes: np.expand_dims(x, axes)[()],
        vjp=lambda ct, y, x, axes: (squeeze(ct, axes),),
        linear=(0,), lower="expand_dims", view=True,
    ),
    Op(
        "squeeze", _squeeze_type, lambda x, axes: np.squeeze(x, axes)[()],
        vjp=lambda ct, y, x, axes: (expand_dims(ct, axes),),
        linear=(0,), lower="squeeze", view=True,
    ),
    Op(
        "broadcast_to", _broadcast_to_type, _broadcast_to,
        vjp=lambda ct, y, x, shape: (unbroadcast(ct, x.shape),),
        linear=(0,), lower="broadcast_to",
    ),
    # linear in all parts together, not in one while the others stand still: forward mode transposes the vjp
    Op(
        "concatenate", _concatenate_type, lambda *parts, axis: np.concatenate(parts, axis),
        vjp=_concatenate_vjp,
        lower="concatenate",
    ),
    Op(
        "slice", _slice_type, lambda x, start, size, step: np.asarray(x)[_slices(start, size, step)][()],
        vjp=lambda ct, y, x, start, size, step: (unslice(ct, x.shape, start, step),),
        linear=(0,), lower="slice", view=True,
    ),
    Op(
        "unslice", _unslice_type, _unslice,
        vjp=lambda ct, y, x, shape, start, step: (slice_(ct, start, x.shape, step),),
        linear=(0,), lower="unslice",
    ),
    Op("set_slice", _set_slice_type, _set_slice, vjp=_set_slice_vjp, lower="set_slice"),
    Op("copy", _copy_type, lambda x: np.array(x)[()], vjp=lambda ct, y, x: (ct,), linear=(0,), lower="copy"),
)  # fmt: skip
