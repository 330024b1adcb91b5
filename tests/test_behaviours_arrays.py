"""Derivatives of array code, case by case: each by a tape, compiled, and against central differences."""

import numpy as np
import pytest

import numtape as nt

A = np.array


def differences(f, x, h=1e-6):
    x = np.asarray(x, dtype=float)
    out = np.zeros(x.shape)
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        out[i] = (np.sum(f(up)) - np.sum(f(down))) / (2 * h)
    return out


def by_tape(f, x):
    t = nt.tensor(x)
    with nt.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    return tape.gradient(y, t)


def compiled(f, x):
    return nt.grad(lambda x: np.sum(f(x)))(np.asarray(x, dtype=float))


def overwrite_first(x):
    y = x.copy()
    y[0] = y[0] * y[1]
    return y


def shifted_add(x):
    y = x.copy()
    y[1:] += y[:-1]
    return y


def through_view(x):
    y = x.copy()
    v = y[:2]
    v *= 2
    return y


def swapped(x):
    y = x.copy()
    y[0], y[1] = y[1], y[0]
    return y * A([1.0, 10.0])


def masked_write(x):
    y = x**2
    y[y > 3] = 0
    return y


def last_write_counts(x):
    y = np.zeros(2) * x
    y[1] = x[0]
    y[1] = x[1] * 2
    return y


def aliased(x):
    y = x * 1.0
    z = y
    z[0] = 5
    return y * x


def reversed_view(x):
    y = x.copy()
    r = x[::-1]
    y -= 2 * r
    return y * A([1.0, 2, 3])


def out_argument(x):
    y = np.zeros_like(x)
    np.multiply(x, x, out=y)
    return y


CASES = {
    "BR01": (lambda x: x * np.ones((2, 3)), 2.0, 6.0),
    "BR02": (lambda x: x + np.zeros((5, 4)), A([1.0]), A([20.0])),
    "BR04": (lambda x: np.ones((2, 1)) / x, A([1.0, 2]), A([-2.0, -0.5])),
    "BR05": (lambda x: np.broadcast_to(x, (4, 3)), A([1.0, 2, 3]), A([4.0, 4, 4])),
    "BR07": (lambda x: x[:, None] * x[None, :], A([1.0, 2, 3]), A([12.0, 12, 12])),
    "IX01": (lambda x: x[[0, 0, 2]] * A([1.0, 10, 100]), A([1.0, 2, 3]), A([11.0, 0, 100])),
    "IX02": (lambda x: x[[0, 0, 1], [1, 1, 0]] * A([1.0, 10, 100]), A([[1.0, 2], [3, 4]]), A([[0.0, 11], [100, 0]])),
    "IX04": (lambda x: x[A([True, False, True])] ** 2, A([1.0, 2, 3]), A([2.0, 0, 6])),
    "IX05": (lambda x: x[::-2] * A([1.0, 10]), A([1.0, 2, 3]), A([10.0, 0, 1])),
    "IX07": (lambda x: np.take(x, [2, 2, 0]) * A([1.0, 2, 4]), A([1.0, 2, 3]), A([4.0, 0, 3])),
    "IX08 repeat": (lambda x: np.repeat(x, 2) * np.arange(6), A([1.0, 2, 3]), A([1.0, 5, 9])),
    "IX08 tile": (lambda x: np.tile(x, 2) * np.arange(6), A([1.0, 2, 3]), A([3.0, 5, 7])),
    "IX10": (lambda x: np.concatenate([x, x]) * np.arange(6), A([1.0, 2, 3]), A([3.0, 5, 7])),
    "IX11": (lambda x: np.sort(x) * A([1.0, 10, 100]), A([3.0, 1, 2]), A([100.0, 1, 10])),
    "gather per batch": (
        lambda x: np.mean(x[[0, 1], :, [1, 0]]),
        np.arange(12.0).reshape(2, 3, 2),
        np.stack([np.tile(A([0.0, 1 / 6]), (3, 1)), np.tile(A([1 / 6, 0.0]), (3, 1))]),
    ),
    "RD01": (lambda x: np.sum(x, axis=-1, keepdims=True) ** 2, A([[1.0, 2], [3, 4]]), A([[6.0, 6], [14, 14]])),
    "RD02": (
        lambda x: np.sum(x, axis=(0, 2)) ** 2,
        np.arange(8.0).reshape(2, 2, 2),
        np.tile(A([[20.0, 20], [36, 36]]), (2, 1, 1)),
    ),
    "RD04": (lambda x: np.var(x, ddof=1, axis=0), A([[1.0, 2], [3, 8]]), A([[-2.0, -6], [2, 6]])),
    "RD05": (
        lambda x: np.std(x, ddof=1),
        A([1.0, 2, 4]),
        A([-0.4364357804719847, -0.1091089451179962, 0.5455447255899809]),
    ),
    "RD07 a": (lambda x: np.cumprod(x), A([0.0, 2, 3]), A([9.0, 0, 0])),
    "RD07 b": (lambda x: np.cumprod(x), A([2.0, 0, 0, 3]), A([1.0, 2, 0, 0])),
    "RD08": (lambda x: np.cumsum(x) * np.arange(4.0), A([[1.0, 2], [3, 4]]), A([[6.0, 6], [5, 3]])),
    "prod one zero": (np.prod, A([0.0, 2, 3]), A([6.0, 0, 0])),
    "prod two zeros": (np.prod, A([0.0, 2, 0]), A([0.0, 0, 0])),
    "DT05": (lambda x: np.floor(x) * x, 2.5, 2.0),
    "DT07 a": (lambda x: np.mod(x, 3), 7.5, 1.0),
    "DT07 b": (lambda y: np.mod(7.5, y), 3.0, -2.0),
    "DT07 c": (lambda y: np.mod(-7.5, y), 3.0, 3.0),
    "TI01": (np.max, A([1.0, 3, 3]), A([0.0, 0.5, 0.5])),
    "TI02": (np.max, A([2.0, 2, 2, 2]), A([0.25] * 4)),
    "TI04": (lambda x: np.max(x, axis=1), A([[1.0, 1], [2, 3]]), A([[0.5, 0.5], [0, 1]])),
    "TI05": (lambda x: np.maximum(x, 2.0), 2.0, 0.5),
    "TI07": (lambda x: np.max(np.stack([x, x])), 2.0, 1.0),
    "TI08": (np.abs, 0.0, 0.0),
    "WN01": (lambda x: np.where(x > 0, np.log(x), 0), A([0.0, 2]), A([0.0, 0.5])),
    "WN02": (lambda x: np.where(x >= 0, x, np.sqrt(-x)), 1.0, 1.0),
    "WN04": (lambda x: x**0 + x**1 + x**2 + x**1.5, 0.0, 1.0),
    "WN05 a": (lambda y: 0.0**y, 2.0, 0.0),
    "WN05 b": (lambda x: x**3, -2.0, 12.0),
    "WN07": (lambda x: np.linalg.norm(x) ** 2, A([0.0, 0]), A([0.0, 0])),
    "WN08": (lambda x: np.std(x), A([1.0, 1, 1]), A([0.0, 0, 0])),
    "WN10 a": (lambda x: np.logaddexp(x, 2.0), 2.0, 0.5),
    "WN10 b": (lambda x: np.logaddexp(x, 0.0), 1000.0, 1.0),
    "WN11": (np.sinc, 1e-6, -3.2898681336932059e-6),
    "WN13": (np.tanh, 400.0, 0.0),
    "log2 in where": (lambda x: np.where(x > 2, np.log2(x), 2 * x), A([0.0, 2, 3]), A([2.0, 2, 0.480898346962988])),
    "clip": (lambda x: np.clip(x, 0, 1), A([0.0, 0.5, 1, 2]), A([0.5, 1, 0.5, 0])),
    "clip of itself": (lambda x: np.clip(x, 0, x), 2.0, 1.0),
    "LA10": (lambda x: np.trace(x @ x), A([[1.0, 2], [3, 4]]), A([[2.0, 6], [4, 8]])),
    "LA11": (lambda x: np.outer(x, x) * A([[1.0, 2], [3, 4]]), A([1.0, 2]), A([12.0, 21])),
    "LA13 kron": (lambda x: np.kron(x, A([1.0, 2])) * np.arange(4.0), A([1.0, 2]), A([2.0, 8])),
    "EI01": (lambda x: np.einsum("ii->", x), A([[1.0, 2], [3, 4]]), np.eye(2)),
    "EI02": (lambda x: np.einsum("ii->i", x) ** 2, A([[1.0, 2], [3, 4]]), np.diag([2.0, 8])),
    "EI04": (
        lambda w: np.einsum("nd,nn->d", np.arange(8.0).reshape(4, 2), w),
        np.ones((4, 4)),
        np.diag([1.0, 5, 9, 13]),
    ),
    "EI05": (
        lambda x: np.einsum("abcd->bd", x) ** 2,
        np.arange(16.0).reshape(2, 2, 2, 2),
        np.tile(A([[40.0, 48], [72, 80]])[None, :, None, :], (2, 1, 2, 1)),
    ),
    "EI07": (lambda x: np.einsum("i,i", x, x), A([1.0, 2]), A([2.0, 4])),
    "EI08": (
        lambda x: np.einsum("ba", x) * np.arange(6.0).reshape(3, 2),
        np.ones((2, 3)),
        np.arange(6.0).reshape(3, 2).T,
    ),
    "einsum stretches": (lambda x: np.einsum("i,i", x, A([2.0])), A([2.0, 2]), A([2.0, 2])),
    "EM04": (lambda x: x @ np.ones((0, 3)), np.ones((2, 0)), np.zeros((2, 0))),
    "EM01 sum": (np.sum, np.zeros(0), np.zeros(0)),
    "EM01 prod": (np.prod, np.zeros(0), np.zeros(0)),
    "zero size": (lambda b: np.zeros((4, 0)) + b[:, None], np.ones(4), np.zeros(4)),
    "IP01": (overwrite_first, A([2.0, 3]), A([3.0, 3])),
    "IP02": (shifted_add, A([1.0, 2, 3]), A([2.0, 2, 1])),
    "IP04": (through_view, A([1.0, 2, 3]), A([2.0, 2, 1])),
    "IP05": (out_argument, A([1.0, 2, 3]), A([2.0, 4, 6])),
    "IP07": (swapped, A([1.0, 2]), A([10.0, 1])),
    "IP08": (masked_write, A([1.0, 2, 1.5]), A([2.0, 0, 3])),
    "IP10": (last_write_counts, A([1.0, 2]), A([0.0, 2])),
    "AL01": (aliased, A([1.0, 2]), A([5.0, 4])),
    "AL02": (reversed_view, A([1.0, 2, 3]), A([-5.0, -2, 1])),
    "broadcast_to ones": (lambda x: np.broadcast_to(x, (4, 3)), np.ones(3), A([4.0, 4, 4])),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("method", [by_tape, compiled])
def test_gradient(name, method):
    f, x, want = CASES[name]
    with np.errstate(all="ignore"):
        got = method(f, x)
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-12)
    assert np.shape(got) == np.shape(want)


@pytest.mark.parametrize("name", CASES)
def test_value_is_numpys(name):
    f, x, _ = CASES[name]
    with np.errstate(all="ignore"):
        want, got = f(np.asarray(x)), nt.jit(f)(np.asarray(x))
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-14)
    assert np.shape(got) == np.shape(want)
    assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("method", [by_tape, lambda f, x: nt.grad(f)(x)])
def test_dt01_a_gradient_has_its_sources_dtype(dtype, method):
    weights = np.ones(3)
    got = method(lambda x: np.sum(x * weights), np.ones(3, dtype))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.ones(3))


def test_dt02_casts_back_and_forth():
    def f(x):
        return np.sum(x.astype(np.float32).astype(np.float64) * 2)

    for method in (by_tape, lambda f, x: nt.grad(f)(x)):
        got = method(f, np.ones(2))
        assert got.dtype == np.float64
        np.testing.assert_array_equal(got, [2.0, 2.0])


def test_rd10_size_one_outputs():
    x = np.arange(3.0)
    a = nt.grad(lambda x: np.sum(np.sum(x, keepdims=True) ** 2))(x)
    b = nt.grad(lambda x: np.sum(x) ** 2)(x)
    np.testing.assert_array_equal(a, b)


def test_em02_max_of_nothing():
    with pytest.raises(ValueError, match="zero-size"):
        nt.jit(np.max)(np.zeros(0))
    f = nt.jit(lambda x: np.max(x))
    assert f(np.ones(3)) == 1.0
    with pytest.raises(ValueError, match="zero-size"):
        f(np.zeros(0))


@pytest.mark.parametrize("x", [np.array(2.0), 2.0, np.float64(2.0), np.float32(2.0)])
def test_zd01_scalars_give_scalars(x):
    got = nt.grad(lambda x: x**3)(x)
    assert np.shape(got) == ()
    assert np.asarray(got).dtype == np.asarray(x).dtype
    assert abs(got - 12.0) < 1e-6


def test_index_errors_are_numpys():
    f = nt.jit(lambda x, i: x[i])
    assert f(np.arange(3.0), np.array([0, -1])).tolist() == [0.0, 2.0]
    with pytest.raises(IndexError):
        f(np.arange(3.0), np.array([0, 3]))
    g = nt.jit(lambda x: x[5])
    assert g(np.arange(6.0)) == 5.0
    with pytest.raises(IndexError):
        g(np.arange(3.0))


def test_casting_an_index_inside():
    table = np.arange(5.0) * 10
    x = np.array([1.2, 3.7])

    def f(x):
        return np.sum(table[x.astype(np.int64)] * x)

    np.testing.assert_allclose(nt.grad(f)(x), [10.0, 30.0])


def test_second_derivative_of_a_squared_logarithm():
    np.testing.assert_allclose(nt.grad(nt.grad(lambda x: np.log(x) ** 2))(1.0), 2.0)


def test_results_are_fresh():
    f = nt.jit(lambda x: (x, x[1:], x.T))
    x = np.ones(3)
    a, b, c = f(x)
    a[:] = b[:] = 7
    assert x.tolist() == [1, 1, 1] and c.tolist() == [1, 1, 1]
    assert a.flags.c_contiguous and a.flags.writeable


def test_ip11_writes_into_arguments_reach_the_caller():
    @nt.jit
    def f(x):
        x[0] = 10.0
        return np.sum(x)

    x = np.ones(3)
    assert f(x) == 12.0 and x.tolist() == [10.0, 1.0, 1.0]
    x = np.ones(5)
    assert f(x) == 14.0 and x.tolist() == [10.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("name", ["matmul", "dot"])
@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 2, 3), (3,)),
    ],
)
def test_la13_products_of_every_rank(name, shapes):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=s) for s in shapes)
    product = getattr(np, name)
    np.testing.assert_allclose(nt.jit(lambda a, b: product(a, b))(a, b), product(a, b), rtol=1e-12)
    g = nt.grad(lambda a, b: np.sum(np.sin(product(a, b))), argnums=(0, 1))(a, b)
    np.testing.assert_allclose(g[0], differences(lambda a: np.sin(product(a, b)), a), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(g[1], differences(lambda b: np.sin(product(a, b)), b), rtol=1e-6, atol=1e-8)


def test_indices_of_empty_arrays_are_checked():
    f = nt.jit(lambda x, i: x[:, i])
    assert f(np.ones((2, 3)), np.array([0])).shape == (2, 1)
    assert f(np.ones((0, 3)), np.array([0])).shape == (0, 1)
    for shape in ((0, 0), (2, 0)):
        with pytest.raises(IndexError):
            f(np.ones(shape), np.array([0]))
