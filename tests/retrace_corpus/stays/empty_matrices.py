"""Axes of length 0 on either side of a product."""

import numpy as np

import numtape as nt


def product(x, w):
    return np.exp(x @ w).sum(axis=0)


compiled = nt.jit(product)
for rows, inner, columns in ((2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 3, 0), (1, 1, 1), (0, 0, 0)):
    x, w = np.ones((rows, inner)), np.ones((inner, columns))
    np.testing.assert_allclose(compiled(x, w), product(x, w))
