"""An int as a shift, of an array and of bits."""

import numpy as np

import numtape as nt


def shifted(x, i, k):
    return np.roll(x, k) + (i << k).sum() + (i >> k).sum() + np.roll(x, -k)


compiled = nt.jit(shifted)
x, i = np.arange(6.0), np.arange(6)
for k in (0, 1, 2, 5, 6, 9):
    np.testing.assert_allclose(compiled(x, i, k), shifted(x, i, k))
