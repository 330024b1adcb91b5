"""One more keyword for **kwargs."""

import numpy as np

import numtape as nt


@nt.jit
def total(x, **parts):
    return x + sum(parts.values())


total(np.ones(2), a=1.0)
total(np.ones(2), a=1.0, b=2.0)  # retrace: TREE_STRUCTURE of b, left out → given; the same keys
