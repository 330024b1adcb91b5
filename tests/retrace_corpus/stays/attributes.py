"""Numbers and arrays of an object: changed in place, bound anew."""

import numpy as np

import numtape as nt


class Model:
    def __init__(self, k, n):
        self.k = k
        self.w = np.ones(n)

    @nt.jit
    def __call__(self, x):
        return x * self.k + self.w[: len(x)].sum()


model = Model(2, 3)
for turn in range(1, 6):
    model.k = turn
    model.w[0] = turn
    np.testing.assert_array_equal(model(np.ones(turn)), turn + np.full(turn, model.w[:turn].sum()))
    model.w = np.full(turn + 1, 0.5)
    np.testing.assert_array_equal(model(np.ones(turn)), turn + np.full(turn, 0.5 * turn))
