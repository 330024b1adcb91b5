"""NumPy scalars and 0-d arrays of one dtype are one thing."""

import numpy as np

import numtape as nt

scaled = nt.jit(lambda x, k: x * k)
for k in (np.float64(2), np.array(3.0), np.float64(-0.0), np.ones(3)[1]):
    np.testing.assert_array_equal(scaled(np.ones(2), k), np.ones(2) * k)
