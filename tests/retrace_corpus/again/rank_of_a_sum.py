"""A sum is a number where a column of sums was passed before."""

import numpy as np

import numtape as nt


@nt.jit
def shifted(x, by):
    return x - by


x = np.ones((3, 2))
shifted(x, x.sum(axis=1, keepdims=True))
shifted(x, x.sum())  # retrace: RANK of by, 2 → 0; by[None, None] adds axes
shifted(x, np.full((3, 1), x.sum()[None, None]))
