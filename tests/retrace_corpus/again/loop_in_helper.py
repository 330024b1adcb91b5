"""A loop in a helper function: the line is the helper's."""

import numpy as np

import numtape as nt


def repeated(x, times):
    for _ in range(times):  # the cause
        x = np.sin(x)
    return x


@nt.jit
def model(x, depth):
    return repeated(x, depth).sum()


model(np.ones(2), 1)
model(np.ones(2), 2)  # retrace: LOOP_TRIP_COUNT of depth, 1 → 2; array operations
