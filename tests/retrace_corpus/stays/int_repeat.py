"""An int as a count of repetitions, and as the shape of a stretched array."""

import numpy as np

import numtape as nt


def stretched(x, k):
    return np.broadcast_to(x, (k, len(x))).sum(axis=0) + np.repeat(x, k).sum() + np.tile(x, k).sum()


compiled = nt.jit(stretched)
for n, k in ((3, 2), (3, 5), (4, 1), (1, 3), (1, 1), (6, 6)):
    x = np.arange(1.0, n + 1)
    np.testing.assert_allclose(compiled(x, k), stretched(x, k))
