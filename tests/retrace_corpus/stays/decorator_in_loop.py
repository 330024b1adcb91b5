"""A decorator inside of a loop."""

import numpy as np

import numtape as nt

for k in range(6):
    weight = np.full(k + 1, float(k))

    @nt.jit
    def scaled(x):
        return np.sum(x * weight) + k

    assert scaled(np.ones(k + 1)) == k * (k + 1) + k
