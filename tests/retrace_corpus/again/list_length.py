"""Lists of growing length."""

import numpy as np

import numtape as nt


@nt.jit
def joined(parts):
    return np.concatenate(parts)


joined([np.ones(2)])
joined([np.ones(2), np.ones(3)])  # retrace: TREE_STRUCTURE of parts, list of 1 → list of 2; lengths
