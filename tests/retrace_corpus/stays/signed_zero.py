"""0.0 and -0.0 are one trace, and each gives its own answer."""

import math

import numpy as np

import numtape as nt


@nt.jit
def inverse(k, x):
    return 1 / k, np.copysign(x, k)


with np.errstate(divide="ignore"):
    for zero, sign in ((0.0, 1), (-0.0, -1), (0.0, 1)):
        found, copied = inverse(zero, np.ones(2))
        assert found == sign * math.inf and copied.tolist() == [sign, sign]
