"""A NumPy number of single precision for a Python float."""

import numpy as np

import numtape as nt


@nt.jit
def scaled(x, k):
    return x * k


scaled(np.ones(2), 2.0)
scaled(np.ones(2), np.float32(2))  # retrace: WEAK_SCALAR of k, float → NumPy float32; np.float32(k)
scaled(np.ones(2), np.float32(2.0))
