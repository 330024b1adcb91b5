"""A captured int is the length of an axis, a bound of a slice, a shift."""

import numpy as np

import numtape as nt

width = 2


def window(x):
    return np.zeros(width).sum() + x[:width].sum() + np.roll(x, width) + width


compiled = nt.jit(window)
for k in (2, 3, 0, 1, 5):
    width = k
    np.testing.assert_array_equal(compiled(np.arange(6.0)), window(np.arange(6.0)))
