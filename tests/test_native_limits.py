"""Programs at the limits of the native path: long loop bodies, arrays too large for any memory."""

import subprocess
import sys

import numpy as np
import pytest
from agreement import assert_close, assert_refused, interpret, relative
from hypothesis import HealthCheck, given, settings
from random_graphs import samples

import numtape as nt
from numtape.compiler.backends.llvm import pieces, tiles
from numtape.compiler.backends.llvm.compiled import native_text
from numtape.compiler.kernel import Let
from numtape.compiler.pipeline import compile_graph

RNG = np.random.default_rng(0)


def long_chain(x, y, steps):
    """The sum and the largest of a value after many elementwise steps, which also writes into a copy of y."""
    a, kept = x, y.copy()
    for step in range(steps):
        match step % 5:
            case 0:
                a = np.sin(a) * y
            case 1:
                a = a + 0.5 * x
            case 2:
                a = np.where(a > 0.1, a, np.tanh(a))
            case 3:
                a = a / (1.0 + a * a)
            case 4:
                kept = kept + 0.1 * a
    return np.sum(a), np.max(kept), kept


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_bodies_run_in_pieces(dtype):
    f = nt.jit(lambda x, y: long_chain(x, y, 400))
    for n in (1, 5, 63, 64, 65, 200):
        x, y = RNG.normal(size=n).astype(dtype), RNG.normal(size=n).astype(dtype)
        for got, want in zip(f(x, y), long_chain(x, y, 400), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4 if dtype == "float32" else 1e-11)
    assert "@piece" in native_text(f.graph("fused"))
    assert f.stats.traces == 1


def test_gradients_of_long_bodies(capfd):
    both = nt.value_and_grad(lambda x, y: long_chain(x, y, 250)[0], argnums=(0, 1))
    by_numpy = nt.value_and_grad(nt.jit(lambda x, y: long_chain(x, y, 250)[0], backend="interpreter"), argnums=(0, 1))
    x, y = RNG.normal(size=70), RNG.normal(size=70)
    value, slopes = both(x, y)
    assert "@piece" in native_text(both.graph("fused"))
    want, want_slopes = by_numpy(x, y)
    np.testing.assert_allclose(value, want, rtol=1e-12)
    for slope, expected in zip(slopes, want_slopes, strict=True):
        np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
    assert not capfd.readouterr().err, "the compiler has nothing to say to the user"


def test_loops_with_vector_math_are_vectorised():
    """Without a vector form that fits, LLVM goes back to scalar calls, and says nothing."""
    import llvmlite.binding as llvm

    from numtape.compiler.backends.llvm.target import lanes, machine

    f = nt.value_and_grad(lambda x, y: np.sum(np.tanh(np.exp(-x * x) * np.sin(y) + np.log1p(x * x))), argnums=(0, 1))
    for dtype, short in (("float64", "f64"), ("float32", "f32")):
        f(np.ones(3, dtype), np.ones(3, dtype))
        module = llvm.parse_assembly(native_text(f.graph("fused")))
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        options.loop_vectorization = True
        builder = llvm.create_pass_builder(machine(), options)
        builder.getModulePassManager().run(module, builder)
        for name in ("exp", "sincos", "log1p", "tanh"):
            assert f"@nt_{name}_{short}_v{lanes()[short][-1]}(<" in str(module).replace("} @", " @"), name


def test_a_running_value_in_a_long_body_keeps_its_order():
    """A scan reads what the index before has left: such a body stays in one piece."""

    def f(x):
        a = x
        for _ in range(120):
            a = np.sin(a) + 0.1 * x
        return np.cumsum(a) * a

    x = RNG.normal(size=90)
    np.testing.assert_allclose(nt.jit(f)(x), f(x), rtol=1e-11)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])
@given(samples())
def test_random_graphs_in_pieces(sample):
    """Every loop body of more than four statements is cut, as those of hundreds are, and rows go in tiles of three."""
    want = interpret(sample.graph, sample.inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LONGEST", 4)
        patch.setattr(pieces, "LENGTH", 4)
        patch.setattr(pieces, "TURNS", 2)
        patch.setattr(tiles, "TILE", 3)
        patch.setattr(tiles, "_is_math", lambda statement: isinstance(statement, Let))
        status, got = compile_graph(sample.graph, "llvm").run(sample.inputs)
    if isinstance(want, Exception):
        assert_refused(status, want)
        return
    assert status == 0
    single = any(getattr(n.type, "dtype", None) == np.float32 for n in sample.graph.nodes)
    for a, b in zip(got, want, strict=True):
        assert_close(a, b, relative(1e-3 if single else 1e-9))


QUIET = [
    lambda x: np.cumsum(np.exp(x)), lambda x: np.argmax(np.exp(x)), lambda x: np.prod(np.exp(x)),
    lambda x: np.max(np.exp(x)), lambda x: np.exp(x)[::-1] * np.exp(x), lambda x: np.any(np.exp(x) > 1),
    lambda x: np.fmod(np.exp(x), x), lambda x: np.exp(x[1:]) * np.log(x[:-1]), lambda x: np.cumprod(np.sin(x)),
    lambda x: np.exp(np.where(x > 0.5, x, 0)), lambda x: np.exp(x)[np.arange(40) % 7],
    lambda x: np.exp(x).astype(np.int64) ** 2 // 3, lambda x: np.var(np.exp(x.reshape(5, 8)), axis=0),
    lambda x: np.bincount(np.arange(40) % 7, np.exp(x)), lambda x: np.floor_divide(np.exp(x), 0.3),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(QUIET)))
def test_the_compiler_writes_nothing_on_stderr(number, capfd):
    """LLVM complains there of loops that were to be vectorised and can't be."""
    x = RNG.uniform(0.1, 1.0, size=40)
    np.testing.assert_allclose(nt.jit(QUIET[number])(x), QUIET[number](x), rtol=1e-12)
    shown = capfd.readouterr()
    assert not shown.err and not shown.out


HUGE = """
import numpy as np, numtape as nt
cases = [
    (lambda n: np.arange(n) * 1.0, 2**61), (lambda n: np.full((n, n), 1.0), 2**31), (lambda n: np.eye(n), 2**32),
    (lambda n: np.linspace(0, 1, n) * 2, 2**61), (lambda n: np.zeros((n, 3)), 2**62 - 1),
    (lambda n: np.broadcast_to(np.ones(3), (n, 3)) + 1.0, 2**60), (lambda n: np.zeros(n), 2**45),
    (lambda n: np.outer(np.arange(n), np.arange(n)), 2**33),
]
for body, size in cases:
    f = nt.jit(body)
    f(3)
    f(4)
    try:
        f(size)
    except (MemoryError, ValueError):
        continue
    raise AssertionError(f"{size} elements fitted into memory")
print("refused")
"""


def test_arrays_beyond_all_memory_are_refused():
    """In a process of its own: where a size wrapped, the kernel would write into nothing."""
    done = subprocess.run([sys.executable, "-c", HUGE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip() == "refused"
