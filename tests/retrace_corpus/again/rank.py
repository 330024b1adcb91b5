"""One row where others pass a table."""

import numpy as np

import numtape as nt


@nt.jit
def total(x):
    return np.sum(x * x)


total(np.ones((2, 3)))
total(np.ones(3))  # retrace: RANK of x, 2 → 1; x[None] adds an axis
total(np.ones(3)[None])
