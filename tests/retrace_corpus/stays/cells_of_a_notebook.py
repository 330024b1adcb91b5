"""A cell of a notebook that is run again, as it was and after others."""

import numpy as np

CELL = """
import numpy as np
import numtape as nt

@nt.jit
def model(x):
    return np.tanh(x * scale).sum()
"""
space = {"__name__": "__main__", "scale": 1.0}
for turn in range(4):
    exec(compile(CELL, "<cell 1>", "exec"), space)
    space["scale"] = 0.5 * turn
    x = np.ones(turn + 1)
    np.testing.assert_allclose(space["model"](x), np.tanh(x * 0.5 * turn).sum())
