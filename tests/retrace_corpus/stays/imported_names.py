"""Names that were imported from NumPy one by one, and an alias of len."""

from numpy import arange, linspace, testing, zeros

import numtape as nt

size = len


def ramp(x):
    return zeros(size(x)) + arange(size(x)) * x


compiled = nt.jit(ramp)
for n in (3, 1, 0, 8):
    x = linspace(1, 2, n)
    testing.assert_allclose(compiled(x), ramp(x))
