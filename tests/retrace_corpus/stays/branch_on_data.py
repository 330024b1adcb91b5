"""Branches on data that come back find their entries."""

import numpy as np

import numtape as nt


def robust(x):
    if x.sum() > 0:
        return np.sqrt(np.abs(x)) if x[0] > 1 else x * 2
    return -x


compiled = nt.jit(robust)
compiled(np.array([2.0, 1.0]))
compiled(np.array([0.5, 1.0]))  # retrace: BRANCH_TAKEN
compiled(np.array([-2.0, 1.0]))  # retrace: BRANCH_TAKEN
rng = np.random.default_rng(0)
for n in range(1, 30):
    x = rng.normal(size=n) * 2
    np.testing.assert_allclose(compiled(x), robust(x))
