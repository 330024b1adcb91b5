"""A comparison guards its outcome, not the number: two traces for all numbers."""

import numpy as np

import numtape as nt


def limited(x, k):
    if k > 3:
        return x * 3
    return x * k


compiled = nt.jit(limited)
x = np.ones(2)
for k in (1, 2, 3, 0, -5, 1):
    np.testing.assert_array_equal(compiled(x, k), limited(x, k))
compiled(x, 4)  # retrace: BRANCH_TAKEN
for k in (5, 100, 2, 3, 4, -1):
    np.testing.assert_array_equal(compiled(x, k), limited(x, k))
