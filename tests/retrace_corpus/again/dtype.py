"""A list of float32 data among float64 ones."""

import numpy as np

import numtape as nt


@nt.jit
def scaled(x, y):
    return x * y


x = np.ones(3)
scaled(x, x)
scaled(x, x.astype("f4"))  # retrace: DTYPE of y, float64 → float32; np.asarray(y, dtype=np.float64)
scaled(x, np.asarray(x.astype("f4"), dtype=np.float64))
