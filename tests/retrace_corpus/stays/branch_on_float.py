"""A float is compared, clipped, chosen by: each outcome is one trace and comes back."""

import numpy as np

import numtape as nt


def step(x, rate):
    if rate < 0.5:
        return x - rate
    return x * rate


compiled = nt.jit(step)
x = np.ones(2)
compiled(x, 0.1)
compiled(x, 0.9)  # retrace: BRANCH_TAKEN
for rate in (0.2, 0.3, 0.7, 0.5, -0.0, float("inf"), 0.4999):
    np.testing.assert_array_equal(compiled(x, rate), step(x, rate))
