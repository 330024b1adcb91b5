"""Differences, integrals, convolutions and interpolation along an axis."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..dims import Dim, floordiv, maximum
from ..scalar import Scalar
from ..values import dtype_of, emit, facts, rank_of, sizes
from .common import (
    NOTHING,
    along,
    array,
    axis_of,
    broadcast_to,
    cast,
    constant,
    cut,
    flat,
    force,
    iota,
    promote,
    reshape,
    size_value,
    to_bool,
)
from .gathers import searchsorted, take
from .joins import concatenate

Size = int | Dim


def _steps(x: Any, axis: int, name: str) -> Any:
    count = maximum(sizes(x)[axis] - 1, 0, facts().bounds())
    return emit(name, cut(x, axis, 1, count), cut(x, axis, 0, count))


def diff(a, n=1, axis=-1, prepend=NOTHING, append=NOTHING):
    order = operator.index(n)
    if order == 0:
        return a
    if order < 0:
        raise ValueError(f"order must be non-negative but got {order}")
    x = array(a)
    if rank_of(x) == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = axis_of(axis, rank_of(x))
    parts = [x]
    for side, extra in enumerate((prepend, append)):
        if extra is NOTHING:
            continue
        border = array(extra)
        if rank_of(border) == 0:
            border = broadcast_to(border, tuple(1 if i == axis else s for i, s in enumerate(sizes(x))))
        parts = [*parts, border] if side else [border, *parts]
    x = concatenate(parts, axis) if len(parts) > 1 else x
    for _ in range(order):
        x = _steps(x, axis, "logical_xor" if dtype_of(x).kind == "b" else "subtract")
    return x


def ediff1d(ary, to_end=None, to_begin=None):
    x = flat(array(ary))
    parts = [_steps(x, 0, "subtract")]
    for name, extra in (("to_end", to_end), ("to_begin", to_begin)):
        if extra is not None and not np.can_cast(dtype_of(array(extra)), dtype_of(x), "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    if to_begin is not None:
        parts.insert(0, flat(cast(array(to_begin), dtype_of(x))))
    if to_end is not None:
        parts.append(flat(cast(array(to_end), dtype_of(x))))
    return concatenate(parts) if len(parts) > 1 else parts[0]


def gradient(f, *varargs, axis=None, edge_order=1):
    x = array(f)
    rank = rank_of(x)
    axes = (
        tuple(range(rank))
        if axis is None
        else tuple(axis_of(i, rank) for i in (axis if isinstance(axis, tuple) else (axis,)))
    )
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError("invalid number of arguments")
    spacings = list(varargs) * (len(axes) if len(varargs) == 1 else 1) or [1.0] * len(axes)
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    x = x if dtype_of(x).kind == "f" else cast(x, np.float64)
    slopes = (_slope(x, i, _spacing(h, sizes(x)[i]), edge_order) for i, h in zip(axes, spacings, strict=True))
    results = tuple(cast(y, dtype_of(x)) for y in slopes)
    return results[0] if len(results) == 1 else results


def _spacing(h: Any, length: Size) -> Any:
    """A step, or the steps between coordinates."""
    if isinstance(h, list | tuple):
        h = array(h)
    if rank_of(h) == 0:
        return h
    if rank_of(h) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if facts().same(sizes(h)[0], length) is None:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    return diff(h if dtype_of(array(h)).kind == "f" else cast(array(h), np.float64))


def _slope(x: Any, axis: int, h: Any, edge_order: int) -> Any:
    n, rank = sizes(x)[axis], rank_of(x)
    if facts().less(n, edge_order + 1):
        text = "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are"
        raise ValueError(f"{text} required.")
    even = rank_of(h) == 0

    def step(start: Size, size: Size) -> Any:
        return h if even else along(cut(h, 0, start, size), axis, rank)

    def part(start: Size, size: Size) -> Any:
        return cut(x, axis, start, size)

    def total(*terms: tuple[Any, Any]) -> Any:
        result = None
        for factor, value in terms:
            term = emit("multiply", factor, value)
            result = term if result is None else emit("add", result, term)
        return result

    pieces = []
    if even:
        middle = emit("divide", emit("subtract", part(2, n - 2), part(0, n - 2)), emit("multiply", 2.0, h))
    else:
        a, b = step(0, n - 2), step(1, n - 2)
        both = emit("add", a, b)
        low = emit("divide", emit("negative", b), emit("multiply", a, both))
        mid = emit("divide", emit("subtract", b, a), emit("multiply", a, b))
        high = emit("divide", a, emit("multiply", b, both))
        middle = total((low, part(0, n - 2)), (mid, part(1, n - 2)), (high, part(2, n - 2)))
    for side in (0, 1):
        if edge_order == 1:
            at = n - 2 if side else 0
            rise = emit("subtract", part(at + 1, 1), part(at, 1))
            pieces.append(emit("divide", rise, step(at, 1)))
            continue
        first = n - 3 if side else 0
        near, far = (step(n - 2, 1), step(n - 3, 1)) if side else (step(0, 1), step(1, 1))
        both = emit("add", near, far)
        outer = emit("divide", emit("add", emit("multiply", 2.0, near), far), emit("multiply", near, both))
        inner = emit("divide", both, emit("multiply", near, far))
        last = emit("divide", near, emit("multiply", far, both))
        values = [part(first, 1), part(first + 1, 1), part(first + 2, 1)]
        if side:
            pieces.append(total((last, values[0]), (emit("negative", inner), values[1]), (outer, values[2])))
        else:
            pieces.append(
                total((emit("negative", outer), values[0]), (inner, values[1]), (emit("negative", last), values[2]))
            )
    return concatenate([pieces[0], middle, pieces[1]], axis)


def trapezoid(y, x=None, dx=1.0, axis=-1):
    values = array(y)
    axis = axis_of(axis, rank_of(values))
    count = maximum(sizes(values)[axis] - 1, 0, facts().bounds())
    if x is None:
        width = dx
    else:
        places = array(x)
        if rank_of(places) == 1:
            width = along(diff(places), axis, rank_of(values))
        else:
            width = diff(places, axis=axis)
    pairs = emit("add", cut(values, axis, 1, count), cut(values, axis, 0, count))
    return emit("sum", emit("divide", emit("multiply", width, pairs), 2.0), axes=(axis,))


# convolution


def convolve(a, v, mode="full"):
    return _convolve(array(a), array(v), mode, "convolve")


def correlate(a, v, mode="valid"):
    x, kernel = array(a), array(v)
    longer = rank_of(x) and rank_of(kernel) and facts().less(sizes(x)[0], sizes(kernel)[0])
    result = _convolve(x, np.flip(kernel) if rank_of(kernel) else kernel, mode, "correlate")
    # NumPy swaps the operands where the second is longer, and turns the result round; an even "same" is then off by one
    if longer and mode == "same":
        return np.flip(_convolve(kernel, np.flip(x), mode, "correlate"))
    return result


def _convolve(a: Any, v: Any, mode: Any, name: str) -> Any:
    """Sums of products with a window that slides over the padded longer operand."""
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    a, v = promote([emit("reshape", x, shape=(1,)) if rank_of(x) == 0 else x for x in (a, v)])
    if rank_of(a) != 1 or rank_of(v) != 1:
        raise ValueError("object too deep for desired array")
    # padded all around, a window of known size may be longer than what it slides over
    known = mode == "full" and isinstance(sizes(v)[0], int)
    if not known and facts().less(sizes(a)[0], sizes(v)[0]):
        a, v = v, a
    n, m = sizes(a)[0], sizes(v)[0]
    if facts().sign(m) == 0 or (known and facts().sign(n) == 0):
        raise ValueError(f"{'v' if facts().sign(n) else 'a'} cannot be empty")
    border = {"full": m - 1, "valid": 0, "same": floordiv(m, 2)}[mode]
    after = {"full": m - 1, "valid": 0, "same": m - 1 - floordiv(m, 2)}[mode]
    from .padding import pad

    padded = pad(a, (_user(border), _user(after)))
    length = n + border + after - m + 1
    kernel = cut(v, 0, m - 1, m, -1)
    if isinstance(m, int) and m <= 16:
        result = None
        for k in range(m):
            term = emit("multiply", cut(padded, 0, k, length), cut(kernel, 0, k, 1))
            result = term if result is None else emit("add", result, term)
        return result
    place = emit("add", along(iota(length), 0, 2), iota(m))
    windows = emit("gather", padded, place, axes=(0,), at=0)
    return reshape(emit("matmul", windows, reshape(kernel, (m, 1))), (length,))


def _user(size: Size) -> Any:
    return size if isinstance(size, int) else Scalar(size=size)


# interpolation


def interp(x, xp, fp, left=None, right=None, period=None):
    where, knots, values = array(x), array(xp), array(fp)
    knots, values = (cast(i, np.float64) for i in (knots, values))
    where = cast(where, np.float64)
    if rank_of(knots) != 1 or rank_of(values) != 1:
        raise ValueError("Data points must be 1-D sequences")
    if facts().same(sizes(knots)[0], sizes(values)[0]) is None:
        raise ValueError("fp and xp are not of the same length.")
    if facts().sign(sizes(knots)[0]) == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        if not isinstance(period, Scalar) and period == 0:
            raise ValueError("period must be a non-zero value")
        span = emit("absolute", period)
        left = right = None
        where, knots = emit("remainder", where, span), emit("remainder", knots, span)
        order = emit("argsort", knots, axis=0)
        knots, values = take(knots, order), take(values, order)
        n = sizes(knots)[0]
        knots = concatenate(
            [emit("subtract", cut(knots, 0, n - 1, 1), span), knots, emit("add", cut(knots, 0, 0, 1), span)]
        )
        values = concatenate([cut(values, 0, n - 1, 1), values, cut(values, 0, 0, 1)])
    n = sizes(knots)[0]
    first, last = cut(values, 0, 0, 1), cut(values, 0, n - 1, 1)
    low = reshape(first, ()) if left is None else cast(left, np.float64)
    high = reshape(last, ()) if right is None else cast(right, np.float64)
    place = emit("subtract", searchsorted(knots, where, side="right"), 1)
    inside = emit("maximum", emit("minimum", place, emit("subtract", size_value(n), 2)), 0)
    after = emit("minimum", emit("add", inside, 1), emit("subtract", size_value(n), 1))
    x0, y0, y1 = take(knots, inside), take(values, inside), take(values, after)
    width = emit("subtract", take(knots, after), x0)
    slope = emit("divide", emit("subtract", y1, y0), emit("where", emit("equal", width, 0), 1.0, width))
    y = emit("add", emit("multiply", slope, emit("subtract", where, x0)), y0)
    # at the last knot exactly there is nothing to interpolate, and beyond the ends are the given values
    end = reshape(cut(knots, 0, n - 1, 1), ())
    y = emit("where", emit("equal", where, end), reshape(last, ()), y)
    y = emit("where", emit("greater", where, end), high, y)
    y = emit("where", emit("less", where, reshape(cut(knots, 0, 0, 1), ())), low, y)
    return emit("where", emit("isnan", where), where, y)


def polyval(p, x):
    coefficients, where = array(p), array(x)
    count = force(sizes(coefficients)[0])
    if count == 0:
        return broadcast_to(constant(np.zeros((), dtype_of(where))), sizes(where))
    y = broadcast_to(take(coefficients, 0), sizes(where))
    for k in range(1, count):
        y = emit("add", emit("multiply", y, where), take(coefficients, k))
    return y


def piecewise(x, condlist, funclist, *args, **kw):
    where = array(x)
    several = isinstance(condlist, list | tuple) and rank_of(array(condlist[0])) == rank_of(where)
    conditions = [array(c) for c in (condlist if several else [condlist])]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        y: Any = functions.pop()
        y = y(where, *args, **kw) if callable(y) else y
    else:
        y = 0
    y = broadcast_to(cast(y, dtype_of(where)), sizes(where))
    for condition, function in zip(conditions, functions, strict=True):
        value = function(where, *args, **kw) if callable(function) else function
        y = emit("where", to_bool(condition), cast(value, dtype_of(where)), y)
    return y


FUNCTIONS: dict[Any, Any] = {
    np.diff: diff, np.ediff1d: ediff1d, np.gradient: gradient, np.trapezoid: trapezoid, np.convolve: convolve,
    np.correlate: correlate, np.interp: interp, np.polyval: polyval, np.piecewise: piecewise,
}  # fmt: skip
