"""A function as an argument."""

import numpy as np

import numtape as nt


@nt.jit
def layer(x, activation):
    return activation(x * 2)


layer(np.ones(3), np.tanh)
layer(np.ones(3), np.sin)  # retrace: STATIC_VALUE of activation, tanh → sin; Each value is traced once
layer(np.ones(5), np.tanh)
