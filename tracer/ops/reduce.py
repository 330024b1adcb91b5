"""Reductions, scans and sorting. Reductions drop their axes; scans and sorting work along one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..op import ZERO, Domain, Op, Types
from ..types import BOOL, INT64, ArrayType, Facts, result_dtype
from .words import (
    all_axes,
    argsort,
    astype,
    constant,
    cotangent,
    count,
    cumprod,
    cumsum,
    equal,
    flip,
    inverse,
    linrec,
    positions,
    reshape,
    scatter_add,
    shift,
    spread,
    sum_,
    transpose,
    where,
)

UINT64 = np.dtype("uint64")


def _summed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    # NumPy adds up small integers and truth values in 64 bits
    return INT64 if dtype.kind in "bi" else UINT64 if dtype.kind == "u" else dtype


def _same(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype


def _boolean(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return BOOL


def _integer(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return INT64


Rule = Callable[[np.dtype[Any]], np.dtype[Any]]


def _reduction(name: str, function: Any, dtype: Rule, vjp: Any, **fields: Any) -> Op:
    """A row with `axes`, those that the result lacks."""

    def infer(facts: Facts, types: Types, params: Mapping[str, Any]) -> ArrayType:
        (x,) = types
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in params["axes"])
        return ArrayType(dtype(x.dtype), shape)

    def reference(x: Any, axes: tuple[int, ...]) -> Any:
        return function(x, axis=axes)

    return Op(name, infer, reference, vjp=vjp, lower="reduce", **fields)


def _position(name: str, function: Any) -> Op:
    """A row that finds a position along `axis`."""

    def infer(facts: Facts, types: Types, params: Mapping[str, Any]) -> ArrayType:
        (x,) = types
        return ArrayType(INT64, (*x.shape[: params["axis"]], *x.shape[params["axis"] + 1 :]))

    def reference(x: Any, axis: int) -> Any:
        return function(x, axis=axis)

    return Op(name, infer, reference, vjp=ZERO, lower="argreduce")


def _along(name: str, function: Any, dtype: Rule, vjp: Any, lower: str, **fields: Any) -> Op:
    """A row that keeps the shape and works along `axis`."""

    def infer(facts: Facts, types: Types, params: Mapping[str, Any]) -> ArrayType:
        return ArrayType(dtype(types[0].dtype), types[0].shape)

    def reference(x: Any, axis: int) -> Any:
        return function(x, axis=axis)

    return Op(name, infer, reference, vjp=vjp, lower=lower, **fields)


def _sum_vjp(ct: Any, y: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any]:
    return (spread(ct, axes, x.shape),)


def _extreme_vjp(ct: Any, y: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any]:
    """Ties share evenly."""
    hit = equal(x, spread(y, axes, x.shape))
    share = ct / sum_(astype(hit, ct.dtype), axes)
    return (where(hit, spread(share, axes, x.shape), constant(ct, 0)),)


def _prod_vjp(ct: Any, y: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any]:
    """Each element's factor is the product of the others: y / x would be 0/0 at a zero."""
    if not axes:
        return (ct,)
    kept = tuple(axis for axis in all_axes(x) if axis not in axes)
    perm = (*kept, *axes)
    moved = transpose(x, perm)
    rows = reshape(moved, (*(x.shape[a] for a in kept), count(x.shape, axes)))
    last = len(kept)
    before = cumprod(shift(rows, last, 1), last)
    after = flip(cumprod(shift(flip(rows, last), last, 1), last), last)
    others = transpose(reshape(before * after, moved.shape), inverse(perm))
    return (cotangent(spread(ct, axes, x.shape), others),)


def _cumsum_vjp(ct: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    return (flip(cumsum(flip(ct, axis), axis), axis),)


def _backward(ct: Any, a: Any, axis: int) -> Any:
    """``s[i] = ct[i] + a[i+1]*s[i+1]``, from the end."""
    return flip(linrec(shift(flip(a, axis), axis, 0), flip(ct, axis), axis), axis)


def _cumprod_vjp(ct: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    return (cotangent(_backward(ct, x, axis), shift(y, axis, 1)),)


def _linrec_vjp(ct: Any, y: Any, a: Any, b: Any, axis: int) -> tuple[Any, Any]:
    adjoint = _backward(ct, a, axis)
    return cotangent(adjoint, shift(y, axis, 0)), adjoint


def _linrec(a: Any, b: Any, axis: int) -> Any:
    out = np.array(b, dtype=np.result_type(a, b))
    a, s = np.moveaxis(np.asarray(a), axis, 0), np.moveaxis(out, axis, 0)
    for i in range(1, len(s)):
        s[i] += a[i] * s[i - 1]
    return out


def _linrec_infer(facts: Facts, types: Types, params: Mapping[str, Any]) -> ArrayType:
    a, b = types
    if a.rank != b.rank:
        raise ShapeError(f"linrec: {a} and {b} differ in rank")
    sizes = []
    for p, q in zip(a.shape, b.shape, strict=True):
        size = facts.same(p, q)
        if size is None:
            raise ShapeError(f"linrec: {a} and {b} differ in shape")
        sizes.append(size)
    return ArrayType(result_dtype(types), tuple(sizes))


def _sort_vjp(ct: Any, y: Any, x: Any, axis: int) -> tuple[Any]:
    places = positions(argsort(x, axis), axis)
    return (scatter_add(ct, places, x.shape, all_axes(x), 0),)


def _sort(x: Any, axis: int) -> Any:
    return np.sort(x, axis=axis, kind="stable")


def _argsort(x: Any, axis: int) -> Any:
    return np.argsort(x, axis=axis, kind="stable")


TABLE: tuple[Op, ...] = (
    _reduction("sum", np.sum, _summed, _sum_vjp, linear=(0,)),
    _reduction("prod", np.prod, _summed, _prod_vjp),
    _reduction("max", np.max, _same, _extreme_vjp),
    _reduction("min", np.min, _same, _extreme_vjp),
    _reduction("any", np.any, _boolean, ZERO, domain=(Domain(boolean=True),)),
    _reduction("all", np.all, _boolean, ZERO, domain=(Domain(boolean=True),)),
    _position("argmax", np.argmax),
    _position("argmin", np.argmin),
    _along("cumsum", np.cumsum, _summed, _cumsum_vjp, "scan", linear=(0,)),
    _along("cumprod", np.cumprod, _summed, _cumprod_vjp, "scan"),
    Op(
        "linrec",
        _linrec_infer,
        _linrec,
        vjp=_linrec_vjp,
        linear=(1,),
        lower="scan",
        domain=(Domain(), Domain()),
    ),
    _along("sort", _sort, _same, _sort_vjp, "sort"),
    _along("argsort", _argsort, _integer, ZERO, "sort"),
)
