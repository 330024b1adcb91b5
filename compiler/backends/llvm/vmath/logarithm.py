"""log, log2, log10, log1p and the inverse hyperbolic functions.

x = 2^k·m with m in [1/√2, √2], f = m - 1, s = f / (2 + f): log m = f - h + s·(h + s²·p(s²)) with h = f²/2, where
f - h is exact to the last place (fdlibm's e_log.c).
"""

from __future__ import annotations

import math

from .pieces import coefficients, fast_two_sum, fitted, two_product
from .values import F64, Value, absolute, at_most, bits, copysign, fma, from_bits, select, sqrt

INFINITY, NAN = math.inf, math.nan


def power_and_fraction(x: Value, lowered: Value | int = 0) -> tuple[Value, Value]:
    """k - lowered and m of a positive normal x = 2^k·m."""
    fmt = x.format
    root_half = fmt.bits(math.sqrt(0.5))
    sign_bit = fmt.sign_bit  # half of the range, that the exponent be positive when it is shifted down
    shifted = bits(x) + (sign_bit - root_half)
    m = from_bits((shifted & ((1 << fmt.mantissa) - 1)) + root_half)
    # the exponent becomes the low bits of 2^mantissa, a float
    base = 2.0**fmt.mantissa
    k = from_bits((shifted >> fmt.mantissa) | fmt.bits(base)) - (base + (sign_bit >> fmt.mantissa) + lowered)
    return k, m


def split(x: Value) -> tuple[Value, Value]:
    """k and m of a positive x, subnormals included."""
    fmt = x.format
    up = fmt.mantissa + 2
    small = x < fmt.smallest_normal
    return power_and_fraction(select(small, x * 2.0**up, x), select(small, x.lift(float(up)), 0.0))


def _fraction(f: Value) -> tuple[Value, Value]:
    """log(1 + f) = f - h + rest: h and rest."""
    s = f / (f + 2.0)
    z = s * s
    h = f * 0.5 * f
    return h, s * fma(z, fitted("log", z), h)


def _at_the_ends(x: Value, result: Value) -> Value:
    """Logarithms of inf, nan, zeros and negative numbers."""
    result = select(x < INFINITY, result, x)
    result = select(x.eq(0.0), -INFINITY, result)
    return select(x < 0.0, NAN, result)


def log(x: Value) -> Value:
    ln2, ln2_low = coefficients("ln2", x.format)
    k, m = split(x)
    f = m - 1.0
    h, rest = _fraction(f)
    return _at_the_ends(x, fma(k, ln2, f - (h - fma(k, ln2_low, rest))))


def _scaled(f: Value, factor: tuple[float, ...]) -> tuple[Value, Value]:
    """log(1 + f) times a factor, both in two parts."""
    h, rest = _fraction(f)
    h_low = fma(f * 0.5, f, -h)
    high = f - h
    low = ((f - high) - h) - h_low + rest
    product, product_low = two_product(high, factor[0])
    return product, fma(low, factor[0], fma(high, factor[1], product_low))


def log2(x: Value) -> Value:
    """Exact for powers of two."""
    k, m = split(x)
    high, low = _scaled(m - 1.0, coefficients("log2_e", x.format))
    total, total_low = fast_two_sum(k, high)
    return _at_the_ends(x, total + (total_low + low))


def log10(x: Value) -> Value:
    """Exact for powers of ten."""
    step, step_low = coefficients("log10_2", x.format)
    k, m = split(x)
    high, low = _scaled(m - 1.0, coefficients("log10_e", x.format))
    whole, whole_low = two_product(k, step)
    total, total_low = fast_two_sum(whole, high)
    return _at_the_ends(x, total + (total_low + (fma(k, step_low, whole_low) + low)))


def _rough_reciprocal(u: Value) -> Value:
    """1/u to 12 %: the negated exponent and a line through the mantissa; u is not near the largest number."""
    magic = 0x7FDE623822FC16E6 if u.format is F64 else 0x7EF311C7
    return from_bits(magic - bits(u))


def _log_one_plus(y: Value, y_low: Value | None = None, doublings: Value | float = 0.0) -> Value:
    """log(1 + y + y_low) + doublings·ln 2, where y_low is below the last place of y, for normal 1 + y.

    With u = 1 + y rounded, what u lacks, divided by u, is below the last place of the result and added to it.
    """
    ln2, ln2_low = coefficients("ln2", y.format)
    u = y + 1.0
    lacks = y - (u - 1.0)  # exact up to 2^mantissa, and of no weight from there on
    k, m = power_and_fraction(u)
    near = k.eq(0.0)  # u within [1/√2, √2]: f = y lacks nothing but y_low
    f = select(near, y, m - 1.0)
    lacks = select(near, 0.0, lacks) if y_low is None else y_low + select(near, 0.0, lacks)
    correction = lacks * _rough_reciprocal(at_most(u, 2.0**100))
    k = k + doublings if isinstance(doublings, Value) else k
    h, rest = _fraction(f)
    return fma(k, ln2, f - (h - (fma(k, ln2_low, correction) + rest)))


def log1p(x: Value) -> Value:
    result = copysign(_log_one_plus(x), x)
    result = select(x < INFINITY, result, x)
    result = select(x.eq(-1.0), -INFINITY, result)
    return select(x < -1.0, NAN, result)


def arcsinh(x: Value) -> Value:
    """log(1 + y) with y = |x| + x² / (1 + √(1 + x²))."""
    a = absolute(x)
    large = a > 2.0 ** (x.format.mantissa + 4)  # from here on it is log 2|x|, and soon x² overflows
    root = sqrt(fma(a, a, 1.0))
    y, y_low = fast_two_sum(a, select(large, 0.0, a * (a / (root + 1.0))))
    result = _log_one_plus(y, y_low, select(large, x.lift(1.0), 0.0))
    return select((a > 0.0) & (a < INFINITY), copysign(result, x), x)


def arccosh(x: Value) -> Value:
    """log(1 + y) with y = w + √(w·(w + 2)) and w = x - 1."""
    large = x > 2.0 ** (x.format.mantissa + 4)
    w, w_low = fast_two_sum(x, x.lift(-1.0))
    twice = w + w
    square = fma(w, w, twice)
    root = sqrt(square)
    rest = fma(-root, root, square) + fma(w, w, twice - square)
    y, y_low = fast_two_sum(root, w)
    y_low = y_low + fma(rest * 0.5, _rough_reciprocal(root), w_low)
    y, y_low = select(large, x, y), select(large, 0.0, y_low)
    result = _log_one_plus(y, y_low, select(large, x.lift(1.0), 0.0))
    return select(x < INFINITY, select(x < 1.0, NAN, result), x)


def arctanh(x: Value) -> Value:
    """log(1 + y) / 2 with y = 2|x| / (1 - |x|)."""
    a = absolute(x)
    twice = a + a
    d, d_low = fast_two_sum(x.lift(1.0), -a)
    y = twice / d
    y_low = (fma(-y, d, twice) - y * d_low) * _rough_reciprocal(d)
    result = select(a.eq(1.0), INFINITY, _log_one_plus(y, y_low) * 0.5)
    result = select(a > 1.0, NAN, result)
    return select(a < x.format.smallest_normal, x, copysign(result, x))
