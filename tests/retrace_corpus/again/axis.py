"""An int that says which axis."""

import numpy as np

import numtape as nt


@nt.jit
def total(x, axis):
    return x.sum(axis=axis)  # the cause


total(np.ones((2, 3)), 0)
total(np.ones((2, 3)), 1)  # retrace: STATIC_VALUE of axis, 0 → 1; with few values
