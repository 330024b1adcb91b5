"""Captured objects and classes: attributes are read again, methods are copies, and all seem to be what they are."""

import abc
import collections
import dataclasses
import functools
import gc
import sys

import numpy as np
from captured import Seen, X, traces

import numtape as nt

SCALE = 2.0
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Params:
    w: np.ndarray
    b: float = 0.5

    def apply(self, x):
        return x * self.w + self.b * SCALE


class Base:
    offset = 1.0

    def __init__(self, k):
        self.k = k

    def scale(self, x):
        return x * self.k + self.offset

    @classmethod
    def make(cls, k):
        return cls(k)


class Net(Base):
    def scale(self, x):
        return super().scale(x) * SCALE + len(x)

    def __call__(self, x):
        return self.scale(x) + self.twice

    def __getitem__(self, i):
        return self.k * SCALE * i

    @property
    def twice(self):
        return 2 * self.k * SCALE

    @staticmethod
    def fixed(x):
        return x + SCALE

    def __eq__(self, other):
        return isinstance(other, Net) and self.k == other.k

    __hash__ = None


def test_objects_are_read_attribute_by_attribute(monkeypatch):
    net = Net(2.0)
    f = nt.jit(lambda x: net(x) + net[3] + net.fixed(x) + Net.fixed(x) + Net.offset)

    def want():
        return net(X) + net[3] + 2 * net.fixed(X) + Net.offset

    np.testing.assert_allclose(f(X), want())
    net.k = 5.0
    np.testing.assert_allclose(f(X), want())
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 7.0)
    monkeypatch.setattr(Base, "offset", 3.0)
    np.testing.assert_allclose(f(X), want())
    assert traces(f) == 1
    net.k = np.full(4, 3.0)
    np.testing.assert_allclose(f(X), want())
    assert traces(f) == 2


def test_what_an_object_seems_to_be():
    net = Net(2.0)

    def f(x):
        assert isinstance(net, Net)
        assert type(net) is Net
        assert net.__class__ is Net
        assert not hasattr(net, "bias")
        assert net in [net]
        assert {Net: 1}[type(net)] == 1
        assert issubclass(type(net), Base)
        fresh = Net.make(3.0)
        assert type(fresh) is Net and isinstance(fresh, Net)
        return x * fresh.k * fresh.twice, fresh

    result, fresh = Seen().run(f, 1.0)
    assert result == 3.0 * 6 * SCALE
    assert type(fresh) is Net


def test_an_attribute_that_appears_is_noticed():
    net = Net(2.0)
    f = nt.jit(lambda x: x * getattr(net, "bias", 1.0))
    assert f(3.0) == 3
    net.bias = 2.0
    assert f(3.0) == 6


def test_jit_on_methods():
    class Model:
        def __init__(self, w):
            self.w = w

        @nt.jit
        def predict(self, x):
            return np.zeros(len(x)) + self.helper(x)

        def helper(self, x):
            return x * self.w * SCALE

    a, b = Model(1.0), Model(np.full(4, 2.0))
    np.testing.assert_array_equal(a.predict(X), X * SCALE)
    np.testing.assert_array_equal(b.predict(X), X * 2 * SCALE)
    a.w = 3.0
    np.testing.assert_array_equal(a.predict(X), X * 3 * SCALE)
    assert Model.predict.stats.traces == 2


def test_slots_dataclasses_and_abstract_classes():

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def run(self, x): ...

    class Slotted(Abstract):
        __slots__ = ("k",)

        def __init__(self, k):
            self.k = k

        def run(self, x):
            return x * self.k * SCALE

    subclasses = []

    class Registered(Base):
        def __init_subclass__(cls):
            subclasses.append(cls)

        def scale(self, x):
            return x * self.k * SCALE

    class Child(Registered):
        pass

    slotted, params, child = Slotted(2.0), Params(np.ones(4)), Child(2.0)
    f = nt.jit(lambda x: slotted.run(x) + params.apply(x) + child.scale(x))

    def want():
        return slotted.run(X) + params.apply(X) + child.scale(X)

    np.testing.assert_array_equal(f(X), want())
    slotted.k, params.b, child.k = 5.0, 2.0, 7.0
    np.testing.assert_array_equal(f(X), want())
    assert traces(f) == 1
    assert subclasses == [Child]


def test_dataclasses_come_back_as_themselves():
    params = Params(np.ones(4), 2.0)

    @nt.jit
    def f(x):
        return params, Params(x * 2, 3.0), Point(x, 1.0)

    same, made, point = f(X)
    assert type(same) is type(made) is Params
    assert type(point) is Point
    np.testing.assert_array_equal(made.w, X * 2)
    np.testing.assert_array_equal(made.apply(1.0), X * 2 + 3 * SCALE)


def test_finalizers_do_not_run_for_stand_ins():
    closed = []

    class Resource:
        k = 2.0

        def __init__(self):
            self.scale = 1.0

        def __del__(self):
            closed.append(1)

    resource = Resource()
    f = nt.jit(lambda x: x * resource.scale * resource.k)
    assert f(1.0) == 2
    f.clear_cache()

    gc.collect()
    assert not closed
    assert resource.scale == 1


def test_partials_methods_callables_and_caches():
    w = np.ones(4)
    net = Net(2.0)

    def base(x, a, b):
        return x * a + b * w

    @functools.lru_cache
    def cached(k):
        return k * w[0]

    half = functools.partial(base, a=0.5)
    bound = net.scale
    for f, kwargs in [
        (nt.jit(lambda x: half(x, b=SCALE)), {}), (nt.jit(half), {"b": 2.0}), (nt.jit(bound), {}), (nt.jit(net), {}),
        (nt.jit(lambda x: bound(x) + cached(2)), {}), (nt.jit(functools.partial(bound)), {}),
    ]:  # fmt: skip
        first = f(X, **kwargs)
        w *= 3
        net.k += 1
        second = f(X, **kwargs)
        assert not np.array_equal(first, second)
        assert traces(f) == 1
        w /= 3
        net.k -= 1


def test_dataclasses_among_the_arguments_have_copied_methods(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Frozen:
        w: np.ndarray
        b: float = 0.5
        apply = Params.apply

    for params in (Params(np.ones(4), 2.0), Frozen(np.ones(4), 2.0)):
        f = nt.jit(lambda p, x: np.zeros(len(x)) + p.apply(x))
        np.testing.assert_array_equal(f(params, X), params.apply(X))
        monkeypatch.setattr(sys.modules[__name__], "SCALE", 7.0)
        np.testing.assert_array_equal(f(params, X), params.apply(X))
        assert traces(f) == 1
        assert type(params) in (Params, Frozen)


def test_single_dispatch_goes_by_what_numpy_would_pass():
    @functools.singledispatch
    def kind(x):
        return -1.0

    @kind.register
    def _(x: np.ndarray):
        return x * SCALE

    @kind.register
    def _(x: float):
        return x * 10

    class Chooser:
        @functools.singledispatchmethod
        def run(self, x):
            return -1.0

        @run.register
        def _(self, x: np.ndarray):
            return x + SCALE

    chooser = Chooser()
    np.testing.assert_array_equal(nt.jit(lambda x: kind(x) + chooser.run(x))(X), X * SCALE + X + SCALE)
    assert nt.jit(lambda x: kind(x))(2.0) == 20.0


def test_objects_refer_to_each_other(monkeypatch):
    a, b = Net(1.0), Net(2.0)
    a.other, b.other, a.parts = b, a, {"b": b}
    f = nt.jit(lambda x: x * a.other.other.k + a.parts["b"].k + (a.parts["b"] is a.other))
    assert f(3.0) == 6
    a.k, b.k = 5.0, 7.0
    assert f(3.0) == 23
    assert traces(f) == 1
    a.parts["b"] = Net(1.0)
    assert f(3.0) == 16
