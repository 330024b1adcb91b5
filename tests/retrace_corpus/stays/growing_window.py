"""A model on the first i + 1 steps of a sequence, for growing i."""

import numpy as np

import numtape as nt

x = np.sin(np.arange(24.0)).reshape(2, 6, 2)
kernel, w = np.full((3, 2), 0.5), np.array([0.1, -0.2])


def model(x):
    padded = np.concatenate([np.zeros((x.shape[0], 2, x.shape[2])), x], axis=1)
    rows = sum(padded[:, i : i + x.shape[1]] * kernel[i] for i in range(3))
    return np.tanh(rows) @ w


compiled = nt.jit(model)
for i in range(x.shape[1]):
    np.testing.assert_allclose(compiled(x[:, : i + 1, :]), model(x[:, : i + 1, :]))
