"""A branch on how many elements a mask keeps."""

import numpy as np

import numtape as nt


@nt.jit
def spread(x):
    kept = x[x > 0]
    if len(kept) > 1:  # the cause
        return kept.var()
    return 0.0


spread(np.array([1.0, 2.0, 3.0]))
spread(np.array([1.0, -2.0]))  # retrace: BRANCH_TAKEN of x, count1 > 1 → count1 <= 1; np.where(condition, a, b)
