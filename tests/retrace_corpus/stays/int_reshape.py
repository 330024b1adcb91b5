"""An int as a size of a reshape, in each way of writing it."""

import numpy as np

import numtape as nt


def folded(x, k):
    return x.reshape(k, -1).sum(axis=1), np.reshape(x, (-1, k)).sum(axis=0), x.reshape((k, len(x) // k)).T


compiled = nt.jit(folded)
for n in (12, 24, 60):
    x = np.arange(float(n))
    for k in (3, 1, 2, 4, 6, 12):
        for got, want in zip(compiled(x, k), folded(x, k), strict=True):
            np.testing.assert_array_equal(got, want)
