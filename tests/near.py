"""Comparison of values and shapes."""

import numpy as np


def near(got, want, tolerance=1e-12):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance)
    assert np.shape(got) == np.shape(want)
