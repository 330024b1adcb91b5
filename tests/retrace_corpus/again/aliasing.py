"""One array for two arguments of a function that writes into one of them."""

import numpy as np

import numtape as nt


@nt.jit
def moved(x, y):
    x += y
    return x * y


x, y = np.ones(2), np.ones(2)
moved(x, y)
moved(x, x)  # retrace: ALIASING of all arguments, as compiled → another way; Pass copies
moved(x, x.copy())
