"""Comparison of values and shapes, and of recorded functions with plain NumPy."""

import numpy as np

import numtape as nt


def near(got, want, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)
    assert np.shape(got) == np.shape(want)


def jit(function):
    """Recorded and run by the interpreter: these tests ask what is recorded, not what is compiled."""
    return nt.jit(function, backend="interpreter")


def agree(function, *calls, traces=None):
    """The same results as plain NumPy, call by call."""
    compiled = jit(function)
    for args in calls:
        np.testing.assert_allclose(compiled(*args), function(*args), err_msg=str(args))
    if traces is not None:
        assert compiled.stats.traces == traces
