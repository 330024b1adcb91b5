"""Compiled functions inside of compiled functions, and below a gradient."""

import numpy as np

import numtape as nt


@nt.jit
def inner(x, k):
    return np.tanh(x) * k


@nt.jit
def outer(x, k):
    return np.sum(inner(x, k) + inner(x[1:], k).sum())


slope = nt.grad(outer)
for n, k in ((3, 2), (1, 3), (5, 1), (2, 9)):
    x = np.linspace(-1, 1, n)
    tail = np.tanh(x[1:]).sum() * k
    np.testing.assert_allclose(outer(x, k), np.sum(np.tanh(x) * k + tail))
    want = (1 - np.tanh(x) ** 2) * k
    want[1:] *= n + 1
    np.testing.assert_allclose(slope(x, k), want)
assert inner.stats.traces == 0, "it was inlined"
