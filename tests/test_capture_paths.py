"""Paths to captured values, the checks that hold an entry valid, and what is known of code without running it."""

import contextlib
import types

import numpy as np
import pytest
from captured import Seen

import numtape as nt
from numtape.tracer.capture import instrument
from numtape.tracer.codes import facts_of
from numtape.tracer.library import is_users_function
from numtape.tracer.paths import Check, alike, describe, resolve
from numtape.tracer.readers import compile_reader

SCALE = 2.0
users_module = types.ModuleType("users_own")
exec("import numpy as np\nk = 2.0\ndef h(x):\n    return x * k + np.zeros(len(x))", users_module.__dict__)


class Net:
    def __init__(self, k):
        self.k = k


def test_paths_read_as_the_user_writes():
    fake = Seen()
    params = {"w": np.ones(1)}
    net = Net(1.0)
    fake.run(lambda: (params["w"], net.k, SCALE, users_module.k))
    assert fake.paths == ["params['w']", "net.k", "SCALE", "users_module.k"]
    assert [fake.captures.label(i) for i in range(4)] == fake.paths


def test_readers_read_and_explain():
    def f():
        return SCALE, box["k"]

    box = {"k": 1.0}
    k = (("cell", "box", 0), ("item", "k"))
    log = [Check((("cell", "box", 0),), "keys", (dict, ["k"])), k, (("global", "SCALE"),)]
    read = compile_reader(log, [log[2], k])
    assert read(f) == [SCALE, 1.0]
    assert resolve(f, k) == 1.0
    box["k"] = 2.0
    assert read(f) == [SCALE, 2.0]
    box["j"] = 0
    assert read(f) == ("box", "a dict with keys ['k']", "keys ['k', 'j']")
    box.clear()
    assert read(f) == ("box", "a dict with keys ['k']", "keys []")
    box = 3
    assert read(f) == ("box", "a dict with keys ['k']", "3")
    assert describe(k) == "box['k']"
    assert compile_reader([], [k])(f) == ("box['k']", "a value", "gone")


@pytest.mark.parametrize(("a", "b", "same"), [
    ([1, "a"], [1, "a"], True), ([1], [1.0], False), ([True], [1], False), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
    ({1, 2}, {2, 1}, True), ({1}, {True}, False), ((1, (2,)), (1, (2,)), True), ("a", "a", True), (None, False, False),
])  # fmt: skip
def test_alike(a, b, same):
    assert alike(a, b) is same


def test_facts_of_code():
    n = 0

    def outer():
        def inner():
            nonlocal n
            n = 1

            class C:
                a = SCALE

            return C

        return inner

    facts = facts_of(outer.__code__)
    assert facts.copied
    assert list(facts.stored_cells) == ["n"]
    assert "SCALE" in facts.body_names
    assert not facts_of((lambda self: self.x).__code__).copied
    assert is_users_function(outer)
    assert not is_users_function(np.mean.__wrapped__)
    assert not is_users_function(contextlib.contextmanager)


def test_a_miss_names_what_changed():
    mode = "a"

    def f(x):
        return x * 2 if mode == "a" else x

    g = nt.jit(f)
    captures = Seen().captures
    instrument(f, captures)(1.0)
    read = captures.reader()
    assert read(f) == []
    mode = "b"
    assert read(f) == ("mode", "'a'", "'b'")
    assert g(1.0) == 1
