"""A loop over the rows of an array."""

import numpy as np

import numtape as nt


@nt.jit
def total(x):
    y = 0.0
    for i in range(x.shape[0]):  # the cause
        y = y + x[i] * i
    return y


total(np.ones((3, 2)))
total(np.ones((4, 2)))  # retrace: LOOP_TRIP_COUNT of axis 0 of `x`, 3 → 4; array operations
mended = nt.jit(lambda x: np.arange(len(x)) @ x)
mended(np.ones((3, 2)))
mended(np.ones((4, 2)))
