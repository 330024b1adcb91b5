"""An int becomes a key, through a text."""

import numpy as np

import numtape as nt

params = {"w0": np.ones(2), "w1": np.zeros(2)}


@nt.jit
def layer(x, k):
    return x * params[f"w{k}"]  # the cause


layer(np.ones(2), 0)
layer(np.ones(2), 1)  # retrace: STATIC_VALUE of k, 0 → 1; with few values
