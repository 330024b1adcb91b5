"""A loop that runs k times is unrolled for each k."""

import numpy as np

import numtape as nt


@nt.jit
def power(x, k):
    y = x
    for _ in range(k):  # the cause
        y = y * x
    return y


power(np.ones(2), 3)
power(np.ones(5), 4)  # retrace: LOOP_TRIP_COUNT of k, 3 → 4; array operations
power(np.ones(7), 3)


@nt.jit
def mended(x, k):
    return x ** (k + 1)


mended(np.ones(2), 3)
mended(np.ones(5), 4)
