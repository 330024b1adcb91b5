"""A while loop on data takes one more turn."""

import numpy as np

import numtape as nt


@nt.jit
def halved(x):
    while x.max() > 1:  # the cause
        x = x / 2
    return x


halved(np.array([1.0, 3.0]))
halved(np.array([1.0, 6.0]))  # retrace: BRANCH_TAKEN of x, False → True; array operations
halved(np.array([1.0, 3.5, 2.0]))
