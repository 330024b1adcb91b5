"""A branch on a length."""

import numpy as np

import numtape as nt


@nt.jit
def mean(x):
    if len(x) > 2:  # the cause
        return x[1:-1].mean()
    return x.mean()


mean(np.ones(3))
mean(np.ones(9))
mean(np.ones(2))  # retrace: SHAPE_GUARD of axis 0 of `x`, 3 → 2; np.where(condition, a, b)
mean(np.ones(1))
