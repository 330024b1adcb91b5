"""Captured values are never stale; side effects and random draws while recording."""

import functools
import math
import warnings

import numpy as np
import pytest

import numtape as nt

SCALE = 2.0
WEIGHTS = np.array([1.0, 2.0, 3.0])
PARAMS = {"w": np.array([1.0, 2.0, 3.0]), "layers": [np.ones(3), 0.5]}
COUNTER = {"n": 0}
CALLS = 0


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", nt.RetraceWarning)
        yield


def test_rt23_globals_are_never_stale():
    global SCALE
    f = nt.jit(lambda x: x * SCALE)
    assert f(1.0) == 2.0
    SCALE = 5.0
    try:
        assert f(1.0) == 5.0 and f.stats.traces == 1
    finally:
        SCALE = 2.0


def test_captured_arrays_are_read_again():
    f = nt.jit(lambda x: np.sum(np.exp(WEIGHTS) * x))
    x = np.ones(3)
    np.testing.assert_allclose(f(x), np.exp(WEIGHTS).sum())
    WEIGHTS[0] = 7.0
    try:
        np.testing.assert_allclose(f(x), np.exp(WEIGHTS).sum())
        assert f.stats.traces == 1
    finally:
        WEIGHTS[0] = 1.0


def test_captured_containers_are_read_again():
    f = nt.jit(lambda x: np.sum(PARAMS["w"] * x) + PARAMS["layers"][1])
    x = np.ones(3)
    assert f(x) == 6.5
    PARAMS["w"] = np.array([10.0, 0, 0])
    PARAMS["layers"][1] = 1.5
    try:
        assert f(x) == 11.5 and f.stats.traces == 1
    finally:
        PARAMS["w"], PARAMS["layers"][1] = np.array([1.0, 2.0, 3.0]), 0.5


def test_closures_and_rebinding():
    w = np.ones(2)

    def f(x):
        return x @ w

    g = nt.jit(f)
    assert g(np.ones(2)) == 2.0
    w = np.full(2, 3.0)
    assert g(np.ones(2)) == 6.0 and g.stats.traces == 1
    w = np.full(2, 3.0, np.float32)
    assert g(np.ones(2)) == 6.0 and g.stats.traces == 2


class Model:
    def __init__(self):
        self.w = np.ones(2)
        self.k = 2.0
        self.calls = 0

    def predict(self, x):
        self.calls += 1
        return self.scale(x @ self.w)

    def scale(self, y):
        return y * self.k

    @nt.jit
    def method(self, x):
        return np.sum(x * self.w) * self.k


def test_objects_and_methods():
    model = Model()
    f = nt.jit(model.predict)
    assert f(np.ones(2)) == 4.0
    model.w[:] = 5.0
    model.k = 1.0
    assert f(np.ones(2)) == 10.0 and f.stats.traces == 1
    assert model.calls == 1
    assert model.method(np.ones(2)) == 10.0
    model.w = np.array([1.0, 0.0])
    assert model.method(np.ones(2)) == 1.0


def test_bound_methods_as_arguments():
    model = Model()
    f = nt.jit(lambda step, x: step(x))
    for _ in range(3):
        assert f(model.scale, 3.0) == 6.0
    assert f.stats.traces == 1


def test_partials_and_lambdas():
    def scaled(k, x):
        return x * k

    f = nt.jit(functools.partial(scaled, np.array([2.0])))
    assert f(np.ones(1)).tolist() == [2.0]
    assert nt.grad(functools.partial(scaled, 3.0))(2.0) == 3.0


def test_counters_in_the_body_count_traces():
    def f(x):
        global CALLS
        CALLS += 1
        COUNTER["n"] += 1
        return x * 2

    global CALLS
    CALLS, COUNTER["n"] = 0, 0
    g = nt.jit(f)
    for n in range(5):
        g(np.ones(n))
    assert CALLS == 1 and COUNTER["n"] == 1 and g.stats.traces == 1


def test_what_protocols_cannot_see():
    table = np.arange(6.0).reshape(2, 3)

    def f(x):
        out = np.zeros(3)
        out[0] = x[0]
        out[1:] = x[1:] * 2
        pair = np.array([x[0], 2 * x[1], math.sin(x[2])])
        return out @ pair + float(x.sum()) * table.T.dot(x[:2]).sum()

    x = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(nt.jit(f)(x), f(x))
    g, h = nt.grad(f)(x), 1e-6
    want = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(g, want, rtol=1e-7)


def test_random_draws_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(TypeError, match="random"):
        nt.jit(lambda x: x + np.random.normal())(1.0)
    with pytest.raises(TypeError, match="random"):
        nt.jit(lambda x: x + rng.normal())(1.0)


def test_writes_that_would_outlive_the_recording_are_refused():
    model, box = Model(), {"w": np.ones(1)}

    def keep(x):
        model.last = x * 2
        return x

    def put(x):
        box["w"] = x
        return x

    with pytest.raises(TypeError, match="outlive"):
        nt.jit(keep)(np.ones(1))
    with pytest.raises(TypeError, match="changes"):
        nt.jit(put)(np.ones(1))
