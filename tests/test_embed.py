"""Compiled functions inside the user's own @njit code."""

import numba
import numpy as np
import pytest

import numtape as nt

rng = np.random.default_rng(0)
W, X, Y = rng.normal(size=3), rng.normal(size=(40, 3)), rng.normal(size=40)


@nt.jit
def loss(w, x, y):
    return np.mean((np.tanh(x @ w) - y) ** 2)


@pytest.fixture(scope="module")
def value_and_grad():
    return loss.njit_value_and_grad(W, X, Y)


def test_descent_in_njit(value_and_grad):
    @numba.njit
    def descend(w, x, y, steps):
        value = 0.0
        for _ in range(steps):
            value, g = value_and_grad(w, x, y)
            w = w - 0.1 * g
        return value, w

    step, w = nt.value_and_grad(loss), W
    for _ in range(20):
        expected, g = step(w, X, Y)
        w = w - 0.1 * g
    value, found = descend(W, X, Y, 20)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(found, w, rtol=1e-12)


def test_growing_lengths_compile_once(value_and_grad):
    before = loss.stats.traces
    forward = loss.njit(W, X, Y)

    @numba.njit
    def run(w, x, y):
        out = np.empty(len(y))
        for n in range(len(y)):
            out[n] = forward(w, x[: n + 1], y[: n + 1]) + 0 * value_and_grad(w, x[: n + 1], y[: n + 1])[0]
        return out

    expected = [np.mean((np.tanh(X[:n] @ W) - Y[:n]) ** 2) for n in range(1, 41)]
    np.testing.assert_allclose(run(W, X, Y), expected, rtol=1e-12)
    assert loss.stats.traces <= before + 1
    assert len(forward.signatures) == 1


def test_any_layout(value_and_grad):
    readonly = X.copy()
    readonly.flags.writeable = False
    expected = nt.value_and_grad(loss)(W, X, Y)

    @numba.njit
    def of_a_global(w, y):
        return value_and_grad(w, readonly, y)

    strided = np.repeat(X, 2, axis=0)[::2]
    for value, g in (
        value_and_grad(W, np.asfortranarray(X), Y), value_and_grad(W, strided, Y), value_and_grad(W, readonly, Y),
        of_a_global(W, Y),
    ):  # fmt: skip
        assert value == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(g, expected[1], rtol=1e-12)


@nt.jit
def scaled(x, k, how="sum", scale=2.0):
    total = np.sum(x) if how == "sum" else np.max(x)
    if total > 0:
        total = total * k
    for _ in range(k):
        total = total + scale
    return total, x * scale


@pytest.fixture(scope="module")
def embedded():
    return scaled.njit(np.ones(3), 2)


def test_numbers_defaults_and_tuples(embedded):
    total, twice = embedded(np.ones(4), 2)
    assert total == 12.0
    np.testing.assert_array_equal(twice, np.full(4, 2.0))


def test_a_guard_that_fails_is_an_error(embedded):
    with pytest.raises(ValueError, match=r"scaled: the branch on `x` went another way .* \(test_embed.py:\d+\)"):
        embedded(-np.ones(3), 2)
    with pytest.raises(ValueError, match=r"scaled: `k == 2` does not hold \(test_embed.py:\d+\)"):
        embedded(np.ones(3), 3)


def test_other_dtypes_are_refused_when_compiled(embedded):
    with pytest.raises(numba.TypingError, match=r"argument `x` was compiled as f64\[:\], but array\(float32"):
        embedded(np.ones(3, "f4"), 2)
    with pytest.raises(numba.TypingError, match=r"argument `k` was compiled as i64\[\], but float64 is passed"):
        embedded(np.ones(3), 2.0)


def test_an_index_out_of_range_is_an_error():
    embedded = nt.jit(lambda x, i: x[i] * 2).njit(np.ones(3), np.array([1, 2]))
    np.testing.assert_array_equal(embedded(np.arange(3.0), np.array([2, 0, 1])), [4.0, 0.0, 2.0])
    with pytest.raises(IndexError, match="out of range"):
        embedded(np.ones(3), np.array([3]))


def test_gradients_alone():
    embedded = nt.grad(loss).njit(W, X, Y)
    np.testing.assert_allclose(embedded(W, X, Y), nt.grad(loss)(W, X, Y), rtol=1e-12)


def test_what_cannot_be_embedded():
    captured = np.ones(3)
    variable = nt.Variable(1.0)

    def writes(x):
        x[0] = 1.0
        return x

    cases = [
        (lambda p: p["w"], ({"w": W},), TypeError, "argument `p` of <lambda> is a dict"),
        (lambda x: x * captured, (W,), nt.CaptureError, "reads `captured` from outside"),
        (lambda x: x * variable, (W,), nt.CaptureError, "from outside"),
        (writes, (W.copy(),), TypeError, "writes into an argument"),
        (lambda x: {"x": x}, (W,), TypeError, "returns dict"),
        (lambda x: (x, (x, x)), (W,), TypeError, "returns nested values"),
    ]
    for function, args, kind, text in cases:
        with pytest.raises(kind, match=text):
            nt.jit(function).njit(*args)
    with pytest.raises(nt.GradError, match="one scalar of a floating dtype"):
        nt.jit(lambda x: x * 2).njit_value_and_grad(W)


def test_embedding_records_once_and_shares_entries():
    runs = []

    @nt.jit
    def double(x):
        runs.append(1)
        return x * 2

    embedded = double.njit(np.ones(2))
    assert embedded(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    double(np.ones(4)), double.njit(np.ones(5))
    assert len(runs) == double.stats.traces == 1


def test_embedding_does_not_carry_out_writes():
    x = np.ones(2)
    with pytest.raises(TypeError, match="writes"):
        nt.jit(lambda x: x.fill(7.0)).njit(x)
    assert x.tolist() == [1.0, 1.0]
