"""A global mode."""

import numpy as np

import numtape as nt

mode = "sum"


@nt.jit
def reduced(x):
    return x.sum() if mode == "sum" else x.mean()


reduced(np.ones(3))
mode = "mean"
reduced(np.ones(3))  # retrace: GLOBAL_CHANGED of mode, 'sum' → 'mean'; Each `mode` is traced once
mode = "sum"
reduced(np.ones(3))
