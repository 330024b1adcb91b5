"""Numbers that once came out otherwise than NumPy's, or not at all."""

import numpy as np
import pytest
from scipy import special

import numtape as nt


def agrees(function, *args):
    """A compiled call gives what NumPy gives: values, dtypes, shapes."""
    want, got = function(*args), nt.jit(function)(*args)
    for g, w in zip(got, want, strict=True) if isinstance(want, tuple | list) else [(got, want)]:
        assert np.asarray(g).dtype == np.asarray(w).dtype
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("kind", ["i8", "i1"])
def test_signed_and_unsigned_integers_compare_by_value(kind):
    signed = np.array([-1, 0, 5, 127, -128, 3], kind)
    unsigned = np.array([2**64 - 1, 0, 5, 127, 2**63, 2**63], "u8")

    def compared(x, y):
        return x < y, x <= y, x > y, x >= y, x == y, x != y

    agrees(compared, signed, unsigned)
    agrees(compared, unsigned, signed)


def test_an_axis_added_beside_an_element_is_still_a_view():
    def scaled(x):
        y = x.copy()
        view = y[None, -2]
        view *= 3
        return y, view

    agrees(scaled, np.arange(4.0))


def test_an_index_array_of_no_axes_makes_a_copy():
    def scaled(x):
        y = x.copy()
        row = y[np.array(1)]
        row *= 3
        return y, row

    agrees(scaled, np.arange(6.0).reshape(3, 2))


def test_a_derivative_by_a_python_number_is_not_rounded_to_float32():
    a = np.array([0.1, 0.3], "f4")
    y, t = nt.jvp(lambda x: np.exp(x) * a, (0.5,), (1.0,))
    assert t.dtype == np.float64
    np.testing.assert_array_equal(t, y)
    gradient = nt.grad(lambda u, s: float(u * s) * 2.0)(np.float64(0.3), a[0])
    assert gradient == 2 * np.float64(a[0])


def test_the_logarithm_of_an_empty_sum():
    def summed(x):
        first = np.logaddexp.reduce(x, initial=0.5)
        return np.logaddexp.reduce(x), first, np.logaddexp.reduce(x, where=x > 1, keepdims=True), special.logsumexp(x)

    compiled = nt.jit(summed)
    for x in (np.array([1.0, 2, 3]), np.zeros(0), np.array([-np.inf])):
        np.testing.assert_allclose(
            np.hstack(compiled(x)), np.hstack([*summed(x)[:3], np.logaddexp.reduce(x)]), rtol=1e-15
        )


def test_relative_entropy_of_nan_is_nan():
    x = np.array([0.0, np.nan, 1, -1, np.inf, 2, np.nan])
    y = np.array([np.nan, 1.0, np.nan, 2, -np.inf, 2, 0])
    agrees(special.rel_entr, x, y)


@pytest.mark.parametrize("method", ["linear", "midpoint", "nearest"])
def test_quantiles_stand_where_numpy_puts_them(method):
    """0.6 of six values is the fourth exactly, though 6 * 0.6 - 0.6 is less than 3."""
    agrees(lambda x: np.quantile(x, 0.6, method=method), np.arange(6.0))


def test_quantiles_out_of_range_raise_compiled_too():
    compiled = nt.jit(np.percentile)
    assert compiled(np.arange(5.0), 50.0) == 2
    with pytest.raises(ValueError, match="Percentiles must be in the range"):
        compiled(np.arange(5.0), 105.0)
    with pytest.raises(ValueError, match="Quantiles must be in the range"):
        nt.jit(lambda x: np.quantile(x, 1.5))(np.arange(5.0))


def test_powers_of_arrays_are_those_of_the_operator():
    agrees(lambda x: (x**0.5, x**2, x[1] ** 0.5, np.power(x, 0.5)), np.array([-np.inf, -0.0, 4.0, -1.0]))
    agrees(lambda x: (x**2, x**1), np.array([True, False]))


def test_negative_repeats_raise_in_compiled_calls_too():
    compiled = nt.jit(np.repeat)
    np.testing.assert_array_equal(compiled(np.arange(3.0), np.array([2, 0, 1])), [0, 0, 2])
    with pytest.raises(ValueError, match="repeats may not contain negative values"):
        compiled(np.arange(3.0), np.array([3, -1, 1]))


def written(array, value):
    array[1] = value
    return array


@pytest.mark.parametrize(
    "function",
    [
        lambda k: np.full(2, k, "u1"),
        lambda k: np.array([k, 1], "u1"),
        lambda k: np.asarray(k, "u1"),
        lambda k: written(np.zeros(2, "u1"), k),
    ],
)
def test_a_python_integer_must_fit_the_dtype_it_is_put_into(function):
    compiled = nt.jit(function)
    np.testing.assert_array_equal(compiled(255), function(255))
    with pytest.raises(OverflowError, match="256 out of bounds for uint8"):
        compiled(256)
    np.testing.assert_array_equal(compiled(3), function(3))


@pytest.mark.parametrize(("low", "high"), [(-1, 300), (-1, 3), (2, 255), (None, 1000)])
def test_integer_bounds_beyond_the_dtype_clip_nothing(low, high):
    agrees(lambda x: np.clip(x, low, high), np.array([0, 5, 255], np.uint8))


def test_what_is_known_of_a_size_stays_known_when_it_gets_another_name():
    """`v[:1]` was known to be of length 1 before the two lengths of x were known to be equal."""

    def f(x):
        u = x.copy()[:, :] * 2
        h = u.T.copy()
        y = x + x.T
        v = np.sin(h)
        return np.sum(v * v[:1, :] + y)

    x = np.random.default_rng(0).normal(size=(3, 3))
    found = nt.grad(f)(x)
    step = np.random.default_rng(1).normal(size=(3, 3))
    difference = (f(x + 1e-6 * step) - f(x - 1e-6 * step)) / 2e-6
    np.testing.assert_allclose(np.sum(found * step), difference, rtol=1e-7)
