"""A bound of a slice that counts from the end, where it counted from the front."""

import numpy as np

import numtape as nt


@nt.jit
def cut(x, k):
    return x[:k]  # the cause


cut(np.ones(5), 2)
cut(np.ones(5), -1)  # retrace: SHAPE_GUARD of k, 2 → -1; Both cases are compiled now
cut(np.ones(5), 0)
cut(np.ones(5), -2)
cut(np.ones(5), len(np.ones(5)) - 2)
