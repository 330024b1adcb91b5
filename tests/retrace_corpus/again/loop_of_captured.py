"""A captured number that a loop counts to."""

import numpy as np

import numtape as nt

steps = 2


@nt.jit
def walked(x):
    for _ in range(steps):  # the cause
        x = x * 2
    return x


walked(np.ones(2))
steps = 3
walked(np.ones(2))  # retrace: LOOP_TRIP_COUNT of steps, 2 → 3; array operations
