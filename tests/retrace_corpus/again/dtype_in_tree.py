"""A dtype deep inside of an argument."""

import numpy as np

import numtape as nt


@nt.jit
def model(params, x):
    return x @ params["layers"][1]["w"] + params["b"]


def made(dtype):
    return {"layers": [None, {"w": np.ones(2, dtype)}], "b": 0.5}


model(made("f8"), np.ones((3, 2)))
model(made("f4"), np.ones((5, 2)))  # retrace: DTYPE of params['layers'][1]['w'], float64 → float32; dtype=np.float64
