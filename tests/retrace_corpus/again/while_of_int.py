"""A while loop that counts down."""

import numpy as np

import numtape as nt


@nt.jit
def halved(x, k):
    while k > 0:  # the cause
        x = x / 2
        k -= 1
    return x


halved(np.ones(2), 1)
halved(np.ones(2), 2)  # retrace: LOOP_TRIP_COUNT of k, 1 → 2; array operations
