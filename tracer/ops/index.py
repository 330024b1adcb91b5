"""Ops that read and write by index, and those that turn numbers into sizes and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import atom
from ..errors import ShapeError
from ..op import ZERO, Op, Types
from ..types import INT64, LONG, ArrayType, Facts, Shape
from .shape import require_shape, show_shape
from .words import (
    constant,
    count,
    equal,
    expand_dims,
    gather,
    iota,
    reshape,
    scatter_add,
    scatter_set,
    where,
    zeros_like,
)

if TYPE_CHECKING:
    from ..graph import Expr

Params = Mapping[str, Any]

# NumPy's arrays have at most 64 axes, and no derivative enters an index
_AFTER_ONE, _AFTER_TWO = tuple(range(1, 65)), tuple(range(2, 66))


def _picked(facts: Facts, op: str, shape: Shape, indices: Types, params: Params) -> Shape:
    """The shape of what `indices` pick out of an array of `shape`."""
    axes, at = params["axes"], params["at"]
    if not axes or len(set(axes)) < len(axes) or not all(0 <= axis < len(shape) for axis in axes):
        raise IndexError(f"{op}: axes {axes} are none, repeated or out of range for shape {show_shape(shape)}")
    if len(indices) != len(axes):
        raise IndexError(f"{op}: {len(indices)} indices for {len(axes)} axes")
    common = indices[0].shape
    for index in indices:
        if index.dtype.kind not in "iu":
            raise IndexError(f"{op}: an index must hold integers, not {index.dtype}")
        common = require_shape(facts, f"{op}: an index", index.shape, common)
    rest = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    if not 0 <= at <= len(rest):
        raise IndexError(f"{op}: the indices' axes can't stand at position {at} of {len(rest)}")
    return (*rest[:at], *common, *rest[at:])


def _gather_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    x, *indices = types
    return ArrayType(x.dtype, _picked(facts, "gather", x.shape, tuple(indices), params))


def _scatter_add_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    x, *indices = types
    expected = _picked(facts, "scatter_add", params["shape"], tuple(indices), params)
    require_shape(facts, "scatter_add: the value", x.shape, expected)
    return ArrayType(x.dtype, params["shape"])


def _scatter_set_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    base, value, *indices = types
    expected = _picked(facts, "scatter_set", base.shape, tuple(indices), params)
    require_shape(facts, "scatter_set: the value", value.shape, expected)
    return ArrayType(base.dtype, base.shape)


def _nonzero_type(facts: Facts, types: Types, params: Params) -> tuple[ArrayType, ...]:
    (mask,) = types
    if not mask.rank:
        raise ShapeError("nonzero: a 0-d value has no positions")
    return (ArrayType(INT64, (atom(params["count"]),)),) * mask.rank


def _pick_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    results, index = types[0], params["index"]
    assert isinstance(results, tuple) and 0 <= index < len(results), f"pick: no result {index} in {results}"
    return results[index]


def _integer_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    (x,) = types
    if x.rank or x.dtype.kind not in "iub":
        raise ShapeError(f"integer: {x} is not a single integer")
    return ArrayType(INT64, (), True)


def _input_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    raise TypeError(f"input {params['name']}: its type is given, not inferred")


def _input(name: str) -> Any:
    raise TypeError(f"input {name}: its value is given, not computed")


def _key(rank: int, indices: tuple[Any, ...], axes: tuple[int, ...]) -> tuple[tuple[Any, ...], int, int]:
    """NumPy's index for `indices` on `axes`, where it puts the indices' axes in the result, and how many they are."""
    key: list[Any] = [slice(None)] * rank
    for axis, index in zip(axes, indices, strict=True):
        # at least 1-d: with plain integers NumPy would return a view. In C order: of repeated places the last is
        # written last only if NumPy walks through them in that order.
        key[axis] = np.ascontiguousarray(index)
    adjacent = max(axes) - min(axes) + 1 == len(axes)
    return tuple(key), min(axes) if adjacent else 0, key[axes[0]].ndim


def _gather(x: Any, *indices: Any, axes: tuple[int, ...], at: int) -> Any:
    key, landing, depth = _key(np.ndim(x), indices, axes)
    out = x[key]
    if np.ndim(indices[0]) == 0:
        return np.squeeze(out, landing)[()]
    return np.moveaxis(out, range(landing, landing + depth), range(at, at + depth))


def _moved(value: Any, indices: tuple[Any, ...], landing: int, depth: int, at: int) -> Any:
    """`value` with the indices' axes where NumPy expects them in an assignment."""
    if np.ndim(indices[0]) == 0:
        return np.expand_dims(value, landing)
    return np.moveaxis(value, range(at, at + depth), range(landing, landing + depth))


def _scatter_add(x: Any, *indices: Any, shape: tuple[int, ...], axes: tuple[int, ...], at: int) -> Any:
    x = np.asarray(x)
    out = np.zeros(shape, x.dtype)
    key, landing, depth = _key(len(shape), indices, axes)
    np.add.at(out, key, _moved(x, indices, landing, depth, at))
    return out


def _scatter_set(base: Any, value: Any, *indices: Any, axes: tuple[int, ...], at: int) -> Any:
    out = np.array(base)
    key, landing, depth = _key(out.ndim, indices, axes)
    out[key] = _moved(value, indices, landing, depth, at)
    return out


def _gather_vjp(ct: Expr, y: Expr, x: Expr, *indices: Expr, axes: tuple[int, ...], at: int) -> tuple[Expr | None, ...]:
    return scatter_add(ct, indices, x.shape, axes, at), *(None for _ in indices)


def _scatter_add_vjp(
    ct: Expr, y: Expr, x: Expr, *indices: Expr, shape: Shape, axes: tuple[int, ...], at: int
) -> tuple[Expr | None, ...]:
    return gather(ct, indices, axes, at), *(None for _ in indices)


def _scatter_set_vjp(
    ct: Expr, y: Expr, base: Expr, value: Expr, *indices: Expr, axes: tuple[int, ...], at: int
) -> tuple[Expr | None, ...]:
    untouched = scatter_set(ct, zeros_like(ct, value.shape), indices, axes, at)
    written = gather(ct, indices, axes, at)
    picks = indices[0]
    if picks.rank:
        trailing = base.rank - len(axes) - at
        survives = expand_dims(_last_writes(base, indices, axes), range(picks.rank, picks.rank + trailing))
        written = where(survives, written, constant(ct, 0))
    return untouched, written, *(None for _ in indices)


def _last_writes(base: Expr, indices: tuple[Expr, ...], axes: tuple[int, ...]) -> Expr:
    """Which writes last: each writes its number onto a board, and survives where it finds that number again."""
    picks = indices[0]
    numbers = reshape(iota(picks.builder, count(picks.shape)), picks.shape)
    board = zeros_like(numbers, tuple(base.shape[axis] for axis in axes))
    whole = tuple(range(len(axes)))
    return equal(gather(scatter_set(board, numbers, indices, whole, 0), indices, whole, 0), numbers)


TABLE = (
    Op("gather", _gather_type, _gather, vjp=_gather_vjp, linear=(0,), cuts=_AFTER_ONE, lower="gather"),
    Op(
        "scatter_add", _scatter_add_type, _scatter_add,
        vjp=_scatter_add_vjp,
        linear=(0,), cuts=_AFTER_ONE, lower="scatter_add",
    ),
    # linear in base and value together, not in one while the other stands still: forward mode transposes the vjp
    Op("scatter_set", _scatter_set_type, _scatter_set, vjp=_scatter_set_vjp, cuts=_AFTER_TWO, lower="scatter_set"),
    Op("nonzero", _nonzero_type, lambda mask, count: np.nonzero(mask), vjp=ZERO, lower="nonzero"),
    Op("pick", _pick_type, lambda results, index: results[index], lower="pick"),
    Op("integer", _integer_type, lambda x, count: int(x), vjp=ZERO, lower="integer"),
    Op(
        "iota", lambda facts, types, params: ArrayType(LONG[params["dtype"]], (params["size"],)),
        lambda size, dtype: np.arange(size, dtype=LONG[dtype]),
        vjp=ZERO, lower="iota",
    ),
    Op("size", lambda facts, types, params: ArrayType(INT64, (), True), lambda size: size, vjp=ZERO, lower="size"),
    Op(
        "const", lambda facts, types, params: ArrayType(np.dtype(params["value"].dtype), params["value"].shape),
        lambda value: value.array()[()],
        vjp=ZERO, lower="const",
    ),
    Op("input", _input_type, _input, vjp=ZERO, lower="input"),
)  # fmt: skip
