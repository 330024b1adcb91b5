"""An int picks from a tuple of Python's."""

import numpy as np

import numtape as nt

TABLE = (1.0, 2.0, 4.0)


@nt.jit
def scaled(x, k):
    return x * TABLE[k]  # the cause


scaled(np.ones(2), 0)
scaled(np.ones(2), 2)  # retrace: STATIC_VALUE of k, 0 → 2; arithmetic, slices and shapes
table = np.array(TABLE)
mended = nt.jit(lambda x, k: x * table[k])
mended(np.ones(2), 0)
mended(np.ones(2), 2)
