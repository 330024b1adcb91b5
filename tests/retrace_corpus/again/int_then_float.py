"""An int at first and a float later."""

import numpy as np

import numtape as nt


@nt.jit
def decayed(x, rate):
    return x * rate


decayed(np.ones(2), 1)
decayed(np.ones(2), 0.5)  # retrace: WEAK_SCALAR of rate, int → float; float(rate)
decayed(np.ones(2), float(1))
