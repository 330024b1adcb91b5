"""What a recorded body may write: counters and logs are the user's own, traced values may not outlive the recording."""

import sys
import types
from types import SimpleNamespace

import numpy as np
import pytest
from captured import X, traces

import numtape as nt
from numtape.tracer.errors import CaptureError

users_module = types.ModuleType("users_own")
users_module.k = 2.0


class Net:
    def __init__(self, k):
        self.k = k


calls = 0


def test_counters_and_logs_are_the_users_own():
    log, counter, seen = [], {"n": 0}, set()
    inside = 0

    def f(x):
        global calls
        nonlocal inside
        calls += 1
        inside += 1
        counter["n"] += 1
        log.append("call")
        seen.add(1)
        return x * 2

    g = nt.jit(f)
    before = calls
    for n in (3, 4, 5):
        g(np.ones(n))
    g(np.ones(3, dtype=np.float32))
    for n in (3, 4, 5):
        g(np.ones(n))
    assert (calls - before, inside, counter, log, seen) == (2, 2, {"n": 2}, ["call"] * 2, {1})
    assert type(calls) is int
    assert traces(g) == 2


def test_a_log_that_holds_floats_goes_on():
    times = [0.25]

    def f(x):
        times.append(1.5)
        return x * times[0]

    g = nt.jit(f)
    assert g(2.0) == 0.5
    assert times == [0.25, 1.5]
    assert all(type(t) is float for t in times)


def _leak_global(x):
    global leaked
    leaked = x * 2
    return x


@pytest.mark.parametrize("kind", ["global", "nonlocal", "list", "dict", "lifted list", "attribute", "module", "item"])
def test_a_traced_value_may_not_outlive_the_recording(kind):
    out, table, arrays, box, cell = [], {}, [np.ones(2)], SimpleNamespace(v=1.0), None
    net = Net(1.0)

    def into_cell(x):
        nonlocal cell
        cell = x * 2

    def into_module(x):
        sys.modules[__name__].leaked = x

    body = {
        "global": _leak_global, "nonlocal": into_cell, "list": lambda x: out.append(x * 2),
        "dict": lambda x: table.update(a=x * 2), "lifted list": lambda x: arrays.append(x * 2),
        "attribute": lambda x: setattr(net, "k", x * 2), "module": lambda x: setattr(users_module, "k", x * 2),
        "item": lambda x: setattr(box, "v", x * 2),
    }[kind]  # fmt: skip
    with pytest.raises(CaptureError, match=r"traced value|only while recording") as error:
        nt.jit(lambda x: (body(x), x)[1])(X)
    if kind not in ("list", "dict", "lifted list", "item", "attribute", "module"):
        assert "test_capture_writes.py:" in str(error.value)
    assert (out, table, len(arrays), box.v, cell, net.k) == ([], {}, 1, 1.0, None, 1.0)
    assert "leaked" not in globals()


def test_the_line_of_a_leak_is_named():
    out = []

    def f(x):
        y = x * 2
        out.append(y)
        return x

    line = f.__code__.co_firstlineno + 2
    with pytest.raises(CaptureError, match=rf"changes the captured `out`.*test_capture_writes.py:{line}"):
        nt.jit(f)(X)


def test_numbers_written_to_attributes_are_refused_and_names_are_not():
    net = Net(2.0)

    def count(x):
        net.k = 3.0
        return x

    with pytest.raises(CaptureError, match=r"`net.k = \.\.\.` would happen only while recording"):
        nt.jit(count)(X)

    def name(x):
        net.mode = "on"
        net.done = True
        return x * net.k

    assert nt.jit(name)(1.0) == 2
    assert (net.mode, net.done) == ("on", True)


def test_variables_may_be_made_on_the_first_call():
    class Layer:
        def __init__(self):
            self.w = None

        def __call__(self, x):
            if self.w is None:
                self.w = nt.Variable([1.0] * 4)
            return x * self.w

    layer = Layer()
    f = nt.jit(lambda x: layer(x).sum())
    assert f(X) == X.sum()
    layer.w.assign(2 * np.ones(4))
    assert f(X) == 2 * X.sum()


def test_an_exception_keeps_what_was_counted_before_it():
    counter = {"n": 0}

    def f(x):
        counter["n"] += 1
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            nt.jit(f)(X)
    assert counter == {"n": 2}
