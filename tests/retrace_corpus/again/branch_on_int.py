"""A branch on an int argument."""

import numpy as np

import numtape as nt


@nt.jit
def scaled(x, k):
    if k > 3:  # the cause
        return x * 2
    return x


scaled(np.ones(2), 7)
scaled(np.ones(2), 2)  # retrace: BRANCH_TAKEN of k, 7 → 2; np.where(condition, a, b)
scaled(np.ones(2), 4)
