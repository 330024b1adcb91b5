"""Ops element by element that NumPy has as functions, and those that casts and derivatives need."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..op import ZERO, Domain, Op, Types, elementwise
from ..types import BOOL, FLOAT64, LONG, result_dtype
from .words import constant, exp, sinc, where

Dtypes = tuple[np.dtype[Any], ...]


def _floating(types: Types, **params: Any) -> Dtypes:
    dtype = types[0].dtype if types[0].inexact else FLOAT64
    return dtype, dtype


def _unchanged(types: Types, **params: Any) -> Dtypes:
    return types[0].dtype, types[0].dtype


def _where_dtypes(types: Types, **params: Any) -> Dtypes:
    dtype = result_dtype(types[1:])
    return BOOL, dtype, dtype, dtype


WEAK = {"f": "f64", "i": "i64", "b": "bool"}
PYTHON: dict[str, type] = {"f": float, "i": int, "b": bool}


def _erf(x: Any) -> Any:
    try:
        from scipy.special import erf
    except ImportError:
        x = np.asarray(x)
        return np.vectorize(math.erf, otypes=[x.dtype if x.dtype.kind == "f" else float])(x)
    return erf(x)


def _sigmoid(x: Any) -> Any:
    x = x if np.asarray(x).dtype.kind == "f" else np.float64(x)
    tail = np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1) / (1 + tail)


def _scalar_sigmoid(s: Any, x: Any) -> Any:
    # exp(-x) overflows for x < -709
    tail = s.exp(s.neg(s.abs(x)))
    return s.div(s.select(s.lt(x, s.const(0)), tail, s.const(1)), s.add(s.const(1), tail))


def _cotangent(ct: Any, partial: Any) -> Any:
    return _product(np.equal(ct, 0), ct, partial)


def _cotangents(a: Any, b: Any) -> Any:
    return _product(np.equal(a, 0) | np.equal(b, 0), a, b)


def _product(zero: Any, a: Any, b: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.multiply(a, b)
    return np.where(zero, np.zeros((), product.dtype), product)


# Derivatives of sinc. With z = pi*x, the n-th one is pi**n * integral of t**n * cos(z*t + n*pi/2) over t in [0, 1]:
# near 0 it is summed as a series; from |z| >= (n + 1)/2 on, x*f[n] = pi**(n-1) * sin(z + n*pi/2) - n*f[n-1] is stable.


def _near(order: int) -> float:
    return (order + 1) / 2 / math.pi


def _sinc_series(order: int) -> list[float]:
    """Coefficients of the order-th derivative in x**2, after a factor x if the order is odd."""
    reach, out = _near(order), list[float]()
    for k in range((order + 1) // 2, 100):
        degree = 2 * k - order
        out.append((-1) ** k * math.pi ** (2 * k) / ((2 * k + 1) * math.factorial(degree)))
        if abs(out[-1]) * reach**degree < 1e-18 * math.pi**order:
            break
    return out


def _sinc(x: Any, order: int = 0) -> Any:
    x = x if np.asarray(x).dtype.kind == "f" else np.float64(x)
    if order == 0:
        return np.sinc(x)
    near = np.abs(x) < _near(order)
    far_x = np.where(near, np.ones((), np.asarray(x).dtype), x)
    far, waves = np.sinc(far_x), (np.sin(far_x * math.pi), np.cos(far_x * math.pi))
    for n in range(1, order + 1):
        wave = waves[n % 2] * ((-1) ** (n // 2) * math.pi ** (n - 1))
        far = (wave - n * far) / far_x
    series = x * 0
    for coefficient in reversed(_sinc_series(order)):
        series = series * (x * x) + coefficient
    return np.where(near, series * x if order % 2 else series, far)


def _scalar_sinc(s: Any, x: Any, order: int = 0) -> Any:
    angle = s.mul(x, s.const(math.pi))
    waves = (s.sin(angle), s.cos(angle) if order else None)
    far = s.div(waves[0], angle)
    if order == 0:
        return s.select(s.eq(x, s.const(0)), s.const(1), far)
    for n in range(1, order + 1):
        wave = s.mul(waves[n % 2], s.const((-1) ** (n // 2) * math.pi ** (n - 1)))
        far = s.div(s.sub(wave, s.mul(s.const(n), far)), x)
    square = s.mul(x, x)
    *rest, series = map(s.const, _sinc_series(order))
    for coefficient in reversed(rest):
        series = s.add(s.mul(series, square), coefficient)
    return s.select(s.lt(s.abs(x), s.const(_near(order))), s.mul(series, x) if order % 2 else series, far)


TABLE: tuple[Op, ...] = (
    # a choice between constants, so that the gradient pass chooses too instead of multiplying by 0
    elementwise(
        "where",
        np.where,
        partials=(
            ZERO,
            lambda y, c, a, b: where(c, constant(y, 1), constant(y, 0)),
            lambda y, c, a, b: where(c, constant(y, 0), constant(y, 1)),
        ),
        scalar="select",
        dtypes=_where_dtypes,
        domain=(Domain(boolean=True), Domain(), Domain()),
    ),
    elementwise(
        "erf",
        _erf,
        partials=(lambda y, x: 2 / math.sqrt(math.pi) * exp(-x * x),),
        scalar="erf",
        dtypes=_floating,
    ),
    elementwise("sigmoid", _sigmoid, partials=(lambda y, x: y * (1 - y),), scalar=_scalar_sigmoid, dtypes=_floating),
    # `order`: the derivative of that order, which as a formula in sin and cos would lose its digits near 0
    elementwise(
        "sinc",
        _sinc,
        partials=(lambda y, x, order=0: sinc(x, order + 1),),
        scalar=_scalar_sinc,
        dtypes=_floating,
    ),
    # `dtype`: its short name, "f64"
    elementwise(
        "astype",
        lambda x, dtype: np.asarray(x).astype(LONG[dtype])[()],
        partials=(lambda y, x, dtype: 1,),
        scalar=lambda s, x, dtype: s.cast(x, dtype),
        dtypes=lambda types, dtype: (types[0].dtype, LONG[dtype]),
        weak=False,
    ),
    # `kind`: the 0-d value as a Python float "f", int "i" or bool "b"
    elementwise(
        "weaken",
        lambda x, kind: PYTHON[kind](x),
        partials=(lambda y, x, kind: 1,),
        scalar=lambda s, x, kind: s.cast(x, WEAK[kind]),
        dtypes=lambda types, kind: (types[0].dtype, LONG[WEAK[kind]]),
        weak=True,
    ),
    elementwise("stop_gradient", lambda x: x, partials=(ZERO,), scalar=lambda s, x: x, dtypes=_unchanged),
    # a Variable's content after an assignment: the value of `new`, the derivatives of `old`. Each read of a Variable
    # counts towards its gradient, whatever was assigned in between, and none passes through the assignment
    elementwise(
        "assigned",
        lambda old, new: np.where(True, new, old),  # in their common dtype and shape
        partials=(lambda y, old, new: 1, ZERO),
        scalar=lambda s, old, new: new,
        dtypes=lambda types, **params: (result_dtype(types),) * 3,
    ),
    # the product of the chain rule: 0 where `ct` is exactly 0, whatever the partial. It differentiates as a plain
    # product: (log(x)**2)'' at 1 comes from a derivative in `ct` that is 1/x, not 0.
    elementwise(
        "cotangent",
        _cotangent,
        partials=(lambda y, ct, partial: partial, lambda y, ct, partial: ct),
        scalar=lambda s, ct, partial: s.select(s.eq(ct, s.const(0)), s.const(0), s.mul(ct, partial)),
        like=np.multiply,
        products=("cotangent", "cotangents"),
    ),
    # the product of two cotangents: 0 where either is exactly 0. Without it, where(x > 0, x*log(x), 0) at 0 has
    # inf * 0 in its second derivative: an inf from 1/x meets the 0 that comes from the side not taken.
    elementwise(
        "cotangents",
        _cotangents,
        partials=(lambda y, a, b: b, lambda y, a, b: a),
        scalar=lambda s, a, b: s.select(s.or_(s.eq(a, s.const(0)), s.eq(b, s.const(0))), s.const(0), s.mul(a, b)),
        like=np.multiply,
        products=("cotangents", "cotangents"),
    ),
)
