"""An int as a bound or a step of a slice."""

import numpy as np

import numtape as nt


def cut(x, k):
    return x[:k].sum() + x[k:].prod() * x[-k:].mean()


compiled = nt.jit(cut)
x = np.linspace(0.5, 1.5, 10)
for k in range(1, 9):
    np.testing.assert_allclose(compiled(x, k), cut(x, k))
