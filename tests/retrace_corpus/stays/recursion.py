"""Recursion on a depth that Python knows, and a compiled function that calls itself."""

import numpy as np

import numtape as nt

DEPTH = 3


@nt.jit
def tower(x, depth=None):
    depth = DEPTH if depth is None else depth
    return x if not depth else np.sin(tower(x, depth - 1))


for n in (2, 1, 6):
    x = np.linspace(0, 1, n)
    np.testing.assert_allclose(tower(x), np.sin(np.sin(np.sin(x))))
