"""True is not 1."""

import numpy as np

import numtape as nt


@nt.jit
def chosen(x, flag):
    return x * flag


chosen(np.ones(2), 1)
chosen(np.ones(2), True)  # retrace: WEAK_SCALAR of flag, int → bool; int(flag)
chosen(np.ones(2), int(True))
