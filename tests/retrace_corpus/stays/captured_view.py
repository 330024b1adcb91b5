"""A captured array is rebound to views, strided, Fortran-ordered and read-only ones."""

import numpy as np

import numtape as nt

table = np.arange(12.0).reshape(3, 4)


@nt.jit
def total(x):
    return x * table.sum(axis=0)


base = np.arange(48.0).reshape(6, 8)
locked = np.ones((3, 4))
locked.flags.writeable = False
for other in (table, base[::2, ::2], np.asfortranarray(base[:3, :4]), locked, base[:3, :4].astype(">f8")):
    table = other
    np.testing.assert_array_equal(total(np.ones(table.shape[1])), table.sum(axis=0))
