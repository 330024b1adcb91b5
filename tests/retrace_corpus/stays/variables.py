"""Variables, as arguments and captured, that are assigned to."""

import numpy as np

import numtape as nt

w = nt.Variable(np.ones(2))


@nt.jit
def loss(x, b):
    return np.sum((x @ w + b) ** 2)


b = nt.Variable(0.5)
for n in range(1, 5):
    x = np.ones((n, 2))
    with nt.GradientTape() as tape:
        value = loss(x, b)
    gw, gb = tape.gradient(value, [w, b])
    np.testing.assert_allclose(float(value), n * (np.asarray(w).sum() + float(b)) ** 2)
    w.assign_sub(0.01 * gw)
    b.assign_sub(0.01 * gb)
