"""An object that is made anew at each call."""

import numpy as np

import numtape as nt


class Config:
    def __init__(self, k):
        self.k = k


@nt.jit
def scaled(x, config):
    return x * config.k


config = Config(2.0)
scaled(np.ones(3), config)
scaled(np.ones(3), Config(2.0))  # retrace: STATIC_VALUE of config, one Config → another Config; pass the same object
config.k = 5.0
assert scaled(np.ones(3), config)[0] == 5.0
