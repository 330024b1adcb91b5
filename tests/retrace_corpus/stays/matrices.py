"""All pairs of lengths of two axes."""

import numpy as np

import numtape as nt


def layer(x, w, b):
    return np.maximum(x @ w + b, 0).T @ x - x.mean() * np.ones((w.shape[1], x.shape[1]))


compiled = nt.jit(layer)
for rows in (3, 1, 2, 5):
    for columns in (2, 1, 4):
        x, w, b = np.ones((rows, columns)), np.full((columns, 3), 0.5), np.arange(3.0)
        np.testing.assert_allclose(compiled(x, w, b), layer(x, w, b))
