"""Stand-ins for NumPy, math and Python's own names: they agree with the real ones, and nobody else notices them."""

import math
import random
import threading

import numpy as np
import pytest
from captured import X, traces
from numpy import zeros
from numpy.linalg import norm

import numtape as nt
from numtape.tracer.errors import CaptureError


@pytest.mark.parametrize("body", [
    lambda x: np.array([x[0], 2.0, x[1]]) * 2, lambda x: np.full(3, x[0]), lambda x: np.zeros((len(x), 2)).sum() + x,
    lambda x: np.arange(len(x)) * x, lambda x: zeros(3) + x[0], lambda x: np.sin(0.5) * x,
    lambda x: x / norm([3.0, 4.0]), lambda x: np.float32(2.5) * x, lambda x: x * np.array([1.0, 2.0])[1],
    lambda x: np.eye(3) * x[0], lambda x: x.astype(float), lambda x: x.astype(np.float32),
    lambda x: np.zeros(2, dtype=int) + x[:2], lambda x: np.sum([x[0], x[1]]), lambda x: np.add([x[0], 1.0], 2),
    lambda x: np.maximum.reduce([x[0], x[1]]), lambda x: np.linalg.norm([x[0], x[1]]), lambda x: np.r_[0.0, x, 1:3],
    lambda x: np.c_[x, x], lambda x: np.finfo(x.dtype).eps + x, lambda x: np.fromiter((v * 2 for v in x), float),
    lambda x: np.fromfunction(lambda i, j: i * x[0] + j, (2, 3)), lambda x: np.mgrid[0:2, 0:3] * x[0],
    lambda x: float(x.sum()) * x, lambda x: int(x[1]) * x, lambda x: x[: int(len(x) / 2)], lambda x: round(x[0]) + x,
    lambda x: round(float(x[0]), 1) + x, lambda x: max(x[0], 2.0) + min(x[1], 0.0, x[2]), lambda x: max(len(x), 3) * x,
    lambda x: sum(x) + max(x) + min(x), lambda x: abs(x[0]) + x, lambda x: x if any(x > 1) and not all(x > 1) else -x,
    lambda x: math.sin(x[0]) + math.floor(x[1]) + math.sqrt(len(x)) * x, lambda x: math.log(x[1], 2) * x,
    lambda x: math.hypot(x[0], x[1], 1.0) + math.pi + math.prod([x[0], 2.0]) + math.fsum(x),
    lambda x: math.exp(1.0) * x,
    lambda x: x * isinstance(x, np.ndarray) + isinstance(x[0], float) + isinstance(x[0], np.floating | int),
    lambda x: x if type(x) is np.ndarray and type(x[0]) is np.float64 and type(len(x)) is int else -x,
    lambda x: x * np.isscalar(x[0]) + np.isscalar(x), lambda x: x.astype(np.float32) * math.sin(x[0]),
    lambda x: sum(v for _, v in np.ndenumerate(x[:2])), lambda x: x.sum() + sum(x[i] for (i,) in np.ndindex(2)),
    lambda x: x * np.prod((2, 3)) + np.random.default_rng(0).normal(size=4), lambda x: np.vstack([np.ones(4), x]),
    lambda x: (lambda *, dtype=np.float64: np.asarray(x, dtype))(), lambda x: np.dtype(float).itemsize * x,
    lambda x: x * {np.sin: 2.0}[np.sin] + (x.dtype == np.float64) + np.issubdtype(x.dtype, np.floating),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stand_ins_agree_with_numpy(body, dtype):
    x = np.array([0.25, 2.5, -1.0, 3.0], dtype=dtype)
    want, got = body(x), nt.jit(body)(x)
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert np.asarray(got).dtype == np.asarray(want).dtype
    assert np.shape(got) == np.shape(want)


def test_lengths_stay_symbolic():
    @nt.jit
    def f(x):
        return np.zeros(len(x)) + max(len(x), 2) * float(x.sum()) / len(x) + np.array([len(x)])

    for n in range(1, 9):
        np.testing.assert_allclose(f(np.ones(n)), max(n, 2) + n)
    assert traces(f) <= 2


def test_extremes_of_nan_follow_python():
    f, g = nt.jit(lambda x: max(x)), nt.jit(lambda x: min(x[0], x[1]))
    for x in ([np.nan, 1.0, 2.0], [1.0, np.nan, 2.0], [3.0, np.nan, 2.0], [0.0, -0.0, 0.0]):
        x = np.array(x)
        np.testing.assert_array_equal(f(x), max(x))
        np.testing.assert_array_equal(g(x), min(x[0], x[1]))
        assert np.signbit(g(x)) == np.signbit(min(x[0], x[1]))


@pytest.mark.parametrize("draw", [
    lambda: np.random.normal(), lambda: np.random.rand(3), lambda: np.random.seed(0), lambda: random.random(),
    lambda: random.gauss(0, 1), lambda: RNG.normal(), lambda: RNG.integers(3), lambda: OLD.rand(), lambda: DRAW(),
    lambda: np.random.default_rng().normal(), lambda: TICKET.random(), lambda: np.random.permutation(3),
])  # fmt: skip
def test_draws_are_refused(draw):
    state = np.random.get_state()[1].copy()
    with pytest.raises(CaptureError, match=r"random state.*test_standins.py(.|\n)*Pass the draws in as arguments"):
        nt.jit(lambda x: x + draw())(X)
    np.testing.assert_array_equal(state, np.random.get_state()[1])


RNG, OLD, TICKET, DRAW = np.random.default_rng(0), np.random.RandomState(0), random.Random(0), np.random.normal


def test_what_can_not_be_followed_is_refused_by_name():
    names, masked = np.array(["a", "b"]), np.ma.masked_array([1.0, 2.0])
    mixed = np.array([1.0, None])
    for body, text in [
        (lambda x: x * (names == "a").sum(), "`names` has dtype <U1"), (lambda x: x * masked, "`masked` is a numpy.ma"),
        (lambda x: x * mixed[0], "`mixed` has dtype object"), (lambda x: eval("x"), r"eval\(\) in a recorded function"),
    ]:  # fmt: skip
        with pytest.raises(CaptureError, match=text):
            nt.jit(body)(X)


def test_an_array_of_a_librarys_making_is_not_frozen():
    table = {1: np.ones(2)}.values()  # a view that holds an array where captures don't look
    with pytest.raises(CaptureError):
        nt.jit(lambda x: x[:2] * next(iter(table)))(X)


def test_libraries_and_other_threads_notice_nothing():

    found = []

    def f(x):
        thread = threading.Thread(target=lambda: found.append(type(np.zeros(2))))
        thread.start()
        thread.join()
        return x * sorted([1, 2], key=lambda v: -v)[0] + len(list(map(len, ["ab"])))

    real = np.zeros, math.sin, len
    np.testing.assert_array_equal(nt.jit(f)(X), X * 2 + 1)
    assert found == [np.ndarray]
    assert (np.zeros, math.sin, len) == real


def test_integer_functions_of_math_take_lengths():
    f = nt.jit(lambda x: x * math.comb(len(x), 2) + math.gcd(len(x), 6) + math.factorial(len(x)))
    for n in (3, 4, 3):
        assert f(np.ones(n))[0] == math.comb(n, 2) + math.gcd(n, 6) + math.factorial(n)
    assert traces(f) == 2
    with pytest.raises(CaptureError, match=r"math.lgamma of a traced value has no recorded form"):
        nt.jit(lambda x: math.lgamma(x))(2.0)


def test_match_statements_take_traced_values_for_what_they_are():
    def kind(item):
        match item:
            case float():
                return "float"
            case int():
                return "int"
            case np.ndarray():
                return "array"
        return "other"

    seen = []
    nt.jit(lambda x, k: (seen.extend([kind(x), kind(x[0]), kind(len(x)), kind(k), kind("a")]), x)[1])(X, 2.0)
    assert seen == ["array", "float", "int", "float", "other"]


def test_python_numbers_stay_weak():
    x = np.ones(3, np.float32)
    for f in (lambda x: x * float(x[0]), lambda x: x * math.exp(x[0]), lambda x: x * max(float(x[0]), 2.0)):
        assert nt.jit(f)(x).dtype == np.float32


def test_derivatives_pass_through_stand_ins():
    def f(x):
        return float(x[0]) * math.sin(x[1]) + max(x[0], x[1]) + sum(x) * np.array([x[2], 1.0])[0]

    x, h = np.array([0.5, 1.5, 2.0]), 1e-6
    want = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(nt.grad(f)(x), want, rtol=1e-7)
