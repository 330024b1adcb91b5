"""exp, exp2, expm1, the logistic sigmoid and the hyperbolic functions.

x = k·ln 2 + r with an integer k and |r| ≤ ln 2 / 2, then e^x = 2^k·(1 + r + t) with t = r²·p(r).
"""

from __future__ import annotations

from .pieces import coefficients, fast_two_sum, fitted, nearest_integer, polynomial, power_of_two, quotient, two_powers
from .values import F64, Format, Value, absolute, at_least, at_most, copysign, fma, select


def _reduce(x: Value, offset: int) -> tuple[Value, Value, Value, Value]:
    """x = k·ln 2 + r + tail, exact to twice the precision: k, a register that holds k + offset, r, tail."""
    fmt = x.format
    ln2, ln2_low = coefficients("ln2", fmt)
    (per_ln2, _) = coefficients("log2_e", fmt)
    k, integer = nearest_integer(x, per_ln2, offset)
    rest = fma(k, -ln2, x)  # exact: a multiple of the last bit of ln2, and small
    r = fma(k, -ln2_low, rest)
    return k, integer, r, fma(k, -ln2_low, rest - r)


def _limits(fmt: Format) -> tuple[float, float]:
    """Where exp has long been 0 and infinite."""
    return (-750.0, 710.0) if fmt is F64 else (-105.0, 89.0)


def exp(x: Value) -> Value:
    low, high = _limits(x.format)
    _, integer, r, _ = _reduce(at_least(at_most(x, high), low), 2 * x.format.bias)
    p = fma(r * r, fitted("exp", r), r)
    first, second = two_powers(integer)
    return fma(p, first, first) * second


def exp2_fraction(r: Value, name: str) -> Value:
    """2^r - 1 for |r| ≤ 1/2, rounded at the end but for terms below a tenth."""
    first, *others = coefficients(name, r.format)
    return fma(r, first, r * r * polynomial(others, r))


def exp2(x: Value) -> Value:
    low, high = (-1080.0, 1025.0) if x.format is F64 else (-155.0, 129.0)
    x = at_least(at_most(x, high), low)
    k, integer = nearest_integer(x, 1.0, 2 * x.format.bias)
    r = x - k
    p = exp2_fraction(r, "exp2")
    first, second = two_powers(integer)
    return fma(p, first, first) * second


def _tiny(fmt: Format) -> float:
    """Below this f(x) = x + O(x²) rounds to x; formulas that lose the sign of -0 or bits of subnormals end here."""
    return 2.0 ** -(fmt.mantissa + 2)


def expm1(x: Value) -> Value:
    fmt = x.format
    low, high = (-40.0, 710.0) if fmt is F64 else (-20.0, 89.0)
    _, integer, r, tail = _reduce(at_least(at_most(x, high), low), fmt.bias - 1)
    t = fma(r * r, fitted("exp", r), tail)
    half = power_of_two(integer)  # half of 2^k: k reaches one beyond the largest exponent
    result = fma(t, half, fma(r, half, half - 0.5)) * 2.0
    return select(absolute(x) < _tiny(fmt), x, result)


def sigmoid(x: Value) -> Value:
    """1 / (1 + e^-x), as e / (1 + e) with e = e^-|x| for negative x, which stays exact down to subnormals."""
    low, _ = _limits(x.format)
    _, integer, r, tail = _reduce(at_least(-absolute(x), low), 2 * x.format.bias)
    t = fma(r * r, fitted("exp", r), tail)
    first, second = two_powers(integer)
    e = fma(r, first, first)
    e, e_low = fast_two_sum(e, fma(t, first, fma(r, first, first - e)))  # e·second = e^-|x|
    d, d_low = fast_two_sum(x.lift(1.0), e * second)
    negative = x < 0.0
    top, top_low = select(negative, e, 1.0), select(negative, e_low, 0.0)
    result = quotient(top, top_low, d, fma(e_low, second, d_low))
    return select(negative, result * second, result)


def tanh(x: Value) -> Value:
    """E / (E + 2) with E = e^2|x| - 1, rounded to one number each."""
    a = at_most(absolute(x), 20.0 if x.format is F64 else 10.0)
    _, integer, r, tail = _reduce(a + a, x.format.bias)
    t = fma(r * r, fitted("exp", r), tail)
    power = power_of_two(integer)
    less = power - 1.0  # exact up to 2^mantissa; from there on the quotient is 1
    n = fma(r, power, less)
    n = n + fma(t, power, fma(r, power, less - n))
    d, d_low = fast_two_sum(n.lift(2.0), n)  # where n is the larger, it is no matter
    inverse = 1.0 / d
    q = n * inverse
    return copysign(fma(fma(-q, d_low, fma(-q, d, n)), inverse, q), x)


def _hyperbolic(x: Value) -> tuple[tuple[Value, Value], tuple[Value, Value], Value, Value, Value]:
    """For |x| = k·ln 2 + r: (2^k + 2^-k)/8 and (2^k - 2^-k)/8 in two parts, r, cosh r - 1, sinh r - r."""
    # an eighth, because 2^k is too large where the result is not; from k = 100 on 2^-k doesn't count
    offset = x.format.bias - 3
    k, integer, r, tail = _reduce(at_most(absolute(x), 711.0 if x.format is F64 else 90.0), offset)
    _, bounded = nearest_integer(at_most(k, 100.0), 1.0, offset)
    rising, falling = power_of_two(integer), power_of_two(2 * offset - bounded)
    z = r * r
    sums = fast_two_sum(rising, falling), fast_two_sum(rising, -falling)
    return *sums, r, z * fitted("cosh", z), fma(z * r, fitted("sinh", z), tail)


def sinh(x: Value) -> Value:
    (plus, _), (minus, minus_low), r, cosh_rest, sinh_rest = _hyperbolic(x)
    rest = fma(minus, cosh_rest, fma(plus, sinh_rest, minus_low))
    result = (minus + fma(plus, r, rest)) * 4.0
    return select(absolute(x) < _tiny(x.format), x, copysign(result, x))


def cosh(x: Value) -> Value:
    (plus, plus_low), (minus, _), r, cosh_rest, sinh_rest = _hyperbolic(x)
    rest = fma(plus, cosh_rest, fma(minus, sinh_rest, plus_low))
    return (plus + fma(minus, r, rest)) * 4.0
