"""An int as the length of an axis that the function makes."""

import numpy as np

import numtape as nt


def grid(x, k):
    table = np.zeros((k, len(x))) + np.arange(k)[:, None] * x
    return table.sum() + np.eye(k).sum() + np.ones(k) @ table + np.tile(x, 2)[: len(x)] + np.linspace(0, 1, k).sum()


compiled = nt.jit(grid)
for n, k in ((4, 3), (4, 1), (1, 1), (2, 7), (0, 2), (5, 2)):
    x = np.linspace(1, 2, n)
    np.testing.assert_allclose(compiled(x, k), grid(x, k))
