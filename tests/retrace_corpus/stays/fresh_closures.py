"""A prediction in a loop, each time from a closure made anew."""

import numpy as np

import numtape as nt

x = np.sin(np.arange(10.0)).reshape(1, 10, 1)


def slide(y, weights):
    @nt.jit
    def predict(window):
        return np.tanh(window * weights).sum(axis=1)

    return np.array([predict(y[:, : i + 1, :])[-1, 0] for i in range(y.shape[1])])


for turn in range(3):
    weights = np.full(1, 0.5 + turn)
    want = np.cumsum(np.tanh(x[0, :, 0] * weights))
    np.testing.assert_allclose(slide(x, weights), want)
