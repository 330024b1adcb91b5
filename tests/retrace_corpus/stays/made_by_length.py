"""Arrays that are made for a length: zeros, arange, eye and their kin."""

import numpy as np

import numtape as nt


def made(x):
    n = len(x)
    total = np.zeros(n) + np.ones_like(x) + np.arange(n) * x + np.full(n, 2.0) + np.empty((n, 0)).sum(axis=1)
    return np.eye(n) @ total + np.linspace(0, 1, n) + np.diag(np.ones(x.shape[0])).sum() + n + x.size / 2


compiled = nt.jit(made)
for n in (4, 0, 1, 2, 9, 1, 30):
    x = np.linspace(1, 2, n)
    np.testing.assert_allclose(compiled(x), made(x))
