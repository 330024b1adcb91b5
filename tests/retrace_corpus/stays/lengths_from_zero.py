"""The first call has no elements, the second one element."""

import numpy as np

import numtape as nt


def score(x, w):
    return np.sum(np.sin(x) * w) + np.prod(x.shape) + x.cumsum()


compiled = nt.jit(score)
for n in range(9):
    x = np.linspace(0, 2, n)
    np.testing.assert_allclose(compiled(x, 0.5), score(x, 0.5))
