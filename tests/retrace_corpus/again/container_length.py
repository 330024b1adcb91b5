"""A captured list grows."""

import numpy as np

import numtape as nt

layers = [np.ones(2)]


@nt.jit
def model(x):
    for w in layers:
        x = x * w
    return x


model(np.ones(2))
layers.append(np.ones(2))
model(np.ones(2))  # retrace: GLOBAL_CHANGED of layers, a list of length 1 → length 2; Each `layers` is traced once
