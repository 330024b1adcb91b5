"""Lengths 0, 1, 2, … of one argument: one or two traces, and the right value and gradient for each."""

import numpy as np
import pytest

import numtape as nt

RNG = np.random.default_rng(3)
DATA = RNG.normal(size=200)
ROWS = RNG.normal(size=(200, 4))
WEIGHTS = np.array([0.3, -0.2, 0.5, 0.1])


def chain(x):
    return np.sum(np.tanh(x) * np.exp(-x * x) + 3 * x)


def chain_slope(x):
    t, e = np.tanh(x), np.exp(-x * x)
    return (1 - t * t) * e - 2 * x * t * e + 3


def products(a, w):
    return np.sum(np.sin(a @ w) ** 2)


def products_slope(a, w):
    return np.sin(2 * (a @ w))[:, None] * w[None, :]


def moving_average(y):
    padded = np.concatenate([np.zeros(2), y])
    means = (padded[2:] + padded[1:-1] + padded[:-2]) / 3
    return np.sum(means * means)


def moving_average_slope(y):
    padded = np.concatenate([np.zeros(2), y])
    means = (padded[2:] + padded[1:-1] + padded[:-2]) / 3
    ahead = np.concatenate([means, np.zeros(2)])
    return 2 * (ahead[2:] + ahead[1:-1] + ahead[:-2]) / 3


@pytest.mark.parametrize(
    ("f", "slope", "make"),
    [
        (chain, chain_slope, lambda n: (DATA[:n].copy(),)),
        (products, products_slope, lambda n: (ROWS[:n].copy(), WEIGHTS)),
        (moving_average, moving_average_slope, lambda n: (DATA[:n].copy(),)),
    ],
    ids=["chain", "matmul", "moving average"],
)
def test_lengths_from_0_to_200(f, slope, make):
    calls = [0]

    def body(*args):
        calls[0] += 1
        return f(*args)

    plain, both = nt.jit(f), nt.value_and_grad(f)
    counted = nt.jit(body)
    for n in range(201):
        args = make(n)
        want, want_slope = f(*args), slope(*args)
        np.testing.assert_allclose(plain(*args), want, rtol=1e-12, atol=1e-14)
        value, gradient = both(*args)
        np.testing.assert_allclose(value, want, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(gradient, want_slope, rtol=1e-11, atol=1e-13)
        assert gradient.shape == args[0].shape
        if n < 20:
            counted(*args)
    assert plain.stats.traces <= 2 and both.stats.traces <= 2
    assert plain.stats.compiles + plain.stats.disk_hits == plain.stats.traces
    assert calls[0] == counted.stats.traces <= 2, "the body runs once for each trace"
    assert plain.stats.calls == 201 and plain.stats.hits == 201 - plain.stats.traces


def test_equal_inputs_give_equal_bits_from_the_first_call_on():
    x = RNG.normal(size=1001)
    f = nt.value_and_grad(lambda x: np.sum(np.exp(np.sin(x)) / (1 + x * x)))
    first, second = f(x), f(x)
    assert first[0].tobytes() == second[0].tobytes()
    assert first[1].tobytes() == second[1].tobytes()


def test_a_growing_window_of_an_array_under_a_tape():
    x = nt.tensor(DATA[:20])
    f = nt.jit(moving_average)
    for n in range(1, 20):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = f(x[:n])
        g = tape.gradient(y, x)
        np.testing.assert_allclose(np.asarray(g)[:n], moving_average_slope(DATA[:n]), rtol=1e-11, atol=1e-13)
        assert not np.asarray(g)[n:].any()
    assert f.stats.traces <= 2


def test_a_size_that_happens_to_be_one_stretches_and_is_guarded():
    f = lambda x, k: np.sum(x[:k] * x)  # noqa: E731
    g, x = nt.grad(f), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(g(x, 1), [2 * 1 + 2 + 3, 1, 1])
    np.testing.assert_allclose(g(x, 3), 2 * x)
    square = nt.grad(lambda a: np.sum(a.reshape(-1) * np.ones(4)))
    np.testing.assert_allclose(square(np.array([[2.0]])), [[4.0]])
    np.testing.assert_allclose(square(np.ones((2, 2))), np.ones((2, 2)))
