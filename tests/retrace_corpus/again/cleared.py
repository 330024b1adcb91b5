"""The cache was cleared."""

import numpy as np

import numtape as nt


@nt.jit
def double(x):
    return x * 2


double(np.ones(2))
double.clear_cache()
double(np.ones(2))  # retrace: CLEARED of all arguments, compiled → cleared; clear_cache() less often
