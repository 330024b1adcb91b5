"""sin, cos and tan.

x = q·π/2 + r with an integer q and |r| ≤ π/4. π/2 in three parts is enough up to `bound`; a vector with a lane beyond
it, rare, is done lane by lane by the scalar function, which takes 2/π in 1,200 bits there (huge.py).
"""

from __future__ import annotations

from .pieces import coefficients, fast_two_sum, fitted, nearest_integer, quotient, two_product
from .values import F64, Format, Value, bits, fma, from_bits, select


def bound(fmt: Format) -> float:
    """Up to here, q is found right and q·π/2 is known to twice the precision that |r| ever has."""
    return 2.0**30 if fmt is F64 else 2.0**18


def reduce(x: Value) -> tuple[Value, Value, Value]:
    """The integer register of q, r, and what r lacks."""
    (per_quarter,) = coefficients("two_over_pi", x.format)
    first, second, third = coefficients("half_pi", x.format)
    q, integer = nearest_integer(x, per_quarter)
    rest = fma(q, -first, x)  # exact: a multiple of the last bit of π/2, and small
    step, step_low = two_product(q, second)
    r = rest - step
    lost = (rest - r) - step  # exact even where the step is the larger: rest is a multiple of its last bit
    return integer, r, fma(q, -third, lost - step_low)


def _sine(r: Value, tail: Value) -> tuple[Value, Value]:
    """sin(r + tail) as a sum, the second term at most a tenth of the first."""
    z = r * r
    return r, fma(r * z, fitted("sin", z), tail)


def _cosine(r: Value, tail: Value) -> tuple[Value, Value]:
    """cos(r + tail) as a sum, the second term at most a tenth of the first."""
    z = r * r
    half = z * 0.5
    high = 1.0 - half
    rest = ((1.0 - high) - half) - r * tail
    return high, fma(z * z, fitted("cos", z), rest)


def _turned(integer: Value, r: Value, tail: Value) -> Value:
    """sin(q·π/2 + r + tail) from the integer register of q."""
    fmt = r.format
    sine, cosine = _sine(r, tail), _cosine(r, tail)
    result = select((integer & 1).ne(0), cosine[0] + cosine[1], sine[0] + sine[1])
    return from_bits(bits(result) ^ ((integer & 2) << (fmt.width - 2)))


def sin_of(integer: Value, r: Value, tail: Value) -> Value:
    return _turned(integer, r, tail)


def cos_of(integer: Value, r: Value, tail: Value) -> Value:
    return _turned(integer + 1, r, tail)


def tan_of(integer: Value, r: Value, tail: Value) -> Value:
    fmt = r.format
    odd = (integer & 1).ne(0)
    sine, cosine = _sine(r, tail), _cosine(r, tail)
    n, n_low = (select(odd, c, s) for s, c in zip(sine, cosine, strict=True))
    d, d_low = fast_two_sum(*(select(odd, s, c) for s, c in zip(sine, cosine, strict=True)))
    result = quotient(n, n_low, d, d_low)
    return from_bits(bits(result) ^ ((integer & 1) << (fmt.width - 1)))


def sin(x: Value) -> Value:
    return select(x.eq(0.0), x, sin_of(*reduce(x)))  # the reduction loses the sign of -0


def cos(x: Value) -> Value:
    return cos_of(*reduce(x))


def sin_and_cos(x: Value) -> tuple[Value, Value]:
    """Both, from one reduction: the numbers that `sin` and `cos` give."""
    integer, r, tail = reduce(x)
    fmt = r.format
    sine, cosine = (high + low for high, low in (_sine(r, tail), _cosine(r, tail)))
    odd = (integer & 1).ne(0)
    signs = [(n & 2) << (fmt.width - 2) for n in (integer, integer + 1)]
    first, second = select(odd, cosine, sine), select(odd, sine, cosine)
    found = [from_bits(bits(value) ^ sign) for value, sign in zip((first, second), signs, strict=True)]
    return select(x.eq(0.0), x, found[0]), found[1]


def tan(x: Value) -> Value:
    return select(x.eq(0.0), x, tan_of(*reduce(x)))
