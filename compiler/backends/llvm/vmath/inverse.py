"""arcsin, arccos, arctan and arctan2.

Where the angle is a constant minus something, the constant has two parts, and the lower is added to the smaller term.
"""

from __future__ import annotations

from .pieces import coefficients, fast_two_sum, fitted
from .values import Value, absolute, bits, copysign, fma, from_bits, select, sqrt


def _arcsine(x: Value) -> tuple[Value, Value, Value]:
    """Whether |x| > 1/2; s = |x| or, if so, √((1 - |x|)/2), which is nan beyond 1; and arcsin s - s."""
    a = absolute(x)
    large = a > 0.5
    z = select(large, fma(a, -0.5, 0.5), a * a)
    s = select(large, sqrt(z), a)
    return large, s, s * z * fitted("arcsin", z)


def arcsin(x: Value) -> Value:
    """π/2 - 2·arcsin √((1 - |x|)/2) for large |x|."""
    half_pi, half_pi_low, _ = coefficients("half_pi", x.format)
    large, s, rest = _arcsine(x)
    high, low = fast_two_sum(x.lift(half_pi), s * -2.0)
    far = high + (fma(rest, -2.0, low) + half_pi_low)
    return copysign(select(large, far, s + rest), x)


def arccos(x: Value) -> Value:
    """π/2 - arcsin x for small |x|; for large |x| 2·arcsin √((1 - |x|)/2) or, where x < 0, π minus that."""
    half_pi, half_pi_low, _ = coefficients("half_pi", x.format)
    pi, pi_low = coefficients("pi", x.format)
    large, s, rest = _arcsine(x)
    angle = copysign(s + rest, x)
    negative = x < 0.0
    base = select(large, select(negative, x.lift(pi), 0.0), half_pi)
    base_low = select(large, select(negative, x.lift(pi_low), 0.0), half_pi_low)
    return base + fma(angle, select(large, x.lift(2.0), -1.0), base_low)


def _arctangent(t: Value, base: Value, base_low: Value) -> Value:
    """base + arctan t for |t| ≤ 1."""
    z = t * t
    return base + (t + fma(t * z, fitted("arctan", z), base_low))


def arctan(x: Value) -> Value:
    """π/2 - arctan 1/|x| beyond 1."""
    half_pi, half_pi_low, _ = coefficients("half_pi", x.format)
    a = absolute(x)
    steep = a > 1.0
    t = select(steep, -1.0 / a, a)
    return copysign(_arctangent(t, select(steep, x.lift(half_pi), 0.0), select(steep, x.lift(half_pi_low), 0.0)), x)


def arctan2(y: Value, x: Value) -> Value:
    """The angle of (x, y); NumPy's values at zeros of either sign, infinities and nan."""
    fmt = x.format
    half_pi, half_pi_low, _ = coefficients("half_pi", fmt)
    pi, _ = coefficients("pi", fmt)
    rise, run = absolute(y), absolute(x)
    steep = rise > run
    n, d = select(steep, run, rise), select(steep, rise, run)
    t = n / d
    t = select(n.eq(d), 1.0, t)  # both infinite
    t = select(d.eq(0.0), n, t)  # n is 0 too, or nan
    left = bits(x) & fmt.sign_bit
    t = from_bits(bits(t) ^ left ^ (select(steep, left.lift(fmt.sign_bit), 0)))
    base = select(steep, half_pi, select(left.ne(0), x.lift(pi), 0.0))
    return copysign(_arctangent(t, base, base * (half_pi_low / half_pi)), y)
