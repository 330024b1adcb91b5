"""A branch on a captured number."""

import numpy as np

import numtape as nt

verbose = 0.0


@nt.jit
def model(x):
    if verbose:  # the cause
        return x * 2
    return x


model(np.ones(2))
verbose = 1.0
model(np.ones(2))  # retrace: BRANCH_TAKEN of verbose, False → True; np.where(condition, a, b)
