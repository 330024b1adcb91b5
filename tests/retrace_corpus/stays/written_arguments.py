"""A function that writes into its argument, of any length."""

import numpy as np

import numtape as nt


@nt.jit
def normalise(x):
    x -= x.mean()
    x[0] = 0.0
    return np.sum(x * x)


for n in (3, 1, 8, 2):
    x, plain = np.arange(float(n)) + 1, np.arange(float(n)) + 1
    plain -= plain.mean()
    plain[0] = 0.0
    np.testing.assert_allclose(normalise(x), np.sum(plain * plain))
    np.testing.assert_allclose(x, plain)
