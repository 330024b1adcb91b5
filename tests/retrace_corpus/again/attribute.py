"""An attribute that is no number: a mode of an object."""

import numpy as np

import numtape as nt


class Model:
    def __init__(self):
        self.mode, self.k = "train", 2.0

    @nt.jit
    def value(self, x):
        return x * self.k if self.mode == "train" else x


model = Model()
model.value(np.ones(3))
model.k = 3.0
model.value(np.ones(3))
model.mode = "test"
model.value(np.ones(3))  # retrace: STATIC_VALUE of self.mode, 'train' → 'test'; Each `self.mode` is traced once
