"""Lambdas made anew, to `jit` and to `grad`, that capture what changes."""

import numpy as np

import numtape as nt

for k in range(6):
    target = np.full(3, float(k))
    assert nt.jit(lambda x: np.sum((x - target) ** 2) * k)(np.zeros(3)) == 3.0 * k**3
    np.testing.assert_array_equal(nt.grad(lambda x: np.sum((x - target) ** 2))(np.zeros(3)), -2 * target)
