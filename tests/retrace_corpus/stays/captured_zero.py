"""A captured number that goes from 0.0 to -0.0, to nan and to inf."""

import numpy as np

import numtape as nt

scale = 0.0


@nt.jit
def divided(x):
    return x / scale


with np.errstate(all="ignore"):
    for value in (0.0, -0.0, float("nan"), float("inf"), 2.0):
        scale = value
        np.testing.assert_array_equal(divided(np.ones(2)), np.ones(2) / np.float64(scale))
