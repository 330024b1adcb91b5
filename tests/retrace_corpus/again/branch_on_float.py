"""A branch on a float argument."""

import numpy as np

import numtape as nt


@nt.jit
def clipped(x, limit):
    return x if limit < 0 else np.minimum(x, limit)  # the cause


clipped(np.ones(2), 0.5)
clipped(np.ones(2), -1.0)  # retrace: BRANCH_TAKEN of limit, False → True; np.where(condition, a, b)
clipped(np.ones(2), 0.25)
