"""A boolean mask picks another number of elements at each call."""

import numpy as np

import numtape as nt


def kept(x, limit):
    chosen = x[x > limit]
    return np.sum(chosen**2) + len(chosen) + np.where(x > limit)[0].sum()


compiled, x = nt.jit(kept), np.linspace(-1, 1, 9)
for limit in (0.0, -2.0, 2.0, 0.5, 0.99):
    np.testing.assert_allclose(compiled(x, limit), kept(x, limit))
