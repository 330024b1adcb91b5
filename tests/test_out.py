"""`fn(*args, out=...)`: results in the caller's own arrays."""

import functools

import numpy as np
import pytest

import numtape as nt


@nt.jit
def scaled(x, k=2.0):
    return x * k


def test_the_result_is_written_where_the_caller_says():
    x, out = np.arange(4.0), np.empty(4)
    for turn in range(4):
        assert scaled(x + turn, out=out) is out
        np.testing.assert_array_equal(out, 2 * (x + turn))
    assert scaled(x, 3.0, out=out) is out and out[3] == 9
    assert scaled(x, k=4.0, out=out) is out and out[3] == 12
    np.testing.assert_array_equal(scaled(x, out=None), 2 * x)
    assert scaled.stats.calls == scaled.stats.hits + scaled.stats.traces


def test_trees_views_inputs_and_wider_dtypes():
    both = nt.value_and_grad(lambda x: np.sum(x**3))
    x = np.arange(1.0, 4.0)
    value, slopes = np.empty(()), np.zeros((3, 2))
    assert both(x, out=(value, slopes[:, 1]))[0] is value
    assert value == 36
    np.testing.assert_array_equal(slopes, [[0, 3], [0, 12], [0, 27]])
    np.testing.assert_array_equal(scaled(x, out=x), [2, 4, 6])  # an input: the result is there before it is written
    single = np.arange(3, dtype="float32")
    assert scaled(single, out=np.empty(3)).dtype == np.float64
    square = nt.jit(np.square)
    assert square(x, out=x) is x and x[2] == 36


def test_what_does_not_fit_is_refused_and_nothing_is_written():
    x, pair = np.arange(3.0), nt.jit(lambda x: (x + 1, x.sum()))
    kept, read_only = np.zeros(3), np.zeros(3)
    read_only.flags.writeable = False
    cases = [
        (scaled, np.zeros(4), ValueError, r"shape \(3,\).*shape \(4,\)"),
        (scaled, np.zeros(3, int), TypeError, "float64.*int64"),
        (scaled, [0.0, 0.0, 0.0], ValueError, "structure"),
        (scaled, read_only, ValueError, "read-only"),
        (pair, kept, ValueError, "2 arrays"),
        (pair, (kept, np.zeros(2)), ValueError, "shape"),
        (pair, (kept, 1.0), TypeError, "arrays.*float"),
        (pair, (kept, kept[0:1].reshape(())), ValueError, "share memory"),
    ]
    for function, out, error, text in cases:
        with pytest.raises(error, match=f"(?s)out=.*{text}"):
            function(x, out=out)
    assert not kept.any()


def test_a_parameter_called_out_is_an_argument_like_any_other():
    @nt.jit
    def add(x, out):
        return x + out

    np.testing.assert_array_equal(add(np.ones(2), out=np.ones(2)), [2, 2])
    takes_all = nt.jit(lambda x, **rest: x + rest["out"])
    np.testing.assert_array_equal(takes_all(np.ones(2), out=np.ones(2)), [2, 2])


def test_ufuncs_with_arguments_given():
    x, out = np.arange(3.0), np.empty(3)
    double = nt.jit(functools.partial(np.multiply, 2.0))
    for _ in range(3):
        np.testing.assert_array_equal(double(x), 2 * x)
    assert double(x, out=out) is out and out[2] == 4
