"""functools.partial made anew, with arrays and numbers, by position and by name."""

from functools import partial

import numpy as np

import numtape as nt


def line(a, x, b=0.0, c=1):
    return a * x + b * c


for k in range(1, 6):
    a = np.full(k, float(k))
    f = nt.jit(partial(line, a, b=0.5 * k, c=k))
    np.testing.assert_array_equal(f(np.ones(k)), a + 0.5 * k * k)
