"""An int as an index, and in the index of a write."""

import numpy as np

import numtape as nt


def moved(x, k):
    y = x.copy()
    y[k] = x[k + 1] * 2
    y[k - 1] += x[0]
    return y


compiled = nt.jit(moved)
x = np.arange(1.0, 9.0)
for k in range(1, 7):
    np.testing.assert_allclose(compiled(x, k), moved(x, k))
