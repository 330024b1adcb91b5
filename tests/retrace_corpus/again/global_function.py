"""A global function is replaced."""

import numpy as np

import numtape as nt


def tanh(x):
    return np.tanh(x)


def sine(x):
    return np.sin(x)


activation = tanh


@nt.jit
def layer(x):
    return activation(x * 2)


layer(np.ones(3))
activation = sine
layer(np.ones(3))  # retrace: GLOBAL_CHANGED of activation, function tanh → function sine; Each `activation` is traced
activation = tanh
layer(np.ones(5))
