"""Graphs that are compiled in parts, around what only NumPy computes."""

import numpy as np
import pytest
from agreement import assert_close, assert_refused, interpret, relative
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import samples

import numtape as nt
from numtape.compiler import segments
from numtape.compiler.backends.interpreter import Interpreted
from numtape.compiler.backends.llvm.compiled import Compiled
from numtape.compiler.segments import Segmented, segmented

RNG = np.random.default_rng(0)
OPS = ["exp", "multiply", "add", "where", "reshape", "slice", "sum", "gather", "matmul", "astype", "less", "transpose"]


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])
@given(samples(), st.sets(st.sampled_from(OPS), min_size=1, max_size=4))
def test_random_graphs_around_ops_of_numpy(sample, ops):
    want = interpret(sample.graph, sample.inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "BY_NUMPY", frozenset(ops))
        compiled = segmented(sample.graph, Compiled) or Interpreted(sample.graph)
    try:
        with np.errstate(all="ignore"):
            status, got = compiled.run(list(sample.inputs))
    except (IndexError, ValueError, ZeroDivisionError) as error:
        assert isinstance(want, type(error)), f"{error!r}, and the interpreter gives {want!r}"
        return
    if isinstance(want, Exception):
        assert_refused(status, want)
        return
    assert status == 0
    single = any(getattr(n.type, "dtype", None) == np.float32 for n in sample.graph.nodes)
    for a, b in zip(got, want, strict=True):
        assert_close(a, b, relative(1e-3 if single else 1e-9))
    arrays = [a for a in (*got, *sample.inputs) if isinstance(a, np.ndarray) and a.size]
    assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k] if a is not b)


def half(x, k):
    rounded = (x * k).astype(np.float16).astype(np.float32)
    if np.sum(rounded) > 0:
        rounded = rounded + 1
    large = rounded[rounded > 1]
    return np.cumsum(large) * x.shape[0], rounded[:k], np.tanh(x)


@pytest.mark.parametrize("backend", ["llvm", "numba"])
def test_float16_and_sizes_that_are_found_on_the_way(backend):
    f = nt.jit(half, backend=backend)
    for sign in (1.0, -1.0, 1.0):
        for k in (2, 3, 0):
            for n in (0, 1, 4, 9):
                x = np.arange(n) * sign
                for got, want in zip(f(x, k), half(x, k), strict=True):
                    np.testing.assert_allclose(got, want, rtol=1e-6)
                    assert got.dtype == want.dtype
    assert isinstance(f._last_entry().compiled, Segmented)
    assert f.stats.traces == 2


def test_gradients_through_float16():
    def loss(x):
        return np.sum(np.sin((x * 2).astype(np.float16)).astype(np.float64) * x)

    x = np.array([0.5, 1.0, -2.0])
    found = nt.grad(loss)(x)
    np.testing.assert_allclose(found, 2 * x * np.cos(2 * x) + np.sin(2 * x), atol=4e-3)


def test_what_it_cannot_do_is_said():
    f = nt.jit(half)
    f(np.ones(3), 2)
    with pytest.raises(TypeError, match="can't be called from @njit code"):
        f.njit(np.ones(3), 2)
