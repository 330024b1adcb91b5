"""A mode by name is part of the signature."""

import numpy as np

import numtape as nt


@nt.jit
def reduced(x, how):
    return x.mean() if how == "mean" else x.sum()


reduced(np.ones(3), "mean")
reduced(np.ones(3), "sum")  # retrace: STATIC_VALUE of how, 'mean' → 'sum'; Each value is traced once
reduced(np.ones(4), "mean")
reduced(np.ones(4), "sum")
