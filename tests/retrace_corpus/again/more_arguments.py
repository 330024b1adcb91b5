"""One more argument for *args."""

import numpy as np

import numtape as nt


@nt.jit
def total(*parts):
    return sum(p.sum() for p in parts)


total(np.ones(2))
total(np.ones(2), np.ones(3))  # retrace: TREE_STRUCTURE of parts[1], left out → given; lengths
