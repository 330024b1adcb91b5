"""What is traced again and what is not."""

import math
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import numtape as nt

WEIGHTS = np.array([1.0, 2.0, 3.0])


def traces(f, *calls):
    for args in calls:
        f(*args)
    return f.stats.traces


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", nt.RetraceWarning)
        yield


def test_rt01_values_do_not_count():
    f = nt.jit(lambda x: x * 2)
    assert traces(f, (np.ones(3),), (np.zeros(3),)) == 1


def test_rt02_dtype_and_rank_count_lengths_do_not():
    f = nt.jit(lambda x: x * 2)
    assert traces(f, (np.ones(3),), (np.ones(3, np.float32),), (np.ones((3, 1)),), (np.ones(5),), (np.ones(3),)) == 3
    assert traces(f, (np.ones(3, np.float32),), (np.ones((0, 7)),)) == 3


def test_rt04_int_float_bool_are_three():
    f = nt.jit(lambda k: k * 2)
    assert [f(1), f(1.0), f(True)] == [2, 2.0, 2]
    assert [type(f(k)) for k in (1, 1.0)] == [int, float]
    assert f.stats.traces == 3


def test_rt05_signed_zero():
    f = nt.jit(lambda k: 1 / k)
    with np.errstate(divide="ignore"):
        assert f(0.0) == math.inf and f(-0.0) == -math.inf
    assert f.stats.traces == 1


def test_rt07_scalars_by_dtype():
    f = nt.jit(lambda x: x + 1)
    assert traces(f, (np.float64(1.0),), (np.float64(2.0),), (np.array(3.0),)) == 1


def test_rt08_trees_count():
    f = nt.jit(lambda t: t[0] + t[1])
    one, two = np.ones(2), np.ones(2)
    assert traces(f, ([one, two],), ((one, two),), ([two, one],)) == 2


def test_rt10_defaults_and_keywords():
    def f(x, k=2.0):
        return x * k

    g = nt.jit(f)
    x = np.ones(2)
    for result in (g(x), g(x, 2.0), g(x, k=2.0), g(k=2.0, x=x)):
        assert result.tolist() == [2.0, 2.0]
    assert g.stats.traces == 1


def test_rt11_statics():
    f = nt.jit(lambda x, mode: x * 2 if mode == "double" else x)
    x = np.ones(2)
    assert f(x, "double").tolist() == [2, 2] and f(x, "single").tolist() == [1, 1]
    assert f(x, None).tolist() == [1, 1] and f(x, "double").tolist() == [2, 2]
    assert f.stats.traces == 3


def test_static_marks():
    f = nt.jit(lambda x, k: x * k, static=("k",))
    x = np.ones(2)
    assert traces(f, (x, 2), (x, 3), (x, 2)) == 2
    with pytest.raises(TypeError, match="nothing"):
        nt.jit(lambda x: x, static=("nothing",))


def test_rt13_alias_patterns():
    f = nt.jit(lambda a, b: a + 2 * b)
    a, b = np.array([1.0]), np.array([10.0])
    assert [f(*p)[0] for p in ((a, b), (b, a), (a, a), (b, b))] == [21.0, 12.0, 3.0, 30.0]
    assert f.stats.traces == 1


def test_rt13_aliases_of_an_array_that_is_written():
    def f(a, b):
        a += b
        return a * b

    g = nt.jit(f)
    for make in (lambda: (np.array([1.0]), np.array([10.0])), lambda: (np.array([3.0]),) * 2):
        args, plain = make(), make()
        plain = (plain[0], plain[0]) if args[0] is args[1] else plain
        np.testing.assert_array_equal(g(*args), f(*plain))
        np.testing.assert_array_equal(args[0], plain[0])
    assert g.stats.traces == 2


def test_rt16_sets_are_refused():
    with pytest.raises(TypeError, match="set"):
        nt.jit(lambda s: 1.0)({1, 2})


def test_rt19_new_objects_from_the_same_source():
    total = 0
    for k in range(10):
        weight = np.full(3, float(k))

        @nt.jit
        def f(x, weight=weight):
            return np.sum(x * weight)

        def g(x, weight=weight):
            return np.sum(x * weight)

        assert f(np.ones(3)) == 3.0 * k
        total += f.stats.traces
    assert total == 1
    shared = 0
    for k in range(10):
        weight = np.full(3, float(k))
        h = nt.jit(lambda x: np.sum(x * weight))  # noqa: B023
        assert h(np.ones(3)) == 3.0 * k
        shared += h.stats.traces
    assert shared == 1


def test_rt22_an_error_while_tracing_is_not_cached():
    @nt.jit
    def f(x, fail):
        if fail:
            raise KeyError("no")
        return x * 2

    for _ in range(2):
        with pytest.raises(KeyError):
            f(np.ones(2), True)
    assert f.stats.traces == 0
    assert f(np.ones(2), False).tolist() == [2, 2]
    assert f.stats.traces == 1


def test_rt25_a_body_that_changes_its_list_is_refused():
    def f(items):
        items.append(1.0)
        return items[0]

    with pytest.raises(ValueError, match="list or dict"):
        nt.jit(f)([1.0, 2.0])


class Pair(NamedTuple):
    a: object
    b: object


@dataclass
class Record:
    w: object
    name: str


def test_rt26_outputs_keep_their_structure():
    f = nt.jit(lambda x: {"a": (x, None), "b": [x * 2, Pair(x, "text")], "n": 3})
    out = f(np.ones(2))
    assert out["a"][1] is None and out["b"][1].b == "text" and out["n"] == 3
    assert isinstance(out["b"][1], Pair)


def test_dataclasses_and_namedtuples_are_trees():
    g = nt.grad(lambda r: np.sum(r.w**2))
    out = nt.jit(lambda r: Record(r.w * 2, r.name))(Record(np.ones(2), "x"))
    assert out.w.tolist() == [2, 2] and out.name == "x"
    pair = nt.grad(lambda p: np.sum(p.a * p.b))(Pair(np.ones(2), np.full(2, 3.0)))
    assert isinstance(pair, Pair) and pair.a.tolist() == [3, 3]
    with pytest.raises(TypeError):
        g(Record(np.ones(2), "x"))


def test_rt28_inner_functions_are_inlined():
    seen = []

    @nt.jit
    def inner(x):
        seen.append(1)
        return x * WEIGHTS[0]

    outer = nt.jit(lambda x: inner(x) + inner(x + 1))
    assert outer(1.0) == 3.0 and outer(2.0) == 5.0
    assert len(seen) == 2 and outer.stats.traces == 1 and inner.stats.traces == 0


class Constant:
    def __init__(self, k):
        self.k = k

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return isinstance(other, Constant)


def test_rt29_objects_by_identity():
    f = nt.jit(lambda x, c: x * c.k)
    a, b = Constant(2.0), Constant(3.0)
    assert f(1.0, a) == 2.0 and f(1.0, b) == 3.0
    a.k = 5.0
    assert f(1.0, a) == 5.0
    assert f.stats.traces == 2


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: x[:k] * 2,
        lambda x, k: x[-k:] * 2,
        lambda x, k: x**k,
        lambda x, k: np.roll(x, k),
        lambda x, k: np.zeros(k) + k,
        lambda x, k: np.arange(k) * 2.0,
        lambda x, k: x[k],
        lambda x, k: x.reshape(1, -1) * k / (k + 1),
        lambda x, k: np.where(np.arange(len(x)) < k, x, 0),
        lambda x, k: x * (k // 2) + k % 3,
    ],
)
def test_integer_arguments_are_runtime_values(f):
    g, x = nt.jit(f), np.arange(1.0, 9.0)
    for k in range(1, 7):
        want, got = f(x, k), g(x, k)
        np.testing.assert_allclose(got, want)
        assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == np.asarray(want).dtype
    assert g.stats.traces == 1


def test_a_guard_is_as_weak_as_the_program_allows():
    f = nt.jit(lambda x, k: x * 2 if k > 3 else x * k)
    x = np.ones(2)
    for k in (1, 2, 3, 4, 5, 100, 0):
        assert f(x, k).tolist() == ([2, 2] if k > 3 else [k, k])
    assert f.stats.traces == 2
    loop = nt.jit(lambda x, k: sum((x * i for i in range(k)), x))
    for k in (2, 3, 2):
        loop(x, k)
    assert loop.stats.traces == 2


def test_symbolic_sizes_in_the_users_functions():
    def f(x):
        n = len(x)
        return np.zeros(n) + np.arange(n) * x / n + np.eye(n) @ x + np.linspace(0, 1, n) + np.full(n, x.mean())

    g = nt.jit(f)
    for n in range(1, 12):
        x = np.linspace(1, 2, n)
        np.testing.assert_allclose(g(x), f(x))
    assert g.stats.traces <= 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(12.0).reshape(3, 4).T,
        lambda: np.arange(24.0).reshape(3, 8)[:, ::2],
        lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        lambda: np.arange(12.0).reshape(3, 4).astype(">f8"),
        lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
        lambda: np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    ],
)
def test_layouts_and_byte_orders(make):
    f = nt.value_and_grad(lambda x: np.sum(np.sin(x) * np.arange(x.shape[1])))
    f(np.ones((3, 4)))
    x = make()
    value, g = f(x)
    np.testing.assert_allclose(value, np.sum(np.sin(x) * np.arange(x.shape[1])))
    np.testing.assert_allclose(g, np.cos(x) * np.arange(x.shape[1]))
    assert f.stats.traces <= 1, "one trace serves all layouts"


def test_subclasses_and_objects_are_refused_by_name():
    f = nt.jit(lambda x: x * 2)
    with pytest.raises(TypeError, match="MaskedArray"):
        f(np.ma.masked_array(np.ones(2)))
    with pytest.raises(TypeError, match="matrix"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f(np.matrix([[1.0]]))
    with pytest.raises(TypeError, match="object"):
        f(np.array([None, 1]))
    with pytest.raises(TypeError, match="str"):
        f(np.array(["a"]))
    with pytest.raises(TypeError, match="[Cc]omplex"):
        f(np.ones(2, complex))


def test_max_entries_falls_back_with_one_warning():
    f = nt.jit(lambda x, k: sum((x * i for i in range(k)), x), max_entries=3)
    x = np.ones(2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for k in range(1, 9):
            np.testing.assert_allclose(f(x, k), x * (1 + sum(range(k))))
    assert f.stats.traces == 3
    assert len([w for w in seen if issubclass(w.category, nt.RetraceWarning)]) == 1


def test_no_retrace_and_max_traces():
    f = nt.jit(lambda x: x + 1)
    with nt.no_retrace():
        f(np.ones(2)), f(np.ones(7))
        with pytest.raises(nt.RetraceError, match="x"):
            f(np.ones((2, 2)))
    with nt.max_traces(f, 1), pytest.raises(nt.RetraceError):
        f(np.ones((2, 2, 2))), f(np.ones((1, 1, 1, 1)))


def test_max_traces_counts_methods_and_products():
    class Model:
        @nt.jit
        def double(self, x):
            return x * 2

    model, pull = Model(), nt.vjp(lambda x: x * 2)
    with nt.max_traces(model.double, 0), pytest.raises(nt.RetraceError):
        model.double(np.ones(2))
    with nt.max_traces(pull, 1), pytest.raises(nt.RetraceError):
        pull(np.ones(2))[1](np.ones(2))
    with pytest.raises(TypeError, match="takes a compiled function"), nt.max_traces(np.sin, 1):
        pass
