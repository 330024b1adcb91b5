"""A partial of a partial, of a lambda made anew, of a method; to `grad` too."""

from functools import partial

import numpy as np

import numtape as nt


class Model:
    def __init__(self, w):
        self.w = w

    def loss(self, decay, x):
        return np.sum((x * self.w) ** 2) * decay


for k in range(1, 6):
    x = np.ones(k)
    f = nt.jit(partial(partial(lambda a, b, x: a * x + b + k, 1.0 * k), 2.0))
    np.testing.assert_array_equal(f(x), k * x + 2 + k)
    np.testing.assert_array_equal(nt.grad(partial(Model(x * 2).loss, 0.5 * k))(x), 4.0 * k * x)
