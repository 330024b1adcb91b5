"""pow, cbrt and hypot."""

from __future__ import annotations

import math

from .exponential import exp2_fraction
from .logarithm import power_and_fraction, split
from .pieces import coefficients, fast_two_sum, fitted, nearest_integer, power_of_two, two_powers, two_product
from .values import (
    F64,
    Value,
    absolute,
    at_least,
    at_most,
    bits,
    copysign,
    fma,
    from_bits,
    narrow,
    rint,
    select,
    sqrt,
    widen,
)


def _log2_in_two(x: Value) -> tuple[Value, Value]:
    """log2 of a positive x to about 66 bits: k + s·(c0 + z·(c1 + z·p(z))), s = f / (2 + f) and z = s² in two parts."""
    k, m = split(x)
    f = m - 1.0
    d, d_low = fast_two_sum(x.lift(2.0), f)
    inverse = 1.0 / d
    s = f * inverse
    s_low = (fma(-s, d, f) - s * d_low) * inverse
    z, z_low = two_product(s, s)
    z_low = fma(s * 2.0, s_low, z_low)
    c0, c0_low = coefficients("power_c0", F64)
    c1, c1_low = coefficients("power_c1", F64)
    u, u_low = fast_two_sum(x.lift(c1), z * fitted("power", z))
    u_low = u_low + c1_low
    v, v_low = two_product(z, u)
    v_low = fma(z, u_low, fma(z_low, u, v_low))
    w, w_low = fast_two_sum(x.lift(c0), v)
    w_low = w_low + (v_low + c0_low)
    y, y_low = two_product(s, w)
    y_low = fma(s, w_low, fma(s_low, w, y_low))
    total, total_low = fast_two_sum(k, y)
    return total, total_low + y_low


def _magnitude(x: Value, y: Value) -> Value:
    """x^y for x ≥ 0, without the cases that no formula gives."""
    high, low = _log2_in_two(x)
    high = select(x.eq(0.0), -math.inf, select(x < math.inf, high, x))
    y = at_least(at_most(y, 2.0**66), -(2.0**66))  # an infinite y would make nan of log2(1) = 0
    product, product_low = two_product(y, high)
    inside = absolute(product) < 1100.0
    rest = select(inside, fma(y, low, product_low), 0.0)
    k, integer = nearest_integer(at_least(at_most(product, 1100.0), -1100.0), 1.0, 2 * F64.bias)
    r = (select(inside, product, k) - k) + rest
    first, second = two_powers(integer)
    return fma(exp2_fraction(r, "exp2"), first, first) * second


def _magnitude_single(x: Value, y: Value) -> Value:
    """The same for float32, in float64, where no number needs two parts and none is subnormal."""
    single, x, y = x, widen(x), widen(y)
    k, m = power_and_fraction(x)
    f = m - 1.0
    s = f / (f + 2.0)
    exponent = k + s * fitted("power_single", s * s)
    exponent = select(single.eq(0.0), -math.inf, select(single < math.inf, exponent, x))
    product = at_least(at_most(y, 2.0**66), -(2.0**66)) * exponent
    k, integer = nearest_integer(at_least(at_most(product, 300.0), -300.0), 1.0, F64.bias)
    r = select(absolute(product) < 300.0, product, k) - k
    scale = power_of_two(integer)
    return narrow(fma(exp2_fraction(r, "exp2_single"), scale, scale))


def power(x: Value, y: Value) -> Value:
    """x^y with the values of C's pow, which are NumPy's."""
    magnitude = _magnitude if x.format is F64 else _magnitude_single
    result = magnitude(absolute(x), y)
    half = y * 0.5
    whole, even = rint(y).eq(y), rint(half).eq(half)
    result = select((x < 0.0) & (x > -math.inf) & ~whole, math.nan, result)
    odd = whole & ~even
    result = from_bits(bits(result) ^ select(odd, bits(x) & x.format.sign_bit, 0))
    return select(x.eq(1.0) | y.eq(0.0), 1.0, result)


def cbrt(x: Value) -> Value:
    """y = m·w² with w near 1/cbrt(m), then a step with the exact m - y³; the exponent is divided by 3 beforehand."""
    a = absolute(x)
    k, m = split(a)
    third, integer = nearest_integer(k, 1 / 3, x.format.bias)
    remainder = fma(third, -3.0, k)
    above, below = remainder > 0.0, remainder < 0.0
    w = fitted("rcbrt", m) * select(above, x.lift(0.5 ** (1 / 3)), select(below, x.lift(2.0 ** (1 / 3)), 1.0))
    m = m * select(above, x.lift(2.0), select(below, x.lift(0.5), 1.0))
    h = fma(-(m * w), w * w, 1.0)
    w = fma(w * h, fma(h, 2 / 9, 1 / 3), w)
    square = w * w
    y = m * square
    y2, y2_low = two_product(y, y)
    rest = fma(-y2, y, m) - y2_low * y
    result = fma(rest, square * (1 / 3), y) * power_of_two(integer)
    return select((a > 0.0) & (a < math.inf), copysign(result, x), x)


def hypot(x: Value, y: Value) -> Value:
    """√(x² + y²): float32 in float64, which has room for the squares; float64 scaled by a power of two."""
    a, b = absolute(x), absolute(y)
    infinite = a.eq(math.inf) | b.eq(math.inf)
    if x.format is F64:
        larger = select(a > b, a, b)
        large, small = larger > 2.0**500, larger < 2.0**-450
        scale = select(large, x.lift(2.0**-600), select(small, x.lift(2.0**600), 1.0))
        back = select(large, x.lift(2.0**600), select(small, x.lift(2.0**-600), 1.0))
        a, b = a * scale, b * scale
        result = sqrt(fma(a, a, b * b)) * back
    else:
        a, b = widen(a), widen(b)
        result = narrow(sqrt(fma(a, a, b * b)))
    return select(infinite, math.inf, result)
