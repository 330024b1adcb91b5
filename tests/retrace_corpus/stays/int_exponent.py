"""An int as an exponent: zero, negative and large ones too."""

import numpy as np

import numtape as nt


def power(x, k):
    return x**k + np.power(x, k) * 2.0


compiled = nt.jit(power)
x = np.linspace(0.5, 1.5, 5)
for k in (2, 0, 1, 3, -1, -2, 10):
    np.testing.assert_allclose(compiled(x, k), power(x, k))
