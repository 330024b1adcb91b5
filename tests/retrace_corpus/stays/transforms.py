"""Every transform made anew at each turn, for other lengths."""

import numpy as np

import numtape as nt


def loss(w, x):
    return np.sum(np.tanh(x @ w) ** 2)


for n in range(1, 5):
    w, x = np.full(2, 0.1), np.ones((n, 2))
    value, slope = nt.value_and_grad(loss)(w, x)
    np.testing.assert_allclose(nt.grad(loss)(w, x), slope)
    np.testing.assert_allclose(nt.vjp(loss)(w, x)[1](1.0)[0], slope)
    np.testing.assert_allclose(nt.jvp(loss)((w, x), (np.ones(2), np.zeros((n, 2))))[1], slope.sum())
    np.testing.assert_allclose(nt.hvp(lambda w: loss(w, x))(w, np.ones(2)), nt.hessian(loss)(w, x).sum(axis=1))
