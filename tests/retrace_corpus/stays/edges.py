"""What is cut and joined at the edges of an axis that may be empty: differences, shifts, single places."""

import numpy as np

import numtape as nt


def stencils(x):
    n = len(x)
    steps = np.diff(np.append(x, 0.0)) + np.roll(x, 1)
    return np.concatenate([x[:1], x[: n - 1], x[-1:]]), np.insert(x, 0, 2.0), steps, np.trapezoid(x), abs(n - 3)


compiled = nt.jit(stencils)
for n in (4, 0, 1, 2, 3, 9):
    x = np.linspace(1, 2, n)
    for got, want in zip(compiled(x), stencils(x), strict=True):
        np.testing.assert_allclose(got, want)
