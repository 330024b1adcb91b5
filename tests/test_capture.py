"""Captured values are never stale: closures, globals, defaults, containers and modules are read again at each call."""

import argparse
import collections
import concurrent.futures
import contextlib
import dataclasses
import functools
import gc
import math
import sys
import types
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from captured import Seen, X, traces

import numtape as nt
from numtape.tracer.errors import CaptureError

users_module = types.ModuleType("users_own")
exec("import numpy as np\nk = 2.0\ndef h(x):\n    return x * k + np.zeros(len(x))", users_module.__dict__)


# -- numbers and arrays ------------------------------------------------------------------------------------------------

SCALE, COUNT, WEIGHTS = 2.0, 3, np.array([1.0, 2.0, 3.0, 4.0])


def test_globals_are_read_again(monkeypatch):
    f = nt.jit(lambda x: SCALE * x * COUNT + WEIGHTS)
    module = sys.modules[__name__]
    np.testing.assert_array_equal(f(X), SCALE * X * COUNT + WEIGHTS)
    monkeypatch.setattr(module, "SCALE", 5.0)
    monkeypatch.setattr(module, "COUNT", 7)
    monkeypatch.setattr(module, "WEIGHTS", np.ones(4))
    np.testing.assert_array_equal(f(X), 5.0 * X * 7 + 1)
    assert traces(f) == 1
    monkeypatch.setattr(module, "COUNT", 0.5)
    np.testing.assert_array_equal(f(X), 5.0 * X * 0.5 + 1)
    assert traces(f) == 2


def test_an_array_changed_in_place_is_seen():
    w = np.ones(4)
    f = nt.jit(lambda x: x * w)
    assert f(X)[0] == 1
    w[0] = 9
    assert f(X)[0] == 9
    assert traces(f) == 1


def test_functions_of_one_code_share_entries():
    def make(k):
        return nt.jit(lambda x: x * k)

    fs = [make(float(k)) for k in range(5)]
    assert [f(X)[0] for f in fs] == [0, 1, 2, 3, 4]
    assert sum(map(traces, fs)) == 1


def test_cells_defaults_and_keyword_defaults():
    a, b = np.array([1.0]), 2.0

    def helper(x, w=a, *, k=b):
        return x * w + k

    f = nt.jit(lambda x: helper(x))
    assert f(2.0)[0] == 4
    a[0] = 3
    assert f(2.0)[0] == 8
    helper.__kwdefaults__ = {"k": 5.0}
    assert f(2.0)[0] == 11
    assert traces(f) == 1


def test_recursion_and_mutual_recursion():
    k = 2.0

    def even(n, x):
        return x if n == 0 else odd(n - 1, x * k)

    def odd(n, x):
        return even(n - 1, x + k)

    f = nt.jit(lambda x: even(4, x))
    want = even(4, 1.0)
    assert f(1.0) == want
    k = 3.0
    assert f(1.0) == even(4, 1.0) != want


def test_a_cell_that_is_empty_raises_as_in_python():
    def make():
        def f(x):
            return x * later

        g = nt.jit(f)
        with pytest.raises(NameError):
            g(1.0)
        later = 2.0
        return g

    assert make()(3.0) == 6


def test_generators_and_comprehensions():
    ks = (1.0, 2.0)

    def parts(x):
        for k in ks:
            yield x * k

    f = nt.jit(lambda x: sum(p + SCALE for p in parts(x)) + sum([SCALE * x for _ in range(2)]))
    assert f(1.0) == 3 + 2 * SCALE + 2 * SCALE


def test_captured_tensors_are_read_again():
    t = nt.tensor([1.0, 2.0, 3.0, 4.0])
    f = nt.jit(lambda x: x * t)
    np.testing.assert_array_equal(f(X), X * X)
    t = nt.tensor(np.ones(4))
    np.testing.assert_array_equal(f(X), X)
    assert traces(f) == 1


def test_int_as_size_and_exponent():
    n = 2

    def f(x):
        return np.zeros(n).shape[0] + x**n

    g = nt.jit(f)
    assert g(3.0) == 11
    n = 3
    assert g(3.0) == 30


# -- containers --------------------------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Params:
    w: np.ndarray
    b: float = 0.5

    def apply(self, x):
        return x * self.w + self.b * SCALE


def test_nested_containers_are_read_again():
    params = {"w": np.ones(4), "layers": [(np.ones(4), 2.0), (np.ones(4), 3.0)], "name": "net"}
    f = nt.jit(lambda x: x * params["w"] + sum(a * k for a, k in params["layers"]))
    assert f(X)[0] == 6
    params["w"] = 5 * np.ones(4)
    params["layers"][1] = (np.ones(4), 10.0)
    assert f(X)[0] == 17
    assert traces(f) == 1
    params["layers"].append((np.ones(4), 1.0))
    assert f(X)[0] == 18
    params["layers"][0] = (1.0, 1.0)
    assert f(X)[0] == 17
    assert traces(f) == 3


def test_containers_keep_their_type():
    seen = {}
    things = [
        Point(np.ones(2), 1.0), collections.OrderedDict(a=1.0), collections.defaultdict(float, a=1.0),
        collections.deque([1.0], 5), types.MappingProxyType({"a": 1.0}), SimpleNamespace(a=1.0),
        argparse.Namespace(a=1.0), Params(np.ones(2)), [1.0], (1.0,), {"a": 1.0},
    ]  # fmt: skip

    def body():
        for thing in things:
            seen[type(thing).__name__] = thing
        return list(things)

    fake = Seen()
    given = fake.run(body)
    for thing, got in zip(things, given, strict=True):
        assert type(got) is type(thing)
        assert got is not thing
        assert repr(got) == repr(thing)
    assert {"things[0].x", "things[1]['a']", "things[5].a", "things[7].b", "things[8][0]"} <= set(fake.paths)


def test_plain_containers_are_part_of_the_program():
    sizes, seen = [1, 2], (1, "a")
    f = nt.jit(lambda x: x.sum() * len(sizes) + sizes[0] + seen[0])
    assert f(X) == 22
    sizes.append(3)
    assert f(X) == 32
    assert traces(f) == 2
    sizes.pop()
    assert f(X) == 22
    assert traces(f) == 2


def test_a_dict_that_holds_itself():
    tree = {"w": np.ones(4)}
    tree["self"] = tree
    f = nt.jit(lambda x: x * tree["self"]["self"]["w"])
    assert f(X)[1] == 2


# -- functions of all kinds --------------------------------------------------------------------------------------------


def scaled(x):
    return x * SCALE + len(x)


def test_helpers_are_copied(monkeypatch):
    f = nt.jit(lambda x: scaled(x))
    f(X)
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 10.0)
    np.testing.assert_array_equal(f(X), X * 10 + 4)
    monkeypatch.setattr(sys.modules[__name__], "scaled", lambda x: x - SCALE)
    np.testing.assert_array_equal(f(X), X - 10)
    assert traces(f) == 2


def test_functions_of_the_users_modules():
    f = nt.jit(lambda x: users_module.h(x) * users_module.k)
    np.testing.assert_array_equal(f(X), X * 4)
    users_module.k = 3.0
    np.testing.assert_array_equal(f(X), X * 9)
    users_module.k = 2.0
    assert traces(f) == 1


def test_wraps_and_contextmanager():
    k = 2.0

    def twice(function):
        @functools.wraps(function)
        def wrapper(*args):
            return function(*args) * k

        return wrapper

    @twice
    def inner(x):
        return x + k

    @contextlib.contextmanager
    def shifted():
        yield k

    @nt.jit
    def f(x):
        with shifted() as by:
            return inner(x) + by

    assert f(1.0) == 8
    k = 3.0
    assert f(1.0) == 15
    assert traces(f) == 1


def test_nested_functions_and_classes_made_in_the_body():
    k = 2.0

    def f(x):
        class Local:
            scale = SCALE

            def run(self, y):
                return y * k * self.scale

        def inner(y):
            return Local().run(y) + k

        return inner(x)

    g = nt.jit(f)
    assert g(1.0) == 2 * SCALE + 2
    k = 3.0
    assert g(1.0) == 3 * SCALE + 3
    assert traces(g) == 1


def test_imports_inside_the_body():
    def f(x):
        import math as m

        import numpy as numpy_again
        from numpy import ones

        return numpy_again.zeros(len(x)) + ones(3).sum() + m.sin(x[0])

    g = nt.jit(f)
    for n in (2, 3, 9):
        np.testing.assert_allclose(g(np.ones(n)), 3 + math.sin(1))
    assert traces(g) == 1


def test_inner_transforms_read_captures_again():
    k = 2.0
    inner = nt.jit(lambda x: x * x * k)
    f = nt.jit(lambda x: nt.grad(inner)(x) + inner(x))
    g = nt.grad(inner)
    assert (f(3.0), g(3.0)) == (30, 12)
    k = 10.0
    assert (f(3.0), g(3.0)) == (150, 60)
    assert nt.hessian(inner)(3.0) == 20
    assert nt.hvp(inner)(3.0, 1.0) == 20


def test_a_function_returned_keeps_no_stand_ins():
    def f(x):
        def later(y):
            return np.zeros(2) + y * SCALE

        return x, later, scaled, np.sin, math.sin, float

    _, later, helper, sin, msin, kind = nt.jit(f)(1.0)
    assert (helper, sin, msin, kind) == (scaled, np.sin, math.sin, float)
    assert later.__globals__ is globals()
    assert type(later(1.0)) is np.ndarray

    def g(x):
        return x, lambda: x * 2

    with pytest.raises(CaptureError, match="keeps a traced value"):
        nt.jit(g)(1.0)


def test_an_entry_keeps_no_captured_array_alive():
    def make():
        w = np.ones(4)
        helper = nt.jit(lambda x: x * w)
        f = nt.jit(lambda x: helper(x) + w)
        f(X)
        return f, weakref.ref(w)

    f, w = make()
    assert w() is not None
    del f
    gc.collect()
    assert w() is None


def test_each_recording_of_many_threads_has_its_own_captures():
    k = 2.0

    def helper(x):
        return x * k + len(x)

    def work(n):
        f = nt.jit(lambda x: np.zeros(n).sum() + helper(x))
        return f(np.ones(n))[0]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(1, 17))) == [2.0 + n for n in range(1, 17)]
