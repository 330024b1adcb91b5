"""An array that is made of integers where others are of floats."""

import numpy as np

import numtape as nt


@nt.jit
def mean(x):
    return x.sum() / x.size


mean(np.array([1.0, 2.0]))
mean(np.array([1, 2, 3]))  # retrace: DTYPE of x, float64 → int64; np.asarray(x, dtype=np.float64)
mean(np.asarray([1, 2, 3], dtype=np.float64))
