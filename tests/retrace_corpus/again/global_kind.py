"""A global float that becomes an int."""

import numpy as np

import numtape as nt

offset = 1.0


@nt.jit
def shifted(x):
    return x + offset


shifted(np.ones(3))
offset = 2
shifted(np.ones(3))  # retrace: GLOBAL_CHANGED of offset, float → int; Keep the kind, dtype and rank of `offset`
offset = 3.0
shifted(np.ones(3))
