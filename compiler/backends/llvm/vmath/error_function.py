"""erf."""

from __future__ import annotations

from .exponential import exp
from .pieces import coefficients, fitted
from .values import F64, Value, absolute, at_most, copysign, fma, select


def erf(x: Value) -> Value:
    """x + x·(2/√π - 1 + x²·p(x²)) up to 1, then 1 - e^q(|x| - 1) with q the logarithm of erfc."""
    (slope,) = coefficients("erf_slope", x.format)
    a, z = absolute(x), x * x
    near = fma(x, fma(z, fitted("erf", z), slope), x)
    t = at_most(a, 6.0 if x.format is F64 else 4.0) - 1.0
    far = copysign(1.0 - exp(fitted("log_erfc", t)), x)
    return select(a < 1.0, near, far)
