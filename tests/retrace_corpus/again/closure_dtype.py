"""A captured array of another dtype."""

import numpy as np

import numtape as nt


def make():
    weights = np.ones(3)

    @nt.jit
    def weighted(x):
        return x * weights

    def replace(new):
        nonlocal weights
        weights = new

    return weighted, replace


weighted, replace = make()
weighted(np.ones(3))
replace(np.ones(3, "f4"))
weighted(np.ones(3))  # retrace: CLOSURE_CHANGED of weights, f64[:] → f32[:]; Keep the kind, dtype and rank of `weights`
replace(np.zeros(3))
weighted(np.ones(3))
