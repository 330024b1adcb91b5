"""Rows in tiles of sixteen, joined kernels, scattered gradients: right for every number of rows, the odd ones too."""

import numpy as np
import pytest

import numtape as nt
from numtape.compiler.backends.llvm.compiled import native_text

RNG = np.random.default_rng(0)


def logistic(w, x, y):
    z = x @ w
    return np.mean(np.logaddexp(0, z) - y * z) + 0.5 * np.sum(w * w)


def logistic_gradient(w, x, y):
    z = x @ w
    return x.T @ (1 / (1 + np.exp(-z)) - y) / len(y) + w


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_logistic_regression_of_any_number_of_rows(backend):
    both = nt.value_and_grad(nt.jit(logistic, backend=backend))
    for rows in (1, 2, 3, 4, 5, 15, 16, 17, 18, 19, 20, 31, 32, 33, 100):
        for columns in (1, 3, 8, 40):
            w, x, y = RNG.normal(size=columns), RNG.normal(size=(rows, columns)), (RNG.random(rows) < 0.5) * 1.0
            value, gradient = both(w, x, y)
            np.testing.assert_allclose(value, logistic(w, x, y), rtol=1e-13)
            np.testing.assert_allclose(gradient, logistic_gradient(w, x, y), rtol=1e-11, atol=1e-13)
    assert both.stats.traces == 1


def test_a_matrix_is_read_once():
    both = nt.value_and_grad(logistic)
    both(np.ones(3), np.ones((4, 3)), np.ones(4))
    kernels = both.source(backend="kernels")
    assert kernels.count("for j in") == 2 and kernels.count("x[i, j]") == 2, kernels
    matrix_loops = [part for part in kernels.split("kernel ") if "x[i, j]" in part]
    assert len(matrix_loops) == 1, "both passes over x are phases of one loop over its rows"
    assert "blocks" in native_text(both.graph("fused")), "rows go in tiles"


def integers(x, k):
    e = np.exp(x)
    return np.sum(k * np.round(np.sum(e, axis=1, keepdims=True)).astype(np.int64), axis=0), np.log(np.sum(e, axis=1))


def test_sums_of_integers_beside_vector_math():
    f = nt.jit(integers)
    for rows in (1, 7, 16, 37):
        x, k = RNG.normal(size=(rows, 5)), RNG.integers(-9, 9, (rows, 5))
        for got, want in zip(f(x, k), integers(x, k), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-13)


def running(x):
    out = []
    total = np.zeros(x.shape[1])
    for i in range(len(x)):
        total = total + np.log1p(np.sum(np.exp(x[i]))) * x[i]
        out.append(total)
    return np.stack(out)


def test_rows_that_need_the_row_before():
    x = RNG.normal(size=(5, 4))
    np.testing.assert_allclose(nt.jit(running)(x), running(x), rtol=1e-13)


def cross_entropy(scores, labels):
    m = np.max(scores, axis=1, keepdims=True)
    lse = np.log(np.sum(np.exp(scores - m), axis=1)) + m[:, 0]
    return np.mean(lse - scores[np.arange(len(labels)), labels])


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_cross_entropy_picks_and_scatters(backend):
    both = nt.value_and_grad(nt.jit(cross_entropy, backend=backend))
    for rows in (1, 2, 17, 40):
        scores, labels = RNG.normal(size=(rows, 6)), RNG.integers(-6, 6, rows)
        value, gradient = both(scores, labels)
        soft = np.exp(scores - scores.max(1, keepdims=True))
        soft /= soft.sum(1, keepdims=True)
        soft[np.arange(rows), labels] -= 1
        np.testing.assert_allclose(value, cross_entropy(scores, labels), rtol=1e-13)
        np.testing.assert_allclose(gradient, soft / rows, rtol=1e-10, atol=1e-14)
    with pytest.raises(IndexError):
        both(scores, np.full(rows, 6))


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_repeated_places_of_a_scattered_gradient_count_each_time(backend):
    places = np.array([3, 1, 3, 3, 0])

    def f(x):
        return np.sum(np.exp(x)) + np.sum(x[places] * np.arange(1.0, 6.0)) + np.sum(x[places[:2]] ** 2)

    x = RNG.normal(size=4)
    want = np.exp(x)
    np.add.at(want, places, np.arange(1.0, 6.0))
    np.add.at(want, places[:2], 2 * x[places[:2]])
    np.testing.assert_allclose(nt.grad(nt.jit(f, backend=backend))(x), want, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sine_and_cosine_together_are_what_each_gives(dtype):
    """The same bits in vectors, at the end of an array, and for arguments that are reduced in another way."""
    x = RNG.normal(size=83).astype(dtype) * 10
    x[[3, 20, 40, 41, 60, 81]] = [0.0, -0.0, 1e22, np.inf, np.nan, -1e30]
    with np.errstate(all="ignore"):
        both = nt.jit(lambda x: (np.sin(x), np.cos(x)))(x)
        for got, alone in zip(both, (nt.jit(lambda x: np.sin(x))(x), nt.jit(lambda x: np.cos(x))(x)), strict=True):
            np.testing.assert_array_equal(got, alone)
            np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(alone[alone == 0]))
        np.testing.assert_allclose(both[0], np.sin(x), rtol=1e-5 if dtype == "float32" else 1e-14, atol=1e-15)


def test_sine_and_cosine_inside_a_branch_and_outside_of_it():
    def f(x):
        return np.sum(np.where(x > 0, np.sin(x) * np.cos(x), 0.0)) + np.sum(np.sin(x)) - np.sum(np.cos(x))

    x = RNG.normal(size=50)
    np.testing.assert_allclose(nt.jit(f)(x), f(x), rtol=1e-13)
    slope = np.where(x > 0, np.cos(2 * x), 0.0) + np.cos(x) + np.sin(x)
    np.testing.assert_allclose(nt.grad(f)(x), slope, rtol=1e-12, atol=1e-14)
