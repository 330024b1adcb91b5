"""Programs that once gave a wrong number, or failed inside the library, while they were recorded."""

import numpy as np
import pytest

import numtape as nt
from numtape.tracer.errors import TraceError


def jit(function):
    """Recorded and run by the interpreter: these tests ask what is recorded, not what is compiled."""
    return nt.jit(function, backend="interpreter")


def agree(function, *calls, traces=None):
    """The same results as plain NumPy, call by call."""
    compiled = jit(function)
    for args in calls:
        np.testing.assert_allclose(compiled(*args), function(*args), err_msg=str(args))
    if traces is not None:
        assert compiled.stats.traces == traces


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
