"""A tuple where a list was."""

import numpy as np

import numtape as nt


@nt.jit
def joined(parts):
    return np.concatenate(parts)


joined([np.ones(2), np.ones(3)])
joined((np.ones(2), np.ones(3)))  # retrace: TREE_STRUCTURE of parts, list of 2 → tuple of 2; the same containers
joined([np.ones(4), np.ones(1)])
