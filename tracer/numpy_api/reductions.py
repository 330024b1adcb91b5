"""Reductions and scans: sums, extremes, means and their like, with every argument that NumPy documents."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dims import maximum
from ..scalar import Scalar
from ..values import dtype_of, emit, facts, rank_of, sizes
from .common import (
    NOTHING,
    array,
    axes_of,
    axis_of,
    broadcast_to,
    cast,
    deliver,
    fitted,
    flat,
    given,
    keep,
    lined_up,
    product,
    reshape,
    size_value,
    to_bool,
)

Handler = Callable[..., Any]


def _masked(where: Any) -> bool:
    return where is not True and where is not NOTHING


def _whole_numbers(items: Any) -> bool:
    """Whether these are the sizes of a shape, as in ``np.prod(x.shape)``: their product should stay a size."""
    return (
        isinstance(items, list | tuple)
        and any(isinstance(i, Scalar) for i in items)
        and all(type(i) is int or (isinstance(i, Scalar) and i.kind is int) for i in items)
    )


def _fold(name: str, identity: int, combine: str, on_bools: str) -> Handler:
    """Sum or product."""
    exact = operator.add if name == "sum" else operator.mul

    def handler(a, axis=None, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True):
        plain = axis is None and dtype is None and out is None and not given(initial) and not _masked(where)
        if plain and _whole_numbers(a):
            return functools.reduce(exact, a)
        x = array(a)
        axes = axes_of(axis, rank_of(x), lenient=True)
        if given(dtype):
            x = cast(x, dtype)
        if _masked(where):
            x = emit("where", where, x, identity)
        if given(dtype) and np.dtype(dtype).kind == "b":
            y = emit(on_bools, x, axes=axes)
        else:
            y = emit(name, x, axes=axes)
            y = cast(y, dtype) if given(dtype) else y
        if given(initial):
            y = emit(combine, y, fitted(initial, dtype_of(y)))
        return deliver(keep(y, axes, keepdims), out)

    return handler


sum_ = _fold("sum", 0, "add", "any")
prod = _fold("prod", 1, "multiply", "all")


def _extreme(name: str, pick: str) -> Handler:
    """Maximum or minimum; ties share the derivative."""

    def handler(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
        x = array(a)
        shape = sizes(x)
        axes = axes_of(axis, len(shape), lenient=True)
        if not given(initial):
            if _masked(where):
                text = (
                    f"reduction operation '{pick}' does not have an identity, so to use a where mask one has to specify"
                )
                raise ValueError(f"{text} 'initial'")
            return deliver(keep(emit(name, x, axes=axes), axes, keepdims), out)
        start = fitted(initial, dtype_of(x))
        if _masked(where):
            x = emit("where", where, x, start)
        if facts().sign(product(shape[i] for i in axes)) == 0:
            y = broadcast_to(start, tuple(s for i, s in enumerate(shape) if i not in axes))
        else:
            y = emit(pick, emit(name, x, axes=axes), start)
        return deliver(keep(y, axes, keepdims), out)

    return handler


max_ = _extreme("max", "maximum")
min_ = _extreme("min", "minimum")


def _truth(name: str, neutral: bool) -> Handler:
    def handler(a, axis=None, out=None, keepdims=False, *, where=True):
        x = to_bool(array(a))
        axes = axes_of(axis, rank_of(x), lenient=True)
        if _masked(where):
            x = emit("where", where, x, neutral)
        return deliver(keep(emit(name, x, axes=axes), axes, keepdims), out)

    return handler


any_ = _truth("any", False)
all_ = _truth("all", True)


def _position(name: str) -> Handler:
    def handler(a, axis=None, out=None, *, keepdims=False):
        x = array(a)
        rank = rank_of(x)
        if axis is None or rank == 0:
            found, axes = emit(name, flat(x), axis=0), axes_of(axis, rank, lenient=True)
        else:
            axes = (axis_of(axis, rank),)
            found = emit(name, x, axis=axes[0])
        return deliver(keep(found, axes, keepdims), out)

    return handler


argmax = _position("argmax")
argmin = _position("argmin")


def count_nonzero(a, axis=None, *, keepdims=False):
    return sum_(to_bool(array(a)), axis, keepdims=keepdims)


def ptp(a, axis=None, out=None, keepdims=False):
    return deliver(emit("subtract", max_(a, axis, keepdims=keepdims), min_(a, axis, keepdims=keepdims)), out)


def _scan(name: str) -> Handler:
    def handler(a, axis=None, dtype=None, out=None):
        x, axis = lined_up(array(a), axis)
        x = cast(x, dtype) if given(dtype) else x
        y = emit(name, x, axis=axis)
        return deliver(cast(y, dtype) if given(dtype) else y, out)

    return handler


cumsum = _scan("cumsum")
cumprod = _scan("cumprod")


def _cumulative(scan: Handler, identity: int) -> Handler:
    """The array API's names for scans."""

    def handler(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        x = array(x)
        if axis is None and rank_of(x) != 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        x, axis = lined_up(x, axis)
        y = scan(x, axis, dtype)
        if include_initial:
            shape = tuple(1 if i == axis else s for i, s in enumerate(sizes(x)))
            y = emit("concatenate", broadcast_to(cast(identity, dtype_of(y)), shape), y, axis=axis)
        return deliver(y, out)

    return handler


cumulative_sum = _cumulative(cumsum, 0)
cumulative_prod = _cumulative(cumprod, 1)


# means and variances


def _floating(x: Any, dtype: Any) -> Any:
    """The dtype in which NumPy takes means: float64 for integers."""
    if given(dtype):
        return np.dtype(dtype)
    return np.dtype(np.float64) if dtype_of(x).kind in "biu" else dtype_of(x)


def _count(x: Any, axes: tuple[int, ...], keepdims: Any, where: Any) -> Any:
    """How many elements each result is made of."""
    if not _masked(where):
        return size_value(product(sizes(x)[i] for i in axes))
    return keep(emit("sum", broadcast_to(to_bool(array(where)), sizes(x)), axes=axes), axes, keepdims)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    x = array(a)
    axes = axes_of(axis, rank_of(x), lenient=_masked(where))
    wanted = _floating(x, dtype)
    # the sum of a few thousand halves is beyond what a half can hold
    inner = np.dtype(np.float32) if wanted == np.float16 and not given(dtype) else wanted
    total = sum_(x, axes, inner, keepdims=keepdims, where=where)
    average = emit("divide", total, _count(x, axes, keepdims, where))
    return deliver(cast(average, wanted), out)


_mean = mean  # var has an argument of that name


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    if given(correction):
        if not isinstance(ddof, int) or ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    x = array(a)
    axes = axes_of(axis, rank_of(x), lenient=_masked(where))
    wanted = _floating(x, dtype)
    center = array(mean) if given(mean) else _mean(x, axes, wanted, keepdims=True, where=where)
    squares = emit("square", emit("subtract", x, center))
    total = sum_(squares, axes, wanted, keepdims=keepdims, where=where)
    return deliver(cast(emit("divide", total, _freedom(x, axes, keepdims, where, ddof)), wanted), out)


def _freedom(x: Any, axes: tuple[int, ...], keepdims: Any, where: Any, ddof: Any) -> Any:
    """The number of elements less `ddof`, never negative."""
    if type(ddof) is int and not _masked(where):
        return size_value(maximum(product(sizes(x)[i] for i in axes) - ddof, 0, facts().bounds()))
    return emit("maximum", emit("subtract", _count(x, axes, keepdims, where), ddof), 0)


def root(square: Any) -> Any:
    """The square root of what can't be negative; its derivative at 0 is 0, so that norms and deviations have one."""
    return emit("where", emit("equal", square, 0), 0.0, emit("sqrt", square))


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    return deliver(root(var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)), out)


def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    x = array(a)
    axes = axes_of(axis, rank_of(x))
    if weights is None:
        result = mean(x, axis, keepdims=keepdims)
        if facts().sign(product(sizes(result))) == 0:
            raise ZeroDivisionError("division by zero")  # as NumPy, which divides by the number of results
        scale = cast(size_value(product(sizes(x)[i] for i in axes)), dtype_of(result))
    else:
        w = array(weights)
        if rank_of(w) != rank_of(x):
            if axis is None:
                raise TypeError("Axis must be specified when shapes of a and weights differ.")
            if rank_of(w) != len(axes):
                raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
            w = reshape(w, tuple(s if i in axes else 1 for i, s in enumerate(sizes(x))))
        kind = np.result_type(dtype_of(x), dtype_of(w), *(["f8"] if dtype_of(x).kind in "biu" else []))
        scale = sum_(broadcast_to(w, sizes(x)), axis, kind, keepdims=keepdims)
        if any_(emit("equal", scale, 0)):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        weighted = emit("multiply", cast(x, kind), cast(w, kind))
        result = emit("divide", sum_(weighted, axis, keepdims=keepdims), scale)
    return (result, broadcast_to(scale, sizes(result))) if returned else result


# nan-aware forms


def _numbers(a: Any, filler: float) -> tuple[Any, Any]:
    """`a` with nan replaced, and where it holds numbers."""
    x = array(a)
    if dtype_of(x).kind != "f":
        return x, True
    missing = emit("isnan", x)
    return emit("where", missing, filler, x), emit("logical_not", missing)


def _among(numbers: Any, where: Any) -> Any:
    if not _masked(where):
        return numbers
    return where if numbers is True else emit("logical_and", numbers, where)


def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return sum_(_numbers(a, 0)[0], axis, dtype, out, keepdims, initial, where)


def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=NOTHING, where=True):
    return prod(_numbers(a, 1)[0], axis, dtype, out, keepdims, initial, where)


def nancumsum(a, axis=None, dtype=None, out=None):
    return cumsum(_numbers(a, 0)[0], axis, dtype, out)


def nancumprod(a, axis=None, dtype=None, out=None):
    return cumprod(_numbers(a, 1)[0], axis, dtype, out)


def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    x, numbers = _numbers(a, 0)
    return mean(x, axis, dtype, out, keepdims, where=_among(numbers, where))


def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    x, numbers = _numbers(a, 0)
    y = var(x, axis, dtype, None, ddof, keepdims, where=_among(numbers, where), mean=mean, correction=correction)
    return deliver(y, out)


def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=NOTHING, correction=NOTHING):
    y = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return deliver(root(y), out)


def _nan_extreme(extreme: Handler, worst: float) -> Handler:
    def handler(a, axis=None, out=None, keepdims=False, initial=NOTHING, where=True):
        x, numbers = _numbers(a, worst)
        y = extreme(x, axis, None, keepdims, initial, where)
        if numbers is not True and not given(initial):
            y = emit("where", any_(numbers, axis, keepdims=keepdims), y, float("nan"))
        return deliver(y, out)

    return handler


def nan_position(name: str, worst: float) -> Handler:
    find = {"nanargmax": argmax, "nanargmin": argmin}[name]

    def handler(a, axis=None, out=None, *, keepdims=False):
        x, numbers = _numbers(a, worst)
        if numbers is not True and not bool(all_(any_(numbers, axis))):
            raise ValueError("All-NaN slice encountered")
        return find(x, axis, out, keepdims=keepdims)

    return handler


FUNCTIONS: dict[Any, Handler] = {
    np.sum: sum_, np.prod: prod, np.max: max_, np.amax: max_, np.min: min_, np.amin: min_,
    np.any: any_, np.all: all_, np.argmax: argmax, np.argmin: argmin, np.count_nonzero: count_nonzero, np.ptp: ptp,
    np.cumsum: cumsum, np.cumprod: cumprod, np.cumulative_sum: cumulative_sum, np.cumulative_prod: cumulative_prod,
    np.mean: mean, np.var: var, np.std: std, np.average: average,
    np.nansum: nansum, np.nanprod: nanprod, np.nancumsum: nancumsum, np.nancumprod: nancumprod,
    np.nanmean: nanmean, np.nanvar: nanvar,
    np.nanstd: nanstd, np.nanmax: _nan_extreme(max_, -np.inf), np.nanmin: _nan_extreme(min_, np.inf),
    np.nanargmax: nan_position("nanargmax", -np.inf), np.nanargmin: nan_position("nanargmin", np.inf),
}  # fmt: skip
