"""The second of two branches: the entry that came furthest is held against the call."""

import numpy as np

import numtape as nt


@nt.jit
def signs(x):
    y = x + 1 if x[0] > 0 else x
    return y + 1 if x[1] > 0 else y  # the cause


signs(np.array([1.0, 1.0]))
signs(np.array([1.0, -1.0]))  # retrace: BRANCH_TAKEN of x, True → False; np.where(condition, a, b)
