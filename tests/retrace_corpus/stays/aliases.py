"""One array for two arguments, which the body only reads."""

import numpy as np

import numtape as nt

added = nt.jit(lambda a, b: a + 2 * b)
one, ten = np.array([1.0]), np.array([10.0])
assert [added(*pair)[0] for pair in ((one, ten), (ten, one), (one, one), (ten, ten))] == [21.0, 12.0, 3.0, 30.0]
