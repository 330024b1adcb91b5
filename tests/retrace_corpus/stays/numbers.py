"""Ints and floats in arithmetic; the counter and the step of an optimiser."""

import numpy as np

import numtape as nt


@nt.jit
def adam(w, m, v, g, step, rate):
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return w - rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8), m, v


w = m = v = np.zeros(3)
for step in range(1, 20):
    w, m, v = adam(w, m, v, w - 1, step, 0.1 / step)
assert np.all(w > 0) and adam.stats.calls == 19
