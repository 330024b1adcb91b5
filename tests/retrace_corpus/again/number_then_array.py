"""A number for all, then one for each."""

import numpy as np

import numtape as nt


@nt.jit
def weighted(x, w):
    return np.sum(x * w)


weighted(np.ones(3), 2.0)
weighted(np.ones(3), np.ones(3))  # retrace: WEAK_SCALAR of w, float → float64 array of rank 1; np.full(shape, w)
weighted(np.ones(3), np.full(3, 2.0))
