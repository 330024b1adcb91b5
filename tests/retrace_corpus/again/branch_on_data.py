"""A branch on data."""

import numpy as np

import numtape as nt


@nt.jit
def robust(w, x):
    loss = np.sum((x * w) ** 2)
    if loss > 10:  # the cause
        loss = np.sqrt(loss)
    return loss


robust(np.ones(2), np.ones(2))
robust(np.ones(2), np.full(2, 9.0))  # retrace: BRANCH_TAKEN of w, x, False → True; np.where(condition, a, b)
robust(np.ones(2), np.zeros(2))


@nt.jit
def mended(w, x):
    loss = np.sum((x * w) ** 2)
    return np.where(loss > 10, np.sqrt(loss), loss)


mended(np.ones(2), np.ones(2))
mended(np.ones(2), np.full(2, 9.0))
