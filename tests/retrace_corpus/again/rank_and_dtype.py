"""Two arguments change at once: both are named."""

import numpy as np

import numtape as nt


@nt.jit
def added(x, y):
    return x + y


added(np.ones(2), np.ones(2))
added(np.ones((2, 2)), np.ones(2, "f4"))  # retrace: RANK of x, 1 → 2 | DTYPE of y, float64 → float32; np.squeeze(x)
