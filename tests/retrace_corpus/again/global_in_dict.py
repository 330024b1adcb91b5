"""Another dtype in a captured dict."""

import numpy as np

import numtape as nt

params = {"w": np.ones(3), "b": 1.0}


@nt.jit
def model(x):
    return x * params["w"] + params["b"]


model(np.ones(3))
params["w"] = np.ones(3, "f4")
model(np.ones(3))  # retrace: GLOBAL_CHANGED of params['w'], f64[:] → f32[:]; dtype and rank of `params['w']`
