"""Keywords in any order, defaults given or left out, by position or by name, keyword-only and **rest ones."""

import numpy as np

import numtape as nt


@nt.jit
def mixed(x, k=2.0, *, shift=1, **rest):
    return x * k + shift + rest["a"] - rest["b"]


x = np.ones(2)
for found in (
    mixed(x, a=3.0, b=2.0),
    mixed(x, 2.0, b=2.0, a=3.0),
    mixed(x, k=2.0, a=3.0, shift=1, b=2.0),
    mixed(b=2.0, shift=1, a=3.0, k=2.0, x=x),
):
    np.testing.assert_array_equal(found, np.full(2, 4.0))
