"""A sum that starts at the int 0 and goes on as a NumPy number."""

import numpy as np

import numtape as nt


@nt.jit
def added(total, x):
    return total + x.sum()


total = added(0, np.ones(3))
total = added(total, np.ones(3))  # retrace: WEAK_SCALAR of total, int → NumPy float64; np.float64(total)
total = added(np.float64(0), np.ones(5))
