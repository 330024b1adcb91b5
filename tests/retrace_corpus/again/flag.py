"""A flag is part of the signature."""

import numpy as np

import numtape as nt


@nt.jit
def model(x, *, training=True):
    return x * 2 if training else x


model(np.ones(3))
model(np.ones(3), training=False)  # retrace: STATIC_VALUE of training, True → False; Each value is traced once
model(np.ones(9), training=True)
