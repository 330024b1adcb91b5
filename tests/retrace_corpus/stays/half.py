"""Sizes computed from lengths: halves, sums, products, minima."""

import math

import numpy as np

import numtape as nt


def halves(x):
    n = len(x)
    low, high = x[: n // 2], x[n // 2 :]
    return low.sum() - high.sum() + np.zeros(2 * n + 1).sum() + x[: min(n, 3)].sum() + x[: math.ceil(n / 2)].sum()


compiled = nt.jit(halves)
for n in (9, 0, 1, 2, 3, 4, 5, 40):
    x = np.arange(float(n))
    np.testing.assert_allclose(compiled(x), halves(x))
