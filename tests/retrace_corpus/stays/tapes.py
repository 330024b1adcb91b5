"""A compiled function inside of a tape, inside of a compiled function."""

import numpy as np

import numtape as nt


@nt.jit
def inner(x):
    return np.sum(x**3)


@nt.jit
def outer(x):
    x = nt.tensor(x)
    with nt.GradientTape() as tape:
        tape.watch(x)
        y = inner(x)
    return tape.gradient(y, x)


for n in (2, 1, 5, 0):
    x = np.arange(float(n))
    np.testing.assert_allclose(outer(x), 3 * x**2)
    eager = nt.tensor(x)
    with nt.GradientTape() as tape:
        tape.watch(eager)
        y = inner(eager) * 2
    np.testing.assert_allclose(np.asarray(tape.gradient(y, eager)), 6 * x**2)
