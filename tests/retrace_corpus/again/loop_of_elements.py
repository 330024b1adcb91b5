"""Python iterates over an array itself, in a comprehension."""

import numpy as np

import numtape as nt


@nt.jit
def total(x):
    return sum([row * row for row in x])  # the cause


total(np.ones((3, 2)))
total(np.ones((4, 2)))  # retrace: LOOP_TRIP_COUNT of axis 0 of `x`, 3 → 4; array operations
