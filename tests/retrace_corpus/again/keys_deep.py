"""Another key, deep inside."""

import numpy as np

import numtape as nt


@nt.jit
def used(params, x):
    return x * params["a"][0].get("k", 1.0)


used({"a": [{"k": 2.0}]}, np.ones(2))
used({"a": [{"m": 2.0}]}, np.ones(2))  # retrace: TREE_STRUCTURE of params['a'][0], dict with 'k' → dict with 'm'; keys
