"""The short way of a call: it answers what the long way answers, for whatever it is given and wherever it is called."""

import functools

import numpy as np
import pytest
from short_calls import answers, counted, double, is_short, opened, same, x4

import numtape as nt
from numtape.runtime import lanes
from numtape.runtime.build import chosen

pytestmark = pytest.mark.skipif(chosen() != "llvm", reason="native entries come with the back end llvm")


# -- arguments --------------------------------------------------------------------------------------------------------


def test_the_call_after_the_first_opens_it():
    f = nt.jit(double)
    f.clear_cache()
    f(x4)
    assert not is_short(f)
    f(x4)
    assert is_short(f)
    answers(f, x4, short=True)


def test_other_shapes_and_layouts():
    f, big = opened(double, x4), np.arange(60.0)
    for x in (np.ones(0), np.ones(1), big, big[3:7], np.arange(30_001.0)):
        answers(f, x, short=True)
    locked = x4.copy()
    locked.flags.writeable = False
    answers(f, locked, short=True)
    shifted = np.frombuffer(b"\0" * 4 + x4.tobytes(), "f8", 4, 4)
    for x in (big[::2], big[::-1], x4.astype(">f8"), shifted, np.broadcast_to(2.0, 3)):
        answers(f, x, short=False)


def test_a_large_array_that_is_not_contiguous_in_c():
    f, x = opened(double, np.ones((3, 4))), np.arange(12.0).reshape(3, 4)
    answers(f, x, short=True)
    answers(f, x.T, short=False)
    answers(f, np.asfortranarray(x), short=False)


def test_other_dtypes_and_ranks_get_lanes_of_their_own():
    f = opened(double, x4)
    given = [x4.astype(d) for d in ("f4", "i8", "i4", "u2")] + [x4.reshape(2, 2), np.array(2.0), np.float64(3.0)]
    for x in given:
        f(x), f(x)
        answers(f, x, short=True)
    answers(f, x4, short=True)
    assert f.stats.traces == 7  # a number of NumPy's and an array of rank 0 are one signature


def test_more_kinds_of_calls_than_lanes():
    f = nt.jit(double)
    f.clear_cache()
    given = [np.ones((1,) * rank, d) for rank in range(4) for d in ("f8", "f4", "i8", "i4")]
    assert len(given) > lanes.MOST
    for _ in range(3):
        for x in given:
            same(f(x), f._call(x))
    assert [counted(f, x)[1] for x in given] == [k < lanes.MOST for k in range(len(given))]
    assert f.stats.traces == len(given) == sum(s.hits > 0 for s in f.signatures())


@pytest.mark.parametrize("code", "lq")
def test_two_integers_of_c_that_are_equal(code):
    """long and long long are one dtype to NumPy, with two numbers."""
    x = np.arange(5, dtype=code)
    f = opened(lambda x, y: (np.sum(x) + y, x + y), x, np.int64(2))
    for other in "lqlq":
        y = np.dtype(other).type(3)
        for given in (np.arange(5, dtype=other), np.arange(9, dtype=other)[::2]):
            total, moved = f(given, y)
            assert (total, moved.tolist()) == (13, [3, 4, 5, 6, 7]) or given[1] == 2


def test_numbers_keep_their_kinds():
    f = opened(lambda x, k: (x * k, k + 1), x4, 2.0)
    for k in (2.0, -0.0, float("inf"), 1e300):
        answers(f, x4, k, short=True)
    for k in (3, True, np.float64(2.5), np.float32(2.5), np.array(2.5), np.int8(3)):
        f(x4, k), f(x4, k)
        same(f(x4, k), f._call(x4, k))
    answers(f, x4, 2.0, short=True)
    assert type(f(x4, 2.0)[1]) is float and type(f(x4, np.float64(2.0))[1]) is np.float64
    assert type(f(x4, 3)[1]) is int and f(x4, True)[1] == 2
    assert type(f(x4, np.float32(2))[1]) is np.float32


def test_a_number_alone():
    f = opened(lambda a: a * 2, 1.5)
    same(f(2.5), 5.0)
    same(f(np.float64(2.5)), np.float64(5.0))
    same(nt.grad(lambda a: a * a)(1.5), np.float64(3.0))
    g = opened(nt.grad(lambda a: a * a), 1.5)
    same(g(2.0), np.float64(4.0))


def test_integers_as_long_as_python_s():
    for body in (lambda n: n + n, lambda n: n - 1, lambda n: -n, lambda n: n * 4, lambda n: abs(n)):
        f = opened(body, 3)
        for n in (7, -7, 2**61, 2**61 + 1, 2**62, 2**63 - 1, -(2**63), 2**64):
            same(f(n), body(n))


def test_captured_integers_as_long_as_python_s():
    n = 3
    f = opened(lambda a: n - 1 + a, 1)
    for n in (5, 2**62, -(2**63), 2**70):
        same(f(1), n)


def test_results_in_tuples():
    f = opened(lambda x: (x + 1, (np.sum(x), x > 2), np.max(x)), x4)
    answers = f(x4)
    same(answers, f._call(x4))
    assert type(answers[1][0]) is np.float64 and answers[1][1].dtype == bool
    kinds = [
        lambda x: [x, x],
        lambda x: {"a": x},
        lambda x: (x, x),
        lambda x: (x * 2, 0.5),
        lambda x: None,
        lambda x: (),
    ]
    for body in kinds:
        g = nt.jit(body)
        for _ in range(3):
            got = g(x4)
        assert repr(got) == repr(body(x4) if body is not kinds[2] else (x4, x4))
    constant = nt.jit(lambda x: (np.float64(0.5), np.sum(x)))
    assert [constant(x4) for _ in range(3)] == [(0.5, 10.0)] * 3


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses(tmp_path):
    f = opened(double, x4)
    mapped = np.memmap(tmp_path / "numbers", "f8", "w+", shape=4)
    mapped[:] = x4
    for _ in range(2):
        same(f(mapped), f(x4))
    for x in (np.matrix([[1.0]]), np.ma.masked_array(x4, x4 > 2), np.recarray(4, "f8")):
        for _ in range(2):
            with pytest.raises(nt.DtypeError, match=f"argument `x` is a .*{type(x).__name__}, not a plain array"):
                f(x)
    with pytest.raises(nt.DtypeError, match="complex"):
        f(x4 + 0j)
    answers(f, x4, short=True)


def scaled(x, k=2.0, *, shift=0.0):
    return x * k + shift


def test_keywords_and_defaults():
    f = nt.jit(scaled)
    for args, kwargs in [((x4,), {}), ((x4, 3.0), {}), ((x4,), {"k": 3.0}), ((x4, 3.0), {"shift": 1.0})] * 3:
        same(f(*args, **kwargs), scaled(*args, **kwargs))
    same(f(k=1.0, x=x4), x4)

    def plain(x, k=2.0):
        return x * k

    g = opened(plain, x4, 2.0)
    for _ in range(3):
        same(g(x4), x4 * 2)
        same(g(x4, k=4.0), x4 * 4)
    answers(g, x4, 5.0, short=True)
    plain.__defaults__ = (7.0,)
    same(g(x4), x4 * 7)


def test_wrong_arguments_raise_what_the_function_raises():
    f = opened(double, x4)
    for args, kwargs in [((), {}), ((x4, x4), {}), ((x4,), {"y": 1}), ((x4,), {"x": x4})]:
        with pytest.raises(TypeError) as ours:
            f(*args, **kwargs)
        fresh = nt.jit(double)
        with pytest.raises(TypeError) as before:
            fresh(*args, **kwargs)
        assert str(ours.value) == str(before.value)
        with pytest.raises(TypeError):
            double(*args, **kwargs)
    answers(f, x4, short=True)


def test_any_number_of_arguments():
    f = nt.jit(lambda *xs: functools.reduce(np.add, xs))
    for xs in [(x4,), (x4, x4), (x4, x4, x4)] * 3:
        same(f(*xs), x4 * len(xs))
    assert f.stats.traces == 3


# -- what is read outside ---------------------------------------------------------------------------------------------

weights = np.ones(4)


def helper(x):
    return x + 1


def test_globals(monkeypatch):
    def body(x):
        return helper(x) * weights

    f = opened(body, x4)
    answers(f, x4, short=True)
    monkeypatch.setitem(globals(), "weights", x4 * 3)
    answers(f, x4, short=True)
    weights[0] = -5.0
    answers(f, x4, short=True)
    for other in (np.float32([1, 2, 3, 4]), 2.5, 3, np.float64(4), np.ones((2, 4))[:, ::1], x4[::-1], x4.astype(">f8")):
        monkeypatch.setitem(globals(), "weights", other)
        for _ in range(3):
            np.testing.assert_allclose(f(x4), body(x4), rtol=1e-6)
    monkeypatch.setitem(globals(), "weights", x4)
    answers(f, x4, short=True)
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    for _ in range(3):
        same(f(x4), (x4 - 1) * x4)
    monkeypatch.delitem(globals(), "helper")
    with pytest.raises(NameError):
        f(x4)


def test_closures():
    w, k, mode = np.ones(4), 2.0, "plus"

    def body(x):
        return x + w * k if mode == "plus" else x - w * k

    f = opened(body, x4)
    w[1] = 9.0
    answers(f, x4, short=True)
    w, k = x4 * 2, 5.0
    answers(f, x4, short=True)
    w = w.astype("f4")
    same(f(x4), body(x4))
    for mode in ("minus", "plus", "minus", "plus"):  # noqa: B007
        same(f(x4), body(x4))
    assert f.stats.traces == 3


def test_what_a_call_raises_that_no_longer_fits_is_raised_once():
    mode, seen = "fine", []

    def body(x):
        if mode != "fine":
            seen.append(mode)
            raise (ValueError if mode == "v" else IndexError)(mode)
        return x * 2

    f = opened(body, x4)
    for wrong in ("v", "i"):
        mode = wrong
        with pytest.raises((ValueError, IndexError)) as told:
            f(x4)
        assert told.value.__context__ is None
    assert seen == ["v", "i"] and f.stats.calls == 4


def test_errors_of_numpy_come_through():
    f = opened(lambda x, k: x[k], x4, 1)
    with pytest.raises(IndexError):
        f(x4, 4)
    f = opened(lambda x, k: x[k], x4, np.array([1, 2]))
    for k in ([4], [-5], [0, 2**40]):
        with pytest.raises(IndexError):
            f(x4, np.array(k))
    answers(f, x4, np.array([-4, 3]), short=True)
    f = opened(lambda x: np.max(x), x4)
    with pytest.raises(ValueError):
        f(np.ones(0))
    f = opened(lambda x, y: x + y, x4, x4)
    with pytest.raises(ValueError):
        f(x4, np.ones(3))
    answers(f, x4, np.ones(1), short=False)
    answers(f, x4, x4, short=True)


def test_branches():
    f = opened(lambda x: x * 2 if np.sum(x) > 0 else -x, x4)
    f(-x4), f(-x4)
    for sign in (1, -1, 1, -1):
        answers(f, x4 * sign, short=True)
    assert f.stats.traces == 2


# -- where it is called -----------------------------------------------------------------------------------------------


def test_inside_of_another_recording():
    w = np.ones(4)
    inner = opened(lambda x: x * w, x4)
    outer = nt.jit(lambda x: np.sum(inner(x)) + np.sum(inner(x4)))
    assert outer(x4) == 20.0
    w[:] = 2.0
    assert [outer(x4) for _ in range(3)] == [40.0] * 3
    w = np.full(4, 3.0)
    assert [outer(x4) for _ in range(3)] == [60.0] * 3
    assert inner.stats.calls == 2


def test_a_captured_array_passed_by_an_outer_function():
    data = np.ones(4)
    inner = opened(lambda x: x * 2, x4)
    outer = nt.jit(lambda a: inner(data) * a)
    for step in range(4):
        data[:] = step
        same(outer(1.0), np.full(4, 2.0 * step))


def test_gradients_through_it():
    w = np.array([1.0, 2.0, 3.0, 4.0])
    inner = opened(lambda x: np.sum(x * x * w), x4)
    g = opened(nt.grad(inner), x4)
    answers_of = nt.value_and_grad(lambda x: inner(x) * 2)
    for _ in range(3):
        w *= 2
        same(g(x4), 2 * x4 * w)
        same(answers_of(x4), (2 * np.sum(x4 * x4 * w), 4 * x4 * w))
    assert is_short(answers_of)


def test_on_a_tape():
    v = nt.Variable(x4.copy())
    f = opened(lambda x: np.sum(x * x), x4)
    g = nt.jit(lambda x: np.sum(x * v))
    for _ in range(3):
        with nt.GradientTape() as tape:
            x = nt.tensor(x4)
            tape.watch(x)
            loss = f(x) + g(x) + f(x4) + g(x4)
        dx, dv = tape.gradient(loss, [x, v])
        np.testing.assert_array_equal(dx, 2 * x4 + np.asarray(v))
        np.testing.assert_array_equal(dv, 2 * x4)
        assert type(f(x4)) is np.float64
        v.assign(np.asarray(v) + 1)


class Model:
    def __init__(self):
        self.w, self.k = np.ones(4), 2.0

    @nt.jit
    def run(self, x):
        return x * self.w * self.k

    def plain(self, x):
        return x * self.w + self.k


def test_methods():
    one, two = Model(), Model()
    two.w = x4.copy()
    bound = opened(one.plain, x4)
    for _ in range(3):
        for model in (one, two):
            same(model.run(x4), x4 * model.w * model.k)
        same(bound(x4), one.plain(x4))
        one.k += 1.0
        one.w = one.w * 2
    assert counted(bound, x4)[1]
    part = nt.jit(functools.partial(scaled, k=3.0))
    for _ in range(3):
        same(part(x4), x4 * 3)


@pytest.mark.skipif(chosen() != "llvm", reason="the short way is the native one")
def test_calls_that_leave_out_defaults_take_the_short_way():
    def scaled(x, k=2.0, n=3):
        return x * k + n

    f = nt.jit(scaled)
    x = np.ones(3)
    for _ in range(3):
        for args in ((x,), (x, 3.0), (x, 3.0, 4)):
            np.testing.assert_array_equal(f(*args), scaled(*args))
    assert is_short(f)
    scaled.__defaults__ = (5.0, 1)  # given anew: read at each call
    np.testing.assert_array_equal(f(x), scaled(x))
    np.testing.assert_array_equal(f(x, 7.0), scaled(x, 7.0))
    scaled.__defaults__ = (5, True)
    np.testing.assert_array_equal(f(x), scaled(x))
    assert f.stats.calls == f.stats.hits + f.stats.traces
