"""The short way of calls with more than arrays: methods, Variables, arguments that are part of the signature."""

import gc
import weakref

import numpy as np
import pytest
from short_calls import is_short

import numtape as nt
from numtape.runtime.build import chosen

pytestmark = pytest.mark.skipif(chosen() != "llvm", reason="the short way is the native one")
x = np.arange(1.0, 5.0)


class Model:
    def __init__(self, k=2.0):
        self.w, self.k = np.ones(4), k

    @nt.jit
    def loss(self, x):
        return np.sum(self.w * x) * self.k


def test_methods_read_their_object_at_each_call():
    one, other = Model(), Model(5.0)
    for _ in range(3):
        assert one.loss(x) == 20 and other.loss(x) == 50
    assert is_short(Model.loss)
    one.w = np.full(4, 3.0)
    assert one.loss(x) == 60 and other.loss(x) == 50
    one.w[0] = 0
    one.k = 1.0
    assert one.loss(x) == 27
    one.w = one.w.astype("float32")
    assert one.loss(x) == 27 and other.loss(x) == 50
    one.k = 2
    assert one.loss(x) == 54
    assert Model.loss.stats.calls == Model.loss.stats.hits + Model.loss.stats.traces


def test_a_lane_keeps_no_object_alive():
    model = Model()
    for _ in range(3):
        model.loss(x)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert Model().loss(x) == 20


def test_variables_are_read_at_each_call_and_seen_by_tapes():
    weight = nt.Variable(np.ones(4))
    scale = nt.Variable(2.0)
    f = nt.jit(lambda x: np.sum(weight * x) * scale)
    for _ in range(3):
        assert f(x) == 20
    assert is_short(f)
    weight.assign_add(np.ones(4))
    scale.assign(0.5)
    assert f(x) == 10
    with nt.GradientTape() as tape:
        value = f(x)
    assert isinstance(value, nt.Tensor) if hasattr(nt, "Tensor") else value.numpy() == 10
    np.testing.assert_array_equal(tape.gradient(value, weight), 0.5 * x)
    assert f(x) == 10 and type(f(x)) is np.float64


def test_static_arguments_have_to_be_the_same():
    f = nt.jit(lambda x, mode, flip=False: (x * 2 if mode == "double" else x * 3)[:: -1 if flip else 1])
    for _ in range(3):
        for mode in ("double", "triple", "".join(["dou", "ble"])):
            for flip in (True, False):
                want = (x * (2 if mode == "double" else 3))[:: -1 if flip else 1]
                np.testing.assert_array_equal(f(x, mode, flip), want)
        np.testing.assert_array_equal(f(x, "double"), x * 2)
    assert is_short(f)
    assert f.stats.traces == 4


def test_functions_and_objects_as_arguments():
    apply = nt.jit(lambda g, x: g(x))

    def double(x):
        return 2 * x

    def triple(x):
        return 3 * x

    for _ in range(3):
        np.testing.assert_array_equal(apply(double, x), 2 * x)
        np.testing.assert_array_equal(apply(triple, x), 3 * x)
        np.testing.assert_array_equal(apply(lambda x: x - 1, x), x - 1)


def test_inside_of_a_recording_nothing_takes_the_short_way():
    weight = nt.Variable(np.ones(4))
    inner = nt.jit(lambda x: np.sum(weight * x))
    for _ in range(3):
        inner(x)
    outer = nt.jit(lambda x: inner(x) + inner(np.ones(4)))
    assert outer(x) == 14
    weight.assign(np.full(4, 2.0))
    assert outer(x) == 28
