"""Arithmetic and elementary functions, element by element. A partial that is a number is stated as one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..op import ZERO, Domain, Op, elementwise
from .words import (
    constant,
    copysign,
    cos,
    cosh,
    cotangent,
    equal,
    exp,
    hypot,
    isinf,
    less,
    log,
    logical_and,
    power,
    rint,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    where,
)

LN2, LN10 = math.log(2), math.log(10)


def _power_base(y: Any, a: Any, b: Any) -> Any:
    # at b = 0 the plain product is 0 * 0**-1 = nan; the cotangent product still has a**-1 as derivative in b
    return cotangent(b, power(a, b - 1))


def _power_exponent(y: Any, a: Any, b: Any) -> Any:
    # a**b * log(a) -> 0 for a -> 0, and for a = inf, b < 0, where the plain product is 0 * inf
    return cotangent(y, log(where(equal(a, 0), constant(a, 1), a)))


def _quotient(y: Any, a: Any, b: Any) -> Any:
    # not floor(a / b): that quotient may round up to an integer which the exact one didn't reach
    return -rint((a - y) / b)


def _larger(y: Any, a: Any, b: Any) -> Any:
    return where(less(a, b), constant(y, 0), where(equal(a, b), constant(y, 0.5), constant(y, 1)))


def _smaller(y: Any, a: Any, b: Any) -> Any:
    return where(less(b, a), constant(y, 0), where(equal(a, b), constant(y, 0.5), constant(y, 1)))


def _per_length(x: Any, length: Any) -> Any:
    # hypot(0, 0) has no derivative: 0 by policy
    return x / where(equal(length, 0), constant(length, 1), length)


def _gap(a: Any, b: Any) -> Any:
    # inf - inf is nan, though the two terms weigh the same
    gap = a - b
    return where(logical_and(equal(a, b), isinf(a)), constant(gap, 0), gap)


def _logaddexp(s: Any, a: Any, b: Any) -> Any:
    tail = s.log1p(s.exp(s.neg(s.abs(s.sub(a, b)))))
    return s.select(s.eq(a, b), s.add(a, s.const(LN2)), s.add(s.maximum(a, b), tail))


def _logaddexp2(s: Any, a: Any, b: Any) -> Any:
    tail = s.mul(s.log1p(s.exp2(s.neg(s.abs(s.sub(a, b))))), s.const(1 / LN2))
    return s.select(s.eq(a, b), s.add(a, s.const(1)), s.add(s.maximum(a, b), tail))


POSITIVE = Domain(0.2, 4)
UNIT = Domain(-0.9, 0.9)
NONZERO = Domain(kinks=(0.0,))

TABLE: tuple[Op, ...] = (
    # arithmetic
    elementwise("add", np.add, partials=(lambda y, a, b: 1, lambda y, a, b: 1), scalar="add"),
    elementwise("subtract", np.subtract, partials=(lambda y, a, b: 1, lambda y, a, b: -1), scalar="sub"),
    elementwise("multiply", np.multiply, partials=(lambda y, a, b: b, lambda y, a, b: a), scalar="mul"),
    elementwise(
        "divide",
        np.divide,
        partials=(lambda y, a, b: 1 / b, lambda y, a, b: -y / b),
        scalar="div",
        domain=(Domain(), NONZERO),
    ),
    elementwise(
        "remainder",
        np.remainder,
        partials=(lambda y, a, b: 1, _quotient),
        scalar="remainder",
        domain=(Domain(3.2, 3.9), Domain(1.1, 1.5)),
    ),
    elementwise(
        "fmod",
        np.fmod,
        partials=(lambda y, a, b: 1, _quotient),
        scalar="fmod",
        domain=(Domain(-3.9, -3.2), Domain(1.1, 1.5)),
    ),
    elementwise("power", np.power, partials=(_power_base, _power_exponent), scalar="pow", domain=(POSITIVE, Domain())),
    elementwise("negative", np.negative, partials=(lambda y, x: -1,), scalar="neg"),
    elementwise("positive", np.positive, partials=(lambda y, x: 1,), scalar=lambda s, x: x),
    elementwise("absolute", np.absolute, partials=(lambda y, x: sign(x),), scalar="abs", domain=NONZERO),
    elementwise("square", np.square, partials=(lambda y, x: 2 * x,), scalar=lambda s, x: s.mul(x, x)),
    elementwise(
        "reciprocal",
        np.reciprocal,
        partials=(lambda y, x: -y * y,),
        scalar=lambda s, x: s.div(s.const(1), x),
        domain=NONZERO,
    ),
    elementwise(
        "copysign",
        np.copysign,
        partials=(lambda y, a, b: sign(a) * copysign(constant(y, 1), b), ZERO),
        scalar="copysign",
        domain=NONZERO,
    ),
    elementwise(
        "deg2rad",
        np.deg2rad,
        partials=(lambda y, x: math.pi / 180,),
        scalar=lambda s, x: s.mul(x, s.const(math.pi / 180)),
    ),
    elementwise(
        "rad2deg",
        np.rad2deg,
        partials=(lambda y, x: 180 / math.pi,),
        scalar=lambda s, x: s.mul(x, s.const(180 / math.pi)),
    ),
    # the larger and the smaller: a tie gives each half
    elementwise("maximum", np.maximum, partials=(_larger, lambda y, a, b: _larger(y, b, a)), scalar="maximum"),
    elementwise("minimum", np.minimum, partials=(_smaller, lambda y, a, b: _smaller(y, b, a)), scalar="minimum"),
    # roots
    elementwise("sqrt", np.sqrt, partials=(lambda y, x: 0.5 / y,), scalar="sqrt", domain=POSITIVE),
    elementwise("cbrt", np.cbrt, partials=(lambda y, x: 1 / (3 * y * y),), scalar="cbrt", domain=NONZERO),
    elementwise(
        "hypot",
        np.hypot,
        partials=(lambda y, a, b: _per_length(a, y), lambda y, a, b: _per_length(b, y)),
        scalar="hypot",
        domain=NONZERO,
    ),
    # exponentials and logarithms
    elementwise("exp", np.exp, partials=(lambda y, x: y,), scalar="exp"),
    elementwise("exp2", np.exp2, partials=(lambda y, x: y * LN2,), scalar="exp2"),
    # not y + 1, which is 0 below -37
    elementwise("expm1", np.expm1, partials=(lambda y, x: exp(x),), scalar="expm1"),
    elementwise("log", np.log, partials=(lambda y, x: 1 / x,), scalar="log", domain=POSITIVE),
    elementwise("log2", np.log2, partials=(lambda y, x: 1 / LN2 / x,), scalar="log2", domain=POSITIVE),
    elementwise("log10", np.log10, partials=(lambda y, x: 1 / LN10 / x,), scalar="log10", domain=POSITIVE),
    elementwise("log1p", np.log1p, partials=(lambda y, x: 1 / (1 + x),), scalar="log1p", domain=Domain(-0.8, 4)),
    elementwise(
        "logaddexp",
        np.logaddexp,
        partials=(lambda y, a, b: sigmoid(_gap(a, b)), lambda y, a, b: sigmoid(_gap(b, a))),
        scalar=_logaddexp,
    ),
    elementwise(
        "logaddexp2",
        np.logaddexp2,
        partials=(lambda y, a, b: sigmoid(_gap(a, b) * LN2), lambda y, a, b: sigmoid(_gap(b, a) * LN2)),
        scalar=_logaddexp2,
    ),
    # trigonometry; (1 - x) * (1 + x) keeps the digits that 1 - x*x loses near 1
    elementwise("sin", np.sin, partials=(lambda y, x: cos(x),), scalar="sin"),
    elementwise("cos", np.cos, partials=(lambda y, x: -sin(x),), scalar="cos"),
    elementwise("tan", np.tan, partials=(lambda y, x: 1 + y * y,), scalar="tan", domain=Domain(-1.3, 1.3)),
    elementwise(
        "arcsin", np.arcsin, partials=(lambda y, x: 1 / sqrt((1 - x) * (1 + x)),), scalar="arcsin", domain=UNIT
    ),
    elementwise(
        "arccos", np.arccos, partials=(lambda y, x: -1 / sqrt((1 - x) * (1 + x)),), scalar="arccos", domain=UNIT
    ),
    elementwise("arctan", np.arctan, partials=(lambda y, x: 1 / (1 + x * x),), scalar="arctan"),
    elementwise(
        "arctan2",
        np.arctan2,
        # a*a + b*b would vanish below 1e-162
        partials=(lambda y, a, b: b / hypot(a, b) / hypot(a, b), lambda y, a, b: -a / hypot(a, b) / hypot(a, b)),
        scalar="arctan2",
        domain=NONZERO,
    ),
    # hyperbolic
    elementwise("sinh", np.sinh, partials=(lambda y, x: cosh(x),), scalar="sinh"),
    elementwise("cosh", np.cosh, partials=(lambda y, x: sinh(x),), scalar="cosh"),
    elementwise("tanh", np.tanh, partials=(lambda y, x: 1 - y * y,), scalar="tanh"),
    elementwise("arcsinh", np.arcsinh, partials=(lambda y, x: 1 / sqrt(1 + x * x),), scalar="arcsinh"),
    elementwise(
        "arccosh",
        np.arccosh,
        partials=(lambda y, x: 1 / sqrt((x - 1) * (x + 1)),),
        scalar="arccosh",
        domain=Domain(1.2, 4),
    ),
    elementwise("arctanh", np.arctanh, partials=(lambda y, x: 1 / ((1 - x) * (1 + x)),), scalar="arctanh", domain=UNIT),
)
