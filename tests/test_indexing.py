"""Reading and writing by index: NumPy's meaning of every kind of key, with traced integers, arrays and masks."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays, basic_indices, integer_array_indices
from recorded import check_eager, check_gradient, check_recorded, eager, plain, record

from numtape.tracer.tensor import tensor

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3, 4, 5))


def s_(*parts):
    return parts if len(parts) != 1 else parts[0]


PICKS = [2, 0, 1]
KEYS = [
    s_(0), s_(-1), s_(2), s_(3), s_(-4), s_(1, 2), s_(0, -1, 2), s_(1, 2, 3, 0), s_(), s_(slice(None)), s_(...),
    s_(None), s_(slice(1, None)), s_(slice(None, -1)), s_(slice(None, None, -1)), s_(slice(5, 1)),
    s_(slice(-2, None), slice(None, 10)), s_(slice(None, None, 2), slice(3, 0, -1)), s_(..., 0), s_(0, ...),
    s_(..., slice(1, 3)), s_(None, 0, None, slice(None)), s_(..., None), s_(slice(10, None, -2)),
    s_(slice(-20, 20, 3), ..., slice(-1, -20, -2)), s_(0, ..., ...), s_(slice(None, None, 0)), s_(1.5),
    s_(slice(1.0)), s_(PICKS), s_([]), s_([-1, -3]), s_([3]), s_(PICKS, PICKS), s_([[0, 1], [2, 0]]),
    s_([0, 1], [0, 1, 2]), s_([[0], [1]], [0, 1, 2]), s_(slice(None), PICKS), s_(PICKS, slice(None), PICKS),
    s_(0, slice(None), PICKS), s_(0, PICKS), s_(slice(None), 0, PICKS), s_(PICKS, 0),
    s_(slice(1, None), PICKS, slice(None, None, 2)), s_(PICKS, None, PICKS), s_(None, PICKS), s_(..., PICKS),
    s_(PICKS, ..., 0), s_(PICKS, ..., PICKS, PICKS), s_(slice(None), PICKS, ..., PICKS),
    s_(slice(None), slice(None), 0, ..., None), s_(PICKS, slice(None, 2), None, 1), s_([True, False, True]),
    s_([True, False]), s_([True, False, True], 1), s_([True, False, True], [1, 2]),
    s_(slice(None), [True, False, True, True]), s_(True), s_(False), s_(True, PICKS), s_(slice(None), True, PICKS),
    s_(np.int64(1)), s_(np.array(1)), s_(np.array([0, 2], np.uint8)), s_((0, 1),), s_(((0, 1), (1, 2)),),
    s_(range(2)), s_([1.0]), s_("a"), s_(np.array([0, 1]), slice(None), np.array([True, False, True, False, True])),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_reading(number):
    key = KEYS[number]
    check_eager(lambda x: x[key], X)
    if isinstance(plain(lambda x: x[key], (X,)), Exception):
        return
    if not any(isinstance(k, np.ndarray | np.generic) for k in (key if isinstance(key, tuple) else (key,))):
        check_gradient(lambda x: x[key], X)


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_writing(number):
    key = KEYS[number]

    def with_scalar(x):
        x[key] = 7
        return x

    check_eager(with_scalar, X)
    check_eager(with_scalar, X.astype(np.int32))
    part = plain(lambda x: x[key], (X,))
    if isinstance(part, Exception):
        return
    values = RNG.normal(size=part[0].shape)

    def with_array(x, v):
        x[key] = v
        return x

    check_eager(with_array, X, values)
    check_eager(with_array, X, values[None])
    check_eager(with_array, X.astype(np.float32), values[..., :1] if values.ndim else values)
    check_eager(with_array, X, np.ones((2, 7, 3, 2)))
    if number % 3 == 0 and not any(
        isinstance(k, np.ndarray | np.generic) for k in (key if isinstance(key, tuple) else (key,))
    ):

        def fresh(x, v):
            y = x * 1
            y[key] = v
            return y

        check_gradient(fresh, X, values if values.ndim else np.float64(values))


BOUNDS = (None, 0, 1, 2, 4, -1, -2, -4)


@pytest.mark.parametrize("step", [None, 1, 2, 3, -1, -2])
def test_slices_of_any_length(step):
    """One recording serves every length, whatever the bounds."""
    samples = [(np.arange(float(n)),) for n in (5, 0, 1, 2, 3, 4, 9)]
    for start, stop in itertools.product(BOUNDS, BOUNDS):
        traces = check_recorded(lambda x, key=slice(start, stop, step): x[key] * 2, *samples)
        assert traces == 1


@pytest.mark.parametrize("step", [None, 2, -1])
def test_runtime_bounds(step):
    """Only the signs of runtime bounds are guarded."""
    x = np.arange(6.0)
    for form in (
        lambda x, k: x[k::step],
        lambda x, k: x[:k:step],
        lambda x, k: x[-k::step],
        lambda x, k: x[k : k + 2],
        lambda x, k: x[1:-k],
    ):
        # a bound like k + 2 has a sign of its own
        assert check_recorded(form, *((x, k) for k in range(-9, 10))) <= 3


def test_runtime_integers():
    x = RNG.normal(size=(4, 3))
    # one recording for either sign; beyond the ends it is NumPy's error
    assert check_recorded(lambda x, k: x[k], *((x, k) for k in range(-6, 7))) <= 3
    assert check_recorded(lambda x, k: x[k, 1] * x[0, k], *((x, k) for k in range(-5, 6))) <= 4
    assert check_recorded(lambda x: x[x.shape[0] - 1], *((x[:n],) for n in (4, 1, 2))) == 1
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        record(lambda x, k: x[k], x, 4)


def test_traced_integers_gather_without_guards():
    x, i = RNG.normal(size=5), np.int64(3)
    graph = record(lambda x, i: x[i] + x[-i], x, i)
    assert not graph.guards
    assert check_recorded(lambda x, i: x[i], *((x, np.int64(k)) for k in (-6, -5, -1, 0, 2, 4, 5))) == 1
    assert check_recorded(lambda x: x[np.argmax(x)], *((RNG.normal(size=n),) for n in (5, 2, 1))) == 1


def test_a_row_picked_by_a_traced_integer_is_a_view():
    def f(x, i):
        y = x * 1
        row = y[i]
        row *= 2
        return y

    check_eager(f, X[0], np.int64(1))
    check_recorded(f, (X[0], np.int64(1)), (X[0], np.int64(-1)), (X[0], np.int64(2)))
    check_gradient(f, X[0], np.int64(1))


def test_masks():
    samples = [(RNG.normal(size=s),) for s in ((3, 4), (1, 1), (0, 3), (5, 2))]
    for f in (
        lambda x: x[x > 0],
        lambda x: x[x > 9],
        lambda x: x[x[:, 0] > 0],
        lambda x: x[x[:, 0] > 0, 0],
        lambda x: x[:, x.sum(axis=0) > 0],
        lambda x: x[x > 0] * np.sum(x[x > 0]),
        lambda x: x[None, x > 0],
        lambda x: x[np.any(x > 0)],
    ):
        assert check_recorded(f, *samples) == 1
        check_eager(f, samples[0][0])
        check_gradient(f, samples[0][0])


def assign(key, value):
    def f(x):
        y = x * 1
        y[key(y)] = value(y)
        return y

    return f


WRITES = {
    "mask scalar": assign(lambda y: y > 0, lambda y: 0),
    "mask row": assign(lambda y: y[:, 0] > 0, lambda y: y[0] * 2),
    "mask hits": assign(lambda y: y > 0, lambda y: y[y > 0] ** 2),
    "mask and column": assign(lambda y: (y[:, 0] > 0, 0), lambda y: 3.0),
    "slice": assign(lambda y: slice(1, None), lambda y: y[:-1]),
    "reversed": assign(lambda y: slice(None, None, -1), lambda y: y * 2),
    "column": assign(lambda y: (slice(None), 0), lambda y: y[:, -1]),
    "new axis": assign(lambda y: (None, slice(None, None, 2)), lambda y: y[::2] * 3),
    "repeated": assign(lambda y: [0, 0, -1], lambda y: y[[0, 1, 1]] * 3),
    "list and slice": assign(lambda y: (slice(None, None, -1), [0, 1]), lambda y: y[:, :2] * y[:, 1:2]),
    "traced index": assign(lambda y: np.argmax(y[:, 0]), lambda y: y.sum(axis=0)),
    "all": assign(lambda y: ..., lambda y: y * y),
    "list of values": assign(lambda y: (0, slice(None, 2)), lambda y: [y[0, 0] * 2, 1.0]),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_of_traced_values(name):
    f = WRITES[name]
    samples = [(RNG.normal(size=s),) for s in ((4, 3), (2, 2), (5, 4), (2, 5))]
    for (x,) in samples:
        check_eager(f, x)
    assert check_recorded(f, *samples) <= 2
    check_gradient(f, samples[0][0])


def swap(x):
    y = x.copy()
    y[[0, -1]] = y[[-1, 0]]
    y[0], y[1] = y[1], y[0] * 2  # NumPy's rows are views: the second assignment sees the first
    return y


def nested_views(x):
    y = x * 1
    y[1:][::-1][:2] += 1.5
    y.T[0] *= 2
    y.reshape(-1)[::3] = 0
    return y


def accumulate_at(x):
    y = x * 0
    np.add.at(y, [0, 1, 0], x[:3] * 2)
    np.subtract.at(y, (slice(None), [0, 0]), x[:, :2])
    np.add.at(y, 1, 1.0)
    return y


def sort_in_place(x):
    y = x * 1
    y.sort(axis=0)
    y[0].fill(3.0)
    return y


def put_functions(x):
    y = x * 1
    np.put(y, [0, 3, -1], [10.0, 20.0])
    np.putmask(y, y < 0, x * 5)
    np.place(y, y > 5, [1.0, 2.0, 3.0])
    np.copyto(y, x * 7, where=y == 1)
    np.fill_diagonal(y, x[0])
    np.put_along_axis(y, np.argmax(y, axis=1, keepdims=True), 9.5, axis=1)
    return y


def wrapped_diagonal(x):
    y = np.concatenate([x, x, x])
    np.fill_diagonal(y, 4.0, wrap=True)
    return y


@pytest.mark.parametrize("f", [swap, nested_views, accumulate_at, sort_in_place, put_functions, wrapped_diagonal])
def test_in_place(f):
    samples = [(RNG.normal(size=s),) for s in ((3, 3), (5, 3), (4, 4))]
    for (x,) in samples:
        check_eager(f, x)
    check_recorded(f, *samples)
    check_gradient(f, samples[0][0])


def test_out_takes_results():
    def f(x):
        y = np.zeros_like(x)
        np.multiply(x, 3, out=y)
        np.sum(x, axis=0, out=y[0])
        np.add(x, 1, out=y, where=x > 0)
        np.cumsum(x, axis=1, out=y[:, ::-1])
        return y

    check_eager(f, X[0])
    check_gradient(f, X[0])
    with pytest.raises(TypeError, match="can't hold a traced value"):
        np.sum(tensor(X), out=np.zeros(()))
    with pytest.raises(ValueError, match="out= has shape"):
        np.sum(tensor(X), axis=0, out=tensor(np.zeros(3)))
    with pytest.raises(TypeError, match="out= of dtype int64"):
        np.sum(tensor(X), axis=0, out=tensor(np.zeros((4, 5), int)))


def test_assigned_values_are_cast():
    y = tensor(np.zeros(3, np.uint8))
    y[0] = 2.9
    assert y.numpy().tolist() == [2, 0, 0] and y.dtype == np.uint8
    with pytest.raises(OverflowError):
        y[0] = 300
    with pytest.raises(ValueError, match="cannot convert float NaN"):
        y[1] = np.nan
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(2,\) into shape \(3,\)"):
        y[:] = [1, 2]


@settings(max_examples=60)
@given(st.data())
def test_random_basic_keys(data):
    shape = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    key = data.draw(basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))

    def write(x):
        x[key] = x[key] * 2 + 1
        return x

    check_eager(lambda x: x[key], x)
    check_eager(write, x)
    check_recorded(lambda x: x[key] + 0, (x,))


@settings(max_examples=60)
@given(st.data())
def test_random_array_keys(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    key = data.draw(integer_array_indices(shape))
    spread = list(key)
    for place in range(len(spread)):
        if data.draw(st.booleans()):
            spread[place] = slice(None)
    if data.draw(st.booleans()):
        spread.insert(data.draw(st.integers(0, len(spread))), None)
    key = tuple(spread)

    def write(x):
        x[key] = -1.5
        return x

    check_eager(lambda x: x[key], x)
    check_eager(write, x)


@settings(max_examples=30)
@given(arrays(bool, (3, 2)), st.booleans())
def test_random_masks(mask, traced):
    x = np.arange(6.0).reshape(3, 2)
    check_recorded(lambda x, m: x[m], (x, mask), (x, ~mask))
    key = tensor(mask) if traced else mask
    assert eager(lambda x: x[key], (x,))[0].tolist() == x[mask].tolist()
