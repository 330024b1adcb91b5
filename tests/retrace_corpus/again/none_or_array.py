"""An argument that is left out, then given."""

import numpy as np

import numtape as nt


@nt.jit
def masked(x, mask=None):
    return x if mask is None else np.where(mask, x, 0.0)


x = np.ones(3)
masked(x)
masked(x, x > 0)  # retrace: TREE_STRUCTURE of mask, None → one value; the same containers
masked(x, x <= np.inf)
