"""Dicts with their keys in any order."""

import numpy as np

import numtape as nt

affine = nt.jit(lambda p, x: x * p["w"] + p["b"]["c"] - p["b"]["a"])
w, c, a = np.full(2, 3.0), np.full(2, 5.0), np.full(2, 1.0)
for params in (
    {"w": w, "b": {"a": a, "c": c}},
    {"b": {"a": a, "c": c}, "w": w},
    {"b": {"c": c, "a": a}, "w": w},
    {"b": {"c": c}, "w": w} | {"b": {"c": c, "a": a}},
):
    np.testing.assert_array_equal(affine(params, np.ones(2)), np.full(2, 7.0))
