"""Python asks for a length itself: a table by length."""

import numpy as np

import numtape as nt

FACTORS = {2: 1.0, 3: 2.0}


@nt.jit
def scaled(x):
    return x * FACTORS[len(x)]  # the cause


scaled(np.ones(2))
scaled(np.ones(3))  # retrace: SHAPE_GUARD of axis 0 of `x`, 2 → 3; arithmetic, slices and shapes
