"""A decorated method, called on new objects of its class."""

import numpy as np

import numtape as nt


class Model:
    def __init__(self, k):
        self.k, self.w = k, np.full(k, float(k))

    @nt.jit
    def value(self, x):
        return np.sum(x * self.w) * self.k


for k in range(1, 6):
    assert Model(k).value(np.ones(k)) == 1.0 * k**3
