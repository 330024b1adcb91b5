"""A branch below a gradient."""

import numpy as np

import numtape as nt


@nt.grad
def slope(w):
    if w[0] > 0:  # the cause
        return np.sum(w**2)
    return np.sum(w)


slope(np.array([1.0, 2.0]))
slope(np.array([-1.0, 2.0]))  # retrace: BRANCH_TAKEN of w, True → False; np.where(condition, a, b)
