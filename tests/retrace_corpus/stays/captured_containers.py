"""Arrays and numbers in captured dicts and lists are replaced."""

import numpy as np

import numtape as nt

params = {"w": np.ones(2), "layers": [np.ones(2), 3.0]}


@nt.jit
def model(x):
    return x * params["w"] + params["layers"][0] * params["layers"][1]


for turn in range(4):
    params["w"] = np.full(2, float(turn))
    params["layers"][0] = np.full(2, 2.0 * turn)
    params["layers"][1] = 0.5 * turn
    np.testing.assert_array_equal(model(np.ones(2)), np.full(2, turn + turn * turn * 1.0))
