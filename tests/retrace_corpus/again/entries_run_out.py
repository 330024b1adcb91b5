"""More outcomes than max_entries allows: the tape answers, with one warning."""

import numpy as np

import numtape as nt


@nt.jit(max_entries=2)
def scaled(x, k):
    for _ in range(k):  # the cause
        x = x * 2
    return x


scaled(np.ones(2), 1)
scaled(np.ones(2), 2)  # retrace: LOOP_TRIP_COUNT of k, 1 → 2; array operations
scaled(np.ones(2), 3)  # retrace: MAX_ENTRIES of k, 2 entries → uncompiled | LOOP_TRIP_COUNT of k, 2 → 3; max_entries=8
assert scaled(np.ones(2), 4)[0] == 16
assert scaled(np.ones(2), 1)[0] == 2
