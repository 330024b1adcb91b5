"""Another function is passed as an argument."""

import numpy as np

import numtape as nt


@nt.jit
def applied(x, f):
    return f(x)


def double(x):
    return x * 2


applied(np.ones(3), lambda x: x * 2)
applied(np.ones(3), double)  # retrace: STATIC_VALUE of f, <lambda> → double; Each value is traced once
applied(np.ones(4), double)
