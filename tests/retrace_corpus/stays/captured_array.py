"""A captured array is written in place, and bound anew with another length."""

import numpy as np

import numtape as nt

weights = np.ones(3)


@nt.jit
def weighted(x):
    return x * weights + weights.sum()


for turn in range(5):
    weights[turn % 3] += turn
    np.testing.assert_array_equal(weighted(np.ones(3)), weights + weights.sum())
for n in (4, 1, 0, 2):
    weights = np.arange(float(n))
    np.testing.assert_array_equal(weighted(np.ones(n)), weights + weights.sum())
