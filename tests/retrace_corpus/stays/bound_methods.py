"""Bound methods read anew, of one object and of new objects of a class."""

import numpy as np

import numtape as nt


class Model:
    def __init__(self, k):
        self.k, self.w = k, np.full(3, float(k))

    def value(self, x):
        return np.sum(x * self.w) * self.k


model = Model(2)
for _ in range(3):
    assert nt.jit(model.value)(np.ones(3)) == 12.0
for k in range(1, 6):
    assert nt.jit(Model(k).value)(np.ones(3)) == 3.0 * k * k
