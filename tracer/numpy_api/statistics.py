"""Medians, quantiles and covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Dim, floordiv
from ..values import dtype_of, emit, facts, has_traced, rank_of, sizes
from .common import (
    array,
    axes_of,
    broadcast_to,
    cast,
    constant,
    cut,
    deliver,
    keep,
    permute,
    product,
    reshape,
    size_value,
    unsupported,
)
from .joins import concatenate
from .linear import dot
from .reductions import average, sum_
from .selection import clip
from .shapes import squeeze


def _sorted_rows(a: Any, axis: Any) -> tuple[Any, tuple[int, ...], int | Dim, Any]:
    """The reduced axes merged into a last one and sorted, and which rows hold nan (None for integers)."""
    x = array(a)
    shape = sizes(x)
    axes = axes_of(axis, len(shape))
    kept = [i for i in range(len(shape)) if i not in axes]
    length = product(shape[i] for i in axes)
    rows = reshape(permute(x, (*kept, *axes)), (*(shape[i] for i in kept), length))
    missing = emit("any", emit("isnan", rows), axes=(len(kept),)) if dtype_of(x).kind == "f" else None
    return emit("sort", rows, axis=len(kept)), axes, length, missing


def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    x = array(a)
    rows, axes, length, missing = _sorted_rows(x if dtype_of(x).kind == "f" else cast(x, np.float64), axis)
    last = rank_of(rows) - 1
    if facts().sign(length) == 0:
        nothing = constant(np.array(np.nan, dtype_of(rows)))
        return deliver(keep(broadcast_to(nothing, sizes(missing)), axes, keepdims), out)
    low, high = (cut(rows, last, place, 1) for place in (floordiv(length - 1, 2), floordiv(length, 2)))
    middle = emit("squeeze", emit("divide", emit("add", low, high), 2.0), axes=(last,))
    return deliver(keep(emit("where", missing, np.nan, middle), axes, keepdims), out)


# the place of a quantile q among n sorted values is n*q + (alpha + q*(1 - alpha - beta)) - 1: Hyndman and Fan (1996);
# where both are 1 it is (n - 1)*q, and only so written 3.0 for n = 6 and q = 0.6
_CONTINUOUS = {
    "linear": (1.0, 1.0), "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip
_STEPPED = {"lower": "floor", "higher": "ceil", "nearest": "rint", "midpoint": ""}


def _share(a: Any, q: Any, most: int, text: str) -> Any:
    """The argument q: a Python number takes the dtype of floating data. Raises ValueError outside of 0 to `most`."""
    kind = dtype_of(array(a))
    share = array(q)
    known = share if has_traced(q) else np.asarray(q)
    if not np.all((known >= 0) & (known <= most)):
        raise ValueError(text)
    return cast(q, kind) if type(q) in (int, float) and kind.kind == "f" else share


def quantile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
    interpolation=None,
):  # fmt: skip
    method = method if interpolation is None else interpolation
    _check_method(a, method, weights)
    share = _share(a, q, 1, "Quantiles must be in the range [0, 1]")
    return _placed(a, share, axis, out, method, keepdims)


def percentile(
    a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
    interpolation=None,
):  # fmt: skip
    method = method if interpolation is None else interpolation
    _check_method(a, method, weights)
    share = emit("divide", _share(a, q, 100, "Percentiles must be in the range [0, 100]"), 100.0)
    return _placed(a, share, axis, out, method, keepdims)


def _check_method(a: Any, method: str, weights: Any) -> None:
    if weights is not None:
        raise unsupported("quantile", "weights=", "Sort by np.argsort and interpolate the cumulated weights.")
    if method not in _CONTINUOUS and method not in _STEPPED:
        fix = f"Recorded are {', '.join((*_CONTINUOUS, *_STEPPED))}."
        raise unsupported("quantile", f"method={method!r}", fix)
    if dtype_of(array(a)).kind == "b" and method not in _STEPPED:
        raise TypeError("np.quantile of truth values: convert them to a number first")


def _placed(a: Any, share: Any, axis: Any, out: Any, method: str, keepdims: Any) -> Any:
    """The elements that stand at some shares of the sorted values."""
    rows, axes, length, missing = _sorted_rows(a, axis)
    last, n = rank_of(rows) - 1, size_value(length)
    alpha, beta = _CONTINUOUS.get(method, (1.0, 1.0))
    if alpha == beta == 1:
        place = emit("multiply", share, emit("subtract", n, 1))
    else:
        offset = emit("add", emit("multiply", share, 1 - alpha - beta), alpha)
        place = emit("subtract", emit("add", emit("multiply", share, n), offset), 1)
    place = emit("minimum", emit("maximum", place, 0.0), emit("subtract", n, 1))
    if _STEPPED.get(method):
        index = cast(emit(_STEPPED[method], place), np.int64)
        value = emit("gather", rows, index, axes=(last,), at=0)
        value = value if missing is None else emit("where", missing, np.nan, value)
        return deliver(keep(value, tuple(i + rank_of(share) for i in axes), keepdims), out)
    below = emit("floor", place)
    index = cast(below, np.int64)
    above = emit("minimum", emit("add", index, 1), emit("subtract", n, 1))
    weight = emit("subtract", place, emit("stop_gradient", below))
    if method == "midpoint":
        weight = emit("where", emit("equal", weight, 0), 0.0, 0.5)
    low, high = (emit("gather", rows, i, axes=(last,), at=0) for i in (index, above))
    depth = rank_of(share)
    weight = reshape(weight, (*sizes(share), *(1,) * last)) if last else weight
    if dtype_of(low).kind != "f":
        low, high = cast(low, np.float64), cast(high, np.float64)
    rise = emit("subtract", high, low)
    # from the nearer end, so that both ends come out exactly; and inf - inf has no say where nothing is added
    upper = emit("subtract", high, emit("multiply", rise, emit("subtract", 1, weight)))
    lower = emit("add", low, emit("multiply", rise, weight))
    value = emit("where", emit("greater_equal", weight, 0.5), upper, lower)
    value = emit("where", emit("equal", rise, 0), low, value)
    value = value if missing is None else emit("where", missing, np.nan, value)
    return deliver(keep(value, tuple(i + depth for i in axes), keepdims), out)


def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = array(m)
    if rank_of(x) > 2:
        raise ValueError("m has more than 2 dimensions")
    parts = [x] if y is None else [x, array(y)]
    if y is None and rank_of(x) == 2 and facts().sign(sizes(x)[0 if rowvar else 1]) == 0:
        return constant(np.zeros((0, 0), np.result_type(dtype_of(x), np.float64)))
    wanted = np.dtype(dtype) if dtype is not None else np.result_type(*(dtype_of(p) for p in parts), np.float64)
    rows = [cast(p, wanted) for p in parts]
    rows = [emit("reshape", p, shape=(1, product(sizes(p)))) if rank_of(p) < 2 else p for p in rows]
    if not rowvar:
        rows = [permute(r, (1, 0)) if rank_of(p) == 2 else r for r, p in zip(rows, parts, strict=True)]
    x = concatenate(rows) if len(rows) > 1 else rows[0]
    ddof = (0 if bias else 1) if ddof is None else ddof
    weights: Any = None
    for name, extra in (("fweights", fweights), ("aweights", aweights)):
        if extra is None:
            continue
        w = cast(array(extra), np.float64)
        if rank_of(w) > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        weights = w if weights is None else emit("multiply", weights, w)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    total = cut(total, 0, 0, 1) if rank_of(total) else total
    total = emit("squeeze", total, axes=(0,)) if rank_of(total) else total
    if weights is None:
        factor = emit("subtract", size_value(sizes(x)[1]), ddof)
    elif ddof == 0:
        factor = total
    elif aweights is None:
        factor = emit("subtract", total, ddof)
    else:
        spread = sum_(emit("multiply", weights, cast(array(aweights), np.float64)))
        factor = emit("subtract", total, emit("divide", emit("multiply", ddof, spread), total))
    factor = emit("maximum", factor, 0.0)
    x = emit("subtract", x, emit("expand_dims", mean, axes=(1,)))
    weighted = x if weights is None else emit("multiply", x, weights)
    return squeeze(emit("divide", dot(x, permute(weighted, (1, 0))), cast(factor, wanted)))


def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    c = cov(x, y, rowvar, dtype=dtype)
    if rank_of(c) == 0:
        return emit("divide", c, c)
    from .gathers import diagonal

    deviation = emit("sqrt", diagonal(c))
    c = emit("divide", emit("divide", c, emit("expand_dims", deviation, axes=(1,))), deviation)
    return clip(c, -1, 1)


def _varying(*args: Any, **kwargs: Any) -> Any:
    fix = "Select with a mask first: np.quantile(x[~np.isnan(x)], q)."
    raise unsupported("nanquantile and np.nanmedian", "a quantile over a varying number of elements", fix)


FUNCTIONS: dict[Any, Any] = {
    np.median: median, np.quantile: quantile, np.percentile: percentile, np.cov: cov, np.corrcoef: corrcoef,
    np.nanquantile: _varying, np.nanpercentile: _varying, np.nanmedian: _varying,
}  # fmt: skip
