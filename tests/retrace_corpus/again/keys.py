"""Another set of keys in a dict."""

import numpy as np

import numtape as nt


@nt.jit
def total(params):
    return sum(np.sum(v) for v in params.values())


total({"w": np.ones(2), "b": 1.0})
total({"w": np.ones(2)})  # retrace: TREE_STRUCTURE of params, dict with 'b', 'w' → dict with 'w'; the same keys
total({"w": np.ones(2), "b": 0.0})
