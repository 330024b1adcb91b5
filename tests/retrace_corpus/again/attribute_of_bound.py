"""The dtype of an attribute, seen from a bound method."""

import numpy as np

import numtape as nt


class Model:
    def __init__(self):
        self.w = np.ones(3)

    def value(self, x):
        return x * self.w


model = Model()
compiled = nt.jit(model.value)
compiled(np.ones(3))
model.w = model.w.astype("f4")
compiled(np.ones(3))  # retrace: CLOSURE_CHANGED of self.w, f64[:] → f32[:]; Keep the kind, dtype and rank of `self.w`
