"""An index out of range at one call: the error NumPy raises, and the entry serves on."""

import numpy as np

import numtape as nt

pick = nt.jit(lambda x, k: x[k] * 2)
for n, k in ((3, 2), (5, 0), (1, 0)):
    assert pick(np.arange(float(n)), k) == 2.0 * k
    try:
        pick(np.arange(float(n)), n + 1)
    except IndexError:
        pass
    else:
        raise AssertionError("an index past the end must raise")
