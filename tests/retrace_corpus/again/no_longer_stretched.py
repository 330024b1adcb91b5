"""A column that became a table."""

import numpy as np

import numtape as nt


@nt.jit
def scaled(x, y):
    return x * y  # the cause


scaled(np.ones((3, 3)), np.ones((3, 1)))
scaled(np.ones((3, 3)), np.ones((3, 3)))  # retrace: BROADCAST_PATTERN of axis 1 of `y`, 1 → 3; np.broadcast_to
