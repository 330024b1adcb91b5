"""Captured values, numbers and texts that recordings once took wrongly."""

import enum
import itertools
import threading

import numpy as np
import pytest
from near import agree, jit

import numtape as nt

X = np.array([1.0, 2.0, 3.0])


# -- what is captured is never stale ---------------------------------------------------------------------------------


def test_a_set_of_numbers_is_read_again():
    numbers = {1.0, 2.0}
    f = jit(lambda x: x * sum(numbers))
    np.testing.assert_allclose(f(X), 3 * X)
    numbers.add(5.0)
    np.testing.assert_allclose(f(X), 8 * X)


def test_minus_zero_is_another_default():
    def make(zero):
        def inner(x, sign=zero):
            return np.copysign(x, sign)

        return jit(lambda x: inner(x))

    np.testing.assert_allclose(make(0.0)(X), X)
    np.testing.assert_allclose(make(-0.0)(X), -X)


def test_iterators_are_refused():
    steps = itertools.count(1)
    with pytest.raises(TypeError, match="reads on in the iterator `steps`"):
        jit(lambda x: x * next(steps))(X)


def test_numbers_of_objects_that_are_handed_out_as_they_are():
    class Own:
        def __getattribute__(self, name):
            return object.__getattribute__(self, name)

    own, local = Own(), threading.local()
    own.k, local.k = 2.0, 3.0
    f = jit(lambda x: x * own.k * local.k)
    np.testing.assert_allclose(f(X), 6 * X)
    own.k = 5.0
    np.testing.assert_allclose(f(X), 15 * X)
    local.k = 1.0
    np.testing.assert_allclose(f(X), 5 * X)


def test_an_attribute_that_hides_the_class_s_later():
    class Model:
        k = 2.0

        def scale(self, x):
            return x * self.k

    model = Model()
    f = jit(lambda x: model.scale(x))
    np.testing.assert_allclose(f(X), 2 * X)
    model.k = 5.0
    np.testing.assert_allclose(f(X), 5 * X)
    model.scale = lambda x: -x
    np.testing.assert_allclose(f(X), -X)


def test_truth_of_a_captured_object():
    class Switch:
        def __init__(self, level):
            self.level = level

        def __bool__(self):
            return self.level > 3

    switch = Switch(2.0)
    f = jit(lambda x: x if switch else -x)
    np.testing.assert_allclose(f(X), -X)
    switch.level = 9.0
    np.testing.assert_allclose(f(X), X)


def test_globals_asked_for_by_name(monkeypatch):
    def given(x):
        return x * globals().get("LATER", 1.0)

    def caught_name(x):
        try:
            return x * LATER
        except NameError:
            return x

    def asked(x):
        return x * 3 if "LATER" in globals() else x

    functions = [jit(f) for f in (given, caught_name, asked)]
    for f in functions:
        np.testing.assert_allclose(f(X), X)
    monkeypatch.setitem(globals(), "LATER", 3.0)
    for f in functions:
        np.testing.assert_allclose(f(X), 3 * X)


def test_defaults_that_are_given_anew():
    def f(x, k=2.0, *, shift=0.0):
        return x * k + shift

    g = jit(f)
    np.testing.assert_allclose(g(X), f(X))
    f.__defaults__ = (7.0,)
    np.testing.assert_allclose(g(X), f(X))
    f.__kwdefaults__["shift"] = 1.0
    np.testing.assert_allclose(g(X), f(X))


def test_printing_a_length_is_no_retrace(capsys):
    def f(x):
        print("length", len(x), x.shape)
        return x * 2

    agree(f, (np.ones(2),), (np.ones(3),), (np.ones(7),), traces=1)
    assert capsys.readouterr().out.splitlines()[0] == "length 2 (2,)"


def test_numbers_of_subclasses_are_strong_as_in_numpy():
    class Level(enum.IntEnum):
        LOW = 2

    class Meters(float):
        pass

    for number in (Level.LOW, Meters(2.5)):
        for x in (np.ones(2, np.float32), np.arange(3, dtype=np.int8)):
            result, expected = jit(lambda x, n=number: x * n)(x), x * number
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected)


# -- integers: Python's have no end ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lambda k: k * k * k, (3, 2**40, -(2**50), 7)),
        (lambda k: k**30, (3, 10, -3)),
        (lambda k: k << 40, (3, 2**40)),
        (lambda k: 2**k, (3, 62, 64, 100, -1)),
        (lambda k: k**-1, (2, -4)),
        (lambda k: k + 1, (3, 2**63 - 1)),
        (lambda k: 5 * k - 4 * k, (2, 2**61)),
        (lambda k: abs(k), (-3, -(2**63))),
        (lambda k: (k + 3) * (2**62), (-3, 1)),
        (lambda k: k > 5 or k * k > 5, (-2, 2**33)),
    ],
)
def test_integers_beyond_64_bits(function, numbers):
    for order in (numbers, numbers[::-1]):
        f = jit(function)
        for k in order:
            assert f(k) == function(k)


def test_slices_by_integers_beyond_64_bits():
    f = nt.jit(lambda x, k: x[: k * k])
    for k in (1, 2**40, 2):
        np.testing.assert_array_equal(f(X, k), X[: k * k])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
@pytest.mark.parametrize("backend", ["interpreter", "numba"])
def test_narrow_integers_with_numbers_of_the_call(dtype, backend):
    x = np.array([1, 5, 100], dtype)
    compare = nt.jit(lambda x, k: (x < k, x == k, x >= k), backend=backend)
    add = nt.jit(lambda x, k: x + k, backend=backend)
    for k in (5, 300, -1, 2**40):
        for result, expected in zip(compare(x, k), (x < k, x == k, x >= k), strict=True):
            np.testing.assert_array_equal(result, expected)
        try:
            expected = x + k
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)):
                add(x, k)
        else:
            np.testing.assert_array_equal(add(x, k), expected)


def test_an_integer_of_the_data_is_compared_when_compiled():
    f = nt.jit(lambda x: x * 2 if int(x.sum()) > 3 else x)
    np.testing.assert_allclose(f(X), 2 * X)
    np.testing.assert_allclose(f(X / 6), X / 6)


def test_division_of_integers_by_zero_may_be_caught():
    def f(x, k):
        try:
            return x * (6 // k) + 7 % k
        except ZeroDivisionError:
            return -x

    agree(f, (X, 0), (X, 2), (X, 0), (X, 4), traces=2)


@pytest.mark.parametrize("take", [lambda y: y[..., -1], lambda y: np.squeeze(y[:1]), lambda y: y[1:2].reshape(())])
def test_views_without_axes_write_through(take):
    def body(x):
        y = x.copy()
        part = take(y)
        part *= 3
        return y

    agree(body, (X,))
    np.testing.assert_array_equal(body(nt.tensor(X)), body(X))


def test_elements_never_change():
    def body(x):
        y = x.copy()
        part = y[0]
        part *= 3
        return y + part

    agree(body, (X,))


def test_derivatives_of_ufuncs_themselves():
    np.testing.assert_allclose(nt.grad(nt.grad(np.exp))(0.5), np.exp(0.5))
    np.testing.assert_allclose(nt.jit(nt.grad(nt.grad(np.sin)))(0.5), -np.sin(0.5))


class Scaled:
    """Equal to every other of its kind, as far as Python is asked."""

    def __init__(self, k):
        self.k = k

    def __eq__(self, other):
        return isinstance(other, Scaled)

    __hash__ = None

    def __call__(self, x):
        return x * self.k


def test_callables_are_told_apart_by_identity():
    for k in range(5):
        assert nt.jit(Scaled(float(k)))(2.0) == 2.0 * k


def test_a_pullback_stays_at_the_values_it_was_made_at():
    scale, v, x = np.array([1.0, 2.0]), nt.Variable(3.0), np.array([1.0, 2.0])
    result, pullback = nt.vjp(lambda x: x**2 * scale * v, x)
    want = 2 * x * scale * 3.0
    scale[:] = 100.0
    v.assign(50.0)
    x[:] = 7.0
    np.testing.assert_allclose(result, [3.0, 24.0])
    for _ in range(2):
        np.testing.assert_allclose(pullback(np.ones(2))[0], want)
    with pytest.raises(nt.ShapeError, match=r"\(3,\)"):
        pullback(np.ones(3))


def test_a_pullback_of_a_function_that_assigns_is_refused():
    v = nt.Variable(3.0)

    def f(x):
        v.assign_add(1.0)
        return x * v

    with pytest.raises(nt.GradError, match="assigns"):
        nt.vjp(f, np.ones(2))
    assert v.numpy() == 3.0


def test_pullbacks_by_integers_give_zeros_and_are_counted():
    f = nt.vjp(lambda x, k: {"a": np.sum(x) * k, "b": x[:k]})
    _, pullback = f(np.ones(3), 2)
    by_x, by_k = pullback({"a": 1.0, "b": np.ones(2)})
    assert by_x.tolist() == [3.0, 3.0, 2.0] and by_k == 0.0
    assert f.stats.calls == f.stats.hits == 1
