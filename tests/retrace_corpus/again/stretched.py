"""One value is stretched where each had its own."""

import numpy as np

import numtape as nt


@nt.jit
def added(x, y):
    return x + y  # the cause


added(np.ones(3), np.ones(3))
added(np.ones(5), np.ones(1))  # retrace: BROADCAST_PATTERN of axis 0 of `y`, 3 → 1; np.broadcast_to
added(np.ones(5), np.broadcast_to(np.ones(1), 5))
