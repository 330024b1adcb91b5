"""Texts, enums, None, dtypes and functions that are equal are the same."""

import enum

import numpy as np

import numtape as nt


class Mode(enum.Enum):
    SUM = "sum"
    MEAN = "mean"


@nt.jit
def reduced(x, mode, axis, dtype, activation):
    x = activation(x.astype(dtype))
    return x.sum(axis=axis) if mode is Mode.SUM else x.mean(axis=axis)


for n in (2, 1, 5):
    found = reduced(np.ones((n, 2)), Mode("sum"), None, np.dtype("f" + "4"), np.tanh)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.float32(2 * n) * np.tanh(np.float32(1)), rtol=1e-6)
