"""Programs that once gave a wrong number, or failed inside the library, while they were recorded."""

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from near import agree, jit

import numtape as nt
from numtape.tracer.errors import TraceError

X = np.array([1.0, 2.0, 3.0])


# -- an error that the body catches ----------------------------------------------------------------------------------


def caught(attempt):
    def body(x, w):
        try:
            return attempt(x, w)
        except (ValueError, IndexError, TypeError):
            return x * 0

    return body


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x, w: x + w,
        lambda x, w: np.stack([x, w])[0],
        lambda x, w: x.reshape(2, -1)[0],
        lambda x, w: x[len(w)],
        lambda x, w: np.add.outer(x, w)[7],
        lambda x, w: x.__setitem__(slice(None), w),
        lambda x, w: x.__iadd__(w),
        lambda x, w: np.max(x[:0]),
        lambda x, w: x.view(int),
        lambda x, w: x if x else w,
    ],
)
def test_a_caught_error_is_not_frozen_into_the_program(attempt):
    f = jit(caught(attempt))
    with pytest.raises(TraceError, match="caught an error while it was recorded"):
        f(np.ones(3), np.ones(4))
    assert f.stats.traces == 0


def test_errors_that_dtypes_decide_may_be_caught():
    def f(x):
        try:
            return x << 1
        except TypeError:
            return x * 2

    agree(f, (X,), (np.arange(3),), (np.ones(5),), traces=2)


def test_an_error_handled_inside_of_numpy_is_not_the_bodys():
    agree(lambda x, w: x if np.array_equal(x, w) else -x, (np.ones(3), np.ones(2)), (np.ones(2), np.ones(2)))


# -- numbers that become keys ----------------------------------------------------------------------------------------


def test_an_integer_in_a_text_is_asked_for_its_value():
    table = {"w1": 2.0, "w2": 7.0}
    agree(lambda x, k: x * table[f"w{k}"], (X, 1), (X, 2), (X, 1), traces=2)
    agree(lambda x, k: x * table["w" + str(k)], (X, 1), (X, 2))
    agree(lambda x, k: x * table["w{}".format(*k)], (X, np.array([1])), (X, np.array([2])))
    agree(lambda x: x * len(str(len(x))), (np.ones(3),), (np.ones(12),))


def test_a_float_can_not_be_a_key():
    for body in (lambda x, k: x * {0.5: 3.0}.get(k, 1.0), lambda x, k: x if k in {0.5} else -x):
        with pytest.raises(TraceError, match="looked up in a dict or set"):
            jit(body)(X, 0.25)
    with pytest.raises(TraceError, match="looked up in a dict or set"):
        jit(lambda x: x * {1.0: 3.0}.get(x[0], 1.0))(X)
    with pytest.raises(TypeError, match="unhashable"):
        jit(lambda x: {x: 1})(X)


def test_integers_of_arrays_are_keys_by_value():
    agree(lambda x, i: x * {1: 2.0, 2: 5.0}.get(i[0], 1.0), *[(X, np.array([k])) for k in (1, 2, 3, 1)], traces=3)


def test_inversion_of_an_integer():
    agree(lambda k: ~k, (3,), (-7,), (0,), traces=1)
    with pytest.raises(TypeError, match="unary"):
        jit(lambda k: ~k)(1.5)


# -- one object by several ways --------------------------------------------------------------------------------------


def test_one_variable_as_two_arguments_that_is_assigned():
    def f(a, b):
        a.assign_add(1.0)
        return b * 1.0

    g, v, w = jit(f), nt.Variable(X), nt.Variable(10 * X)
    for a, b in ((v, w), (v, v), (w, w), (w, v)):
        expected = b.numpy() + (1.0 if a is b else 0.0)
        np.testing.assert_allclose(g(a, b), expected)


def test_a_captured_variable_that_is_also_an_argument():
    v, w = nt.Variable(X), nt.Variable(10 * X)

    def f(a):
        a.assign_add(1.0)
        return v * 1.0

    g = jit(f)
    for a in (w, v, w, v):
        expected = v.numpy() + (1.0 if a is v else 0.0)
        np.testing.assert_allclose(g(a), expected)


def test_a_captured_buffer_that_is_also_an_argument():
    buffer = np.zeros(3)

    def f(a):
        buffer[:] = a * 2 + 1
        return a.sum()

    g = jit(f)
    for a in (X, buffer, X, buffer):
        expected = (a * 2 + 1, (a * 2 + 1 if a is buffer else a).sum())
        np.testing.assert_allclose(g(a), expected[1])
        np.testing.assert_allclose(buffer, expected[0])


def test_writing_into_memory_that_two_arguments_share_is_refused():
    def f(a, b):
        a[2] = 100.0
        return b * 1

    base = np.arange(6.0)
    g = jit(f)
    with pytest.raises(TypeError, match="shares memory"):
        g(base[:3], base[2:5])
    assert base[2] == 2.0
    np.testing.assert_allclose(g(base[:3], base[3:]), [3.0, 4.0, 5.0])
    with pytest.raises(TypeError, match="shares memory"):
        g(base[:3], base[2:5])
    np.testing.assert_allclose(g(base[::2], base[1::2]), [1.0, 3.0, 5.0])  # between each other, but apart
    np.testing.assert_allclose(jit(lambda a, b: a + b)(base[:3], base[1:4]), base[:3] + base[1:4])


# -- compiled calls on tapes: as they would be without being compiled ------------------------------------------------


def on_tape(function, source):
    with nt.GradientTape() as tape:
        tape.watch(source)
        target = function(source)
    return tape.gradient(target, source).numpy()


def test_gradients_are_at_the_value_that_a_variable_had():
    def f(v):
        total = np.sum(v * v * X)
        v.assign_add(X)
        return total

    np.testing.assert_allclose(on_tape(f, nt.Variable(X)), 2 * X * X)
    np.testing.assert_allclose(on_tape(jit(f), nt.Variable(X)), 2 * X * X)
    v = nt.Variable(X)
    np.testing.assert_allclose(on_tape(lambda v: jit(lambda y: f(v) + 0 * y)(1.0), v), 2 * X * X)
    np.testing.assert_allclose(v, 2 * X)


def test_gradients_are_at_the_value_that_an_array_had():
    def f(t, a):
        total = np.sum(a * t)
        a[:] = 0
        return total

    a = 5 * X
    np.testing.assert_allclose(on_tape(lambda t: jit(f)(t, a), nt.tensor(X)), 5 * X)
    assert not a.any()


def test_a_tensor_that_a_compiled_function_writes_into_stays_on_the_tape():
    def f(a):
        a *= 2
        return np.sum(a)

    def after(function):
        return lambda t: function(t) + np.sum(t * t)

    np.testing.assert_allclose(on_tape(after(jit(f)), nt.tensor(X)), on_tape(after(f), nt.tensor(X)))


# -- results, pickles, threads ---------------------------------------------------------------------------------------


def test_generators_are_no_results():
    def f(x):
        yield x

    with pytest.raises(TypeError, match="returns a generator"):
        jit(f)(X)
    with pytest.raises(TypeError, match="returns a map"):
        jit(lambda x: map(np.sin, [x]))(X)


@nt.jit(backend="interpreter")
def decorated(x):
    return x * 2


def test_a_decorated_function_pickles_by_its_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    gradient = pickle.loads(pickle.dumps(nt.grad(decorated)))
    assert gradient(2.0) == 2.0


def test_calls_while_another_thread_clears_the_cache():
    weights = X.copy()
    f = jit(lambda x, k: np.sum(np.sin(x) * weights) if k > 0 else np.sum(x))
    done, wrong = threading.Event(), []

    def clear():
        while not done.is_set():
            f.clear_cache()

    def call(start):
        for step in range(40):
            k = (-1.0) ** step
            expected = np.sum(np.sin(X + start) * weights) if k > 0 else np.sum(X + start)
            if not np.isclose(f(X + start, k), expected):
                wrong.append((start, step))

    with ThreadPoolExecutor(5) as pool:
        clearing = pool.submit(clear)
        calls = [pool.submit(call, start) for start in range(4)]
        try:
            for future in calls:
                future.result()
        finally:
            done.set()
        clearing.result()
    assert not wrong


def test_hasattr_asks_for_what_a_value_is_in_numpy():
    def f(x, k):
        return x * 2 if hasattr(k, "shape") else x * 3 if hasattr(k, "is_integer") else x

    agree(f, (X, 2.0), (X, np.float64(2.0)), (X, X), (X, 1))
    assert jit(lambda v: 1.0 if hasattr(v, "assign") else 2.0)(nt.Variable(1.0)) == 1.0
