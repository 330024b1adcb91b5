"""The same cell under other numbers, as notebooks name it at each run."""

import numpy as np

import numtape as nt

CELL = """
@nt.jit
def model(x):
    return np.sum(x * 2)
"""
space = {"__name__": "__main__", "np": np, "nt": nt}
for number in range(4):
    exec(compile(CELL, f"<ipython-input-{number}-c0ffee>", "exec"), space)
    assert space["model"](np.ones(3)) == 6.0
