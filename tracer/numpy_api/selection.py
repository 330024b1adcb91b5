"""Functions that choose, round or compare element by element."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..scalar import Scalar
from ..types import result_dtype
from ..values import dtype_of, emit, lift, rank_of, sizes
from .common import (
    NOTHING,
    array,
    broadcast_to,
    cast,
    constant,
    deliver,
    force,
    given,
    is_exactly,
    operand,
    promoted_as,
    stretch,
    strong,
    to_bool,
)
from .reductions import all_


def _is_integer(bound: Any) -> bool:
    return type(bound) is int or (isinstance(bound, Scalar) and bound.kind is int)


def clip(a, a_min=NOTHING, a_max=NOTHING, out=None, *, min=NOTHING, max=NOTHING, **kwargs):
    if (given(min) or given(max)) and (given(a_min) or given(a_max)):
        raise ValueError("Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden.")
    low, high = (a_min if given(a_min) else min), (a_max if given(a_max) else max)
    x = operand(a)
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    if kwargs:
        raise TypeError(f"clip() got unexpected keyword arguments {sorted(kwargs)}")
    x = cast(x, dtype) if dtype is not None else x
    if (kind := dtype_of(x)).kind in "iu" and kind != np.int64 and not isinstance(x, Scalar):
        # a Python integer beyond the dtype is no bound, where maximum(x, -1) of uint8 is an error
        low = NOTHING if _is_integer(low) and low <= int(np.iinfo(kind).min) else low
        high = NOTHING if _is_integer(high) and high >= int(np.iinfo(kind).max) else high
    if given(low):
        x = emit("maximum", x, operand(low))
    if given(high):
        x = emit("minimum", x, operand(high))
    if not given(low) and not given(high):
        x = emit("copy", x)
    return deliver(strong(x), out, casting)


def where(condition, x=NOTHING, y=NOTHING, /):
    test = to_bool(operand(condition))
    if x is NOTHING and y is NOTHING:
        from .gathers import nonzero

        return nonzero(test)
    if x is NOTHING or y is NOTHING:
        raise ValueError("either both or neither of x and y should be given")
    return strong(emit("where", test, operand(x), operand(y)))


def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    choices = [operand(c) for c in (*choicelist, default)]
    dtype = result_dtype([lift(c).type for c in choices])
    result = cast(choices[-1], dtype)
    for place in range(len(condlist) - 1, -1, -1):
        condition = array(condlist[place])
        if dtype_of(condition).kind != "b":
            raise TypeError(f"invalid entry {place} in condlist: should be boolean ndarray")
        result = emit("where", condition, cast(choices[place], dtype), result)
    return result


def round_(a, decimals=0, out=None):
    x = array(a)
    digits = operator.index(decimals)
    kind = dtype_of(x).kind
    if kind == "b" and digits:
        raise TypeError("np.round of truth values to decimals: convert them to a number first")
    if digits == 0 or (kind in "biu" and digits > 0):
        y = emit("rint", x) if kind in "fb" else emit("copy", x)
    else:
        scale = 10.0 ** abs(digits)
        there, back = ("multiply", "divide") if digits > 0 else ("divide", "multiply")
        y = cast(emit(back, emit("rint", emit(there, x, scale)), scale), dtype_of(x))
    return deliver(y, out)


def fix(x, out=None):
    x = array(x)
    return deliver(emit("trunc", x) if dtype_of(x).kind == "f" else emit("copy", x), out)


def sinc(x):
    x = array(x)
    return emit("sinc", x if dtype_of(x).kind == "f" else cast(x, np.float64))


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    a = array(x)
    if dtype_of(a).kind != "f":
        return emit("copy", a)
    limits = np.finfo(dtype_of(a))
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    y = emit("where", emit("isnan", a), cast(nan, dtype_of(a)), a)
    y = emit("where", emit("equal", a, np.inf), cast(high, dtype_of(a)), y)
    y = emit("where", emit("equal", a, -np.inf), cast(low, dtype_of(a)), y)
    if not copy:
        x[...] = y
        return x
    return y


# real numbers seen as complex ones


def real(val):
    return array(val)


def imag(val):
    x = array(val)
    return broadcast_to(constant(np.zeros((), dtype_of(x))), sizes(x))


def angle(z, deg=False):
    x = array(z)
    turn = 180.0 if deg else np.pi
    x = cast(x, np.arctan2.resolve_dtypes((int, dtype_of(x), None))[-1])
    turned = emit("where", emit("less", emit("copysign", 1.0, x), 0), turn, 0.0)
    return cast(emit("where", emit("isnan", x), np.nan, turned), dtype_of(x))


def isreal(x):
    return broadcast_to(constant(np.True_), sizes(array(x)))


def iscomplex(x):
    return broadcast_to(constant(np.False_), sizes(array(x)))


def real_if_close(a, tol=100):
    return array(a)


def astype(x, dtype, /, *, copy=True, device=None):
    y = cast(array(x), dtype)
    return emit("copy", y) if copy and y is x else y


def isposinf(x, out=None):
    return deliver(emit("equal", array(x), np.inf), out)


def isneginf(x, out=None):
    return deliver(emit("equal", array(x), -np.inf), out)


# comparisons of whole arrays


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    x, y = array(a), array(b)
    y = y if dtype_of(y).kind == "f" else cast(y, np.float64)
    bound = emit("add", operand(atol), emit("multiply", operand(rtol), emit("absolute", y)))
    near = emit("less_equal", emit("absolute", emit("subtract", x, y)), bound)
    result = emit("logical_or", emit("logical_and", near, emit("isfinite", y)), emit("equal", x, y))
    if equal_nan:
        result = emit("logical_or", result, emit("logical_and", emit("isnan", x), emit("isnan", y)))
    return result


def allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return all_(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1, a2, equal_nan=False):
    x, y = array(a1), array(a2)
    if rank_of(x) != rank_of(y) or not all(is_exactly(p, q) for p, q in zip(sizes(x), sizes(y), strict=True)):
        return False
    same = emit("equal", x, y)
    if equal_nan and dtype_of(x).kind == "f" and dtype_of(y).kind == "f":
        same = emit("logical_or", same, emit("logical_and", emit("isnan", x), emit("isnan", y)))
    return all_(same)


def array_equiv(a1, a2):
    from ..errors import ShapeError

    x, y = array(a1), array(a2)
    for item in (x, y):
        tuple(map(force, sizes(item)))
    try:
        x, y = stretch(x, y)
    except ShapeError:
        return False
    return all_(emit("equal", x, y))


# questions about dtypes


def result_type(*arrays_and_dtypes):
    return np.result_type(*map(promoted_as, arrays_and_dtypes))


def common_type(*arrays):
    return np.common_type(*(np.empty(0, dtype_of(array(a))) for a in arrays))


def can_cast(from_, to, casting="safe"):
    return np.can_cast(dtype_of(from_), to, casting)


def min_scalar_type(a, /):
    x = array(a)
    return np.min_scalar_type(np.empty(1 if rank_of(x) else (), dtype_of(x))) if rank_of(x) else dtype_of(x)


def _share(a, b, max_work=None):
    def root(item: Any) -> Any:
        found = getattr(item, "_root", None)
        return item if found is None else found

    return root(a) is root(b)


def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    from .stencils import diff

    x = array(p)
    step = diff(x, axis=axis)
    if dtype_of(x).kind != "f":
        x, step = cast(x, np.float64), cast(step, np.float64)
    axis = axis % rank_of(x)
    half = period / 2
    limit = half if discont is None else discont
    wrapped = emit("subtract", emit("remainder", emit("add", step, half), period), half)
    edge = emit("logical_and", emit("equal", wrapped, -half), emit("greater", step, 0))
    wrapped = emit("where", edge, half, wrapped)
    jump = emit("where", emit("less", emit("absolute", step), limit), 0.0, emit("subtract", wrapped, step))
    first = constant(np.zeros((1,) * rank_of(x), dtype_of(x)))
    shape = tuple(1 if i == axis else s for i, s in enumerate(sizes(x)))
    zero = emit("broadcast_to", first, shape=shape)
    return emit("add", x, emit("concatenate", zero, emit("cumsum", cast(jump, dtype_of(x)), axis=axis), axis=axis))


FUNCTIONS: dict[Any, Any] = {
    np.clip: clip, np.where: where, np.select: select, np.round: round_, np.around: round_, np.fix: fix, np.sinc: sinc,
    np.nan_to_num: nan_to_num, np.real: real, np.imag: imag, np.angle: angle, np.isreal: isreal,
    np.iscomplex: iscomplex, np.real_if_close: real_if_close, np.astype: astype, np.isposinf: isposinf,
    np.isneginf: isneginf,
    np.isclose: isclose, np.allclose: allclose, np.unwrap: unwrap,
    np.array_equal: array_equal, np.array_equiv: array_equiv, np.iscomplexobj: lambda x: False,
    np.isrealobj: lambda x: True, np.result_type: result_type, np.common_type: common_type, np.can_cast: can_cast,
    np.min_scalar_type: min_scalar_type, np.shares_memory: _share, np.may_share_memory: _share,
}  # fmt: skip
