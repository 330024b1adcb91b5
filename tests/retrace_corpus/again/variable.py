"""A Variable where an array was."""

import numpy as np

import numtape as nt


@nt.jit
def loss(w):
    return np.sum(w * w)


loss(np.ones(2))
w = nt.Variable(np.ones(2))
loss(w)  # retrace: VARIABLE of w, array → Variable; w.numpy()
loss(w.numpy())
