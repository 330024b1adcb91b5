"""Compiled graphs against the interpreter, their statuses, and what they promise of their results."""

import math
import threading

import numpy as np
import pytest
import samples as samples_of_passes
from agreement import assert_close, assert_each_node_agrees, assert_refused, interpret, relative
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import PROGRAMS, inputs, start
from random_graphs import samples
from rows import pairing, slope, trace

from numtape.compiler.backends.interpreter import Interpreted
from numtape.compiler.gradient import vjp
from numtape.compiler.pipeline import compile_graph
from numtape.compiler.simplify import simplify
from numtape.tracer.dims import atom
from numtape.tracer.graph import Builder, Guard
from numtape.tracer.ops import words as w
from numtape.tracer.types import BOOL, FLOAT64, INT64, ArrayType

N, M = atom("x.0"), atom("x.1")
BACKENDS = ("llvm", "numba")
both = pytest.mark.parametrize("backend", BACKENDS)
slow = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
)


def assert_agrees(graph, values, bound=1e-9):
    """The compiled outputs are the interpreter's, from either back end, or all refuse."""
    want = interpret(graph, values)
    for backend in BACKENDS:
        status, got = compile_graph(graph, backend).run(values)
        if isinstance(want, Exception):
            assert_refused(status, want)
            continue
        assert status == 0
        single = any(getattr(n.type, "dtype", None) == np.float32 for n in graph.nodes)
        for out, a, b in zip(graph.outputs, got, want, strict=True):
            assert_close(a, b, relative(1e-3 if single else bound), what=f"%{out} by {backend}")


@slow
@given(samples())
def test_random_graphs(sample):
    assert_agrees(sample.graph, sample.inputs)


@slow
@given(samples(everything=True))
def test_each_node_of_random_graphs(sample):
    if isinstance(interpret(sample.graph, sample.inputs), Exception):
        return
    for backend in BACKENDS:
        status, outputs = compile_graph(sample.graph, backend).run(sample.inputs)
        assert status == 0
        assert_each_node_agrees(sample.graph, sample.inputs, outputs)


@slow
@given(samples(smooth=True, most=6), st.integers(0, 2**32 - 1))
def test_gradients_of_random_graphs(sample, seed):
    """Compiled gradients are the interpreter's, and the slopes of central differences in a random direction."""
    values = interpret(sample.graph, sample.inputs)
    if isinstance(values, Exception):
        return
    free = [i for i in sample.graph.inputs if sample.graph.type(i).inexact]
    graph = simplify(vjp(sample.graph, free))
    ones = [np.ones_like(v) for v in values]
    assert_agrees(graph, [*sample.inputs, *ones])

    _, outputs = compile_graph(graph, "llvm").run([*sample.inputs, *ones])
    gradients = outputs[len(values) :]
    rng = np.random.default_rng(seed)
    steps = [rng.uniform(-1, 1, np.shape(sample.inputs[i])) for i in free]

    def moved(h):
        inputs = list(sample.inputs)
        for i, step in zip(free, steps, strict=True):
            inputs[i] = np.asarray(inputs[i] + h * step)[()]
        return pairing(ones, interpret(sample.graph, inputs))

    want, got = slope(moved, 1e-4), pairing(gradients, steps)
    largest = max((np.abs(g).max(initial=0.0) for g in map(np.asarray, gradients)), default=0.0)
    # a difference of sums of size s over a step of 1e-4 is exact to about 1e-16 s / 1e-4
    assert abs(got - want) <= 1e-6 * max(largest, 1.0) + 1e-11 * sum(np.abs(v).sum() for v in map(np.asarray, values))


@pytest.mark.parametrize("name", PROGRAMS)
@both
def test_programs(backend, name):
    graph = PROGRAMS[name]()
    compiled = compile_graph(graph, backend)
    for n, m in ((6, 3), (4, 1), (0, 2), (1, 0), (1, 1), (5, 600), (1500, 2)):
        values = inputs(graph, n, m)
        want = interpret(graph, values)
        status, got = compiled.run(values)
        if isinstance(want, Exception):
            assert_refused(status, want)
            continue
        assert status == 0
        for a, b in zip(got, want, strict=True):
            assert_close(a, b, relative(1e-11))


@pytest.mark.parametrize("name", samples_of_passes.PROGRAMS)
def test_programs_of_the_passes(name):
    """The programs on which derivatives are tested, and their derivatives."""
    graph, values = samples_of_passes.program(name)
    assert_agrees(graph, list(values), 1e-12)
    backward = simplify(vjp(graph, [i for i in graph.inputs if graph.type(i).inexact]))
    cotangents = [samples_of_passes.like(v) for v in interpret(graph, values) if np.asarray(v).dtype.kind == "f"]
    assert_agrees(backward, [*values, *cotangents], 1e-11)


def mapped(body, types, *values, flags=None):
    """A program that maps a function of rows."""
    inner = trace(body, types)
    b = Builder("outer")
    flags = flags or (True,) * len(values)
    inputs = []
    for i, value in enumerate(values):
        shape = tuple(atom(f"{'xyz'[i]}.{axis}") for axis in range(np.ndim(value)))
        inputs.append(b.input("xyz"[i], ArrayType(np.asarray(value).dtype, shape)))
    return b.build([b.op("map", *inputs, body=inner, mapped=flags)])


def test_maps_nest_and_keep_their_status():
    row = ArrayType(FLOAT64, (atom("a.0"),))

    def rows(matrix, scale):
        inner = trace(lambda a, b: w.sum_(a) * b + w.argmax(a, 0), [row, ArrayType(FLOAT64)])
        return matrix.op("map", scale, body=inner, mapped=(True, False))

    matrix = ArrayType(FLOAT64, (atom("a.0"), atom("a.1")))
    for shape in ((2, 3, 4), (0, 3, 4), (2, 0, 4), (2, 1, 0), (1, 1, 1)):
        values = [np.random.default_rng(0).normal(size=shape), np.float64(2)]
        graph = mapped(rows, [matrix, ArrayType(FLOAT64)], *values, flags=(True, False))
        assert_agrees(graph, values)


def test_order_is_numpys_for_nan_and_ties():
    b, (x,) = start("order", x=(N, M))
    graph = b.build([w.sort(x, 1), w.argsort(x, 1), w.sort(x, 0), w.argmax(x, 1), w.argmin(x, 0), w.max_(x, (1,))])
    rng = np.random.default_rng(2)
    pool = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0, 1.0, 2.0, -3.0])
    for shape in ((5, 40), (3, 8), (1, 1), (4, 9), (2, 200)):
        assert_agrees(graph, [rng.choice(pool, shape)])


@both
def test_results_are_fresh_and_never_aliases(backend):
    b, (x, y) = start("same", x=(N,), y=(N, 2))
    flat = w.reshape(y, (N * 2,))
    double = x + x
    graph = b.build([x, x, double, double, w.reshape(double, (N, 1)), flat, y, b.const(np.arange(3.0))])
    values = [np.arange(4.0), np.arange(8.0).reshape(4, 2)]
    compiled = compile_graph(graph, backend)
    status, outputs = compiled.run(values)
    assert status == 0
    everything = [*values, *outputs, *compiled.run(values)[1]]
    for position, array in enumerate(everything):
        assert array.flags.c_contiguous and array.flags.writeable
        assert not any(np.shares_memory(array, other) for other in everything[:position])
    for got, want in zip(outputs, interpret(graph, values), strict=True):
        np.testing.assert_array_equal(got, want)


@both
def test_arrays_that_cannot_be_written_to_are_taken(backend):
    b, (x,) = start("frozen", x=(N,))
    compiled = compile_graph(b.build([w.exp(x), w.sum_(x)]), backend)
    values = np.arange(3.0)
    want = compiled.run([values])[1]
    values.flags.writeable = False
    for got, expected in zip(compiled.run([values])[1], want, strict=True):
        np.testing.assert_array_equal(got, expected)
    with pytest.raises(TypeError, match="No matching definition|expected f64"):
        compiled.run([values.astype("float32")])


@both
def test_names_of_the_user_clash_with_none_of_ours(backend):
    b = Builder("add")
    x = b.input("u", ArrayType(FLOAT64, (atom("u.0"),)))
    y = b.input("u_0", ArrayType(FLOAT64, (atom("u_0.0"),)))
    z = b.input("select", ArrayType(FLOAT64, ()))
    i = b.input("i", ArrayType(INT64, (), True))
    rest = [b.input(n, ArrayType(FLOAT64, ())) for n in ("value0", "lambda", "a b", "a.b", "3", "status", "np", "lo")]
    graph = b.build([w.sum_(x) * z, w.where(x > 0.0, x, 0.0) + w.sum_(y), i + 1, sum(rest[1:], rest[0])])
    values = [np.array([1.0, -2, 3]), np.array([5.0]), 2.0, 7, *range(8)]
    for got, want in zip(compile_graph(graph, backend).run(values)[1], interpret(graph, values), strict=True):
        np.testing.assert_array_equal(got, want)


@both
def test_graph_without_inputs(backend):
    b = Builder("nothing")
    graph = b.build([w.iota(b, 4), b.const(np.eye(3)[:2]), b.const(2.5)])
    for got, want in zip(compile_graph(graph, backend).run([])[1], interpret(graph, []), strict=True):
        np.testing.assert_array_equal(got, want)


@both
def test_scalars_keep_their_kind(backend):
    b = Builder("scalars")
    x = b.input("x", ArrayType(np.dtype("float32")))
    k = b.input("k", ArrayType(INT64, (), True))
    f = b.input("f", ArrayType(FLOAT64, (), True))
    t = b.input("t", ArrayType(BOOL, (), True))
    n = b.input("n", ArrayType(np.dtype("int8")))
    graph = b.build([x * f, k + k, f * k, t.op("logical_not"), n + n, w.size(b, atom("k")), x > 1.0])
    values = [np.float32(0.1), 7, 0.3, True, np.int8(100)]
    status, outputs = compile_graph(graph, backend).run(values)
    assert status == 0
    want = interpret(graph, values)
    assert [(type(v), v) for v in outputs] == [(type(v), v) for v in want]
    assert outputs[4] == np.int8(-56)
    status, again = compile_graph(graph, backend).run([np.array(0.1, np.float32), 7, 0.3, True, np.array(100, np.int8)])
    assert again == outputs


def guarded():
    """Guards on sizes, on a value, and on a count, with work between them."""
    b = Builder("guarded")
    x = b.input("x", ArrayType(FLOAT64, (N,)))
    y = b.input("y", ArrayType(FLOAT64, (atom("y.0"),)))
    total = w.sum_(w.exp(x))
    large = total > 10.0
    found = b.op("nonzero", x > 0.0, count="#0")
    picked = w.gather(x, (b.op("pick", found, index=0),), (0,), 0)
    guards = [
        Guard(N - atom("y.0"), "==", True, 0), Guard(large.index, "is", True, 8), Guard(atom("#0") - 2, ">=", True, 12),
    ]  # fmt: skip
    return b.build([w.sum_(y) * x, picked, w.sum_(w.sum_(x) * y), total], guards)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [([1, 2, 3], [1], 1), ([1, 1], [1, 1], 2), ([5, -5], [1, 1], 3), ([5, 5, -1], [1, 1, 1], 0), ([], [], 2)],
)
@both
def test_status_is_the_guard_that_failed(backend, x, y, expected):
    graph = guarded()
    values = [np.array(x, float), np.array(y, float)]
    status, outputs = compile_graph(graph, backend).run(values)
    assert status == expected
    assert bool(outputs) == (expected == 0)
    if expected == 0:
        for got, want in zip(outputs, interpret(graph, values), strict=True):
            assert_close(got, want, relative(1e-12))


@both
def test_a_guard_on_sizes_comes_before_any_memory(backend):
    b, (x, y) = start("sizes", x=(N,), y=(atom("y.0"),))
    huge = w.broadcast_to(x, (N, 1 << 20, N))
    graph = b.build([w.sum_(huge * 1.0) + w.sum_(y), w.slice_axis(x, 0, 3, N - 3)], [Guard(N - 3, ">=", True, 0)])
    assert compile_graph(graph, backend).run([np.ones(2), np.ones(1)]) == (1, [])


@pytest.mark.parametrize(
    ("op", "values", "params"),
    [
        ("gather", ([1.0, 2], [0, 2]), {"axes": (0,), "at": 0}),
        ("gather", ([1.0, 2], [-3]), {"axes": (0,), "at": 0}),
        ("gather", ([], [0]), {"axes": (0,), "at": 0}),
        ("scatter_set", ([1.0, 2], [5.0], [2]), {"axes": (0,), "at": 0}),
        ("max", ([],), {"axes": (0,)}),
        ("argmin", ([],), {"axis": 0}),
        ("power", ([2, 3], [1, -1]), {}),
    ],
)
@both
def test_what_numpy_refuses_has_a_negative_status(backend, op, values, params):
    b = Builder("refused")
    arrays = [np.array(v, float) if not v or isinstance(v[0], float) else np.array(v) for v in values]
    shapes = [(atom(f"{'abc'[i]}.0"),) for i in range(len(arrays))]
    xs = [b.input("abc"[i], ArrayType(a.dtype, shape)) for i, (a, shape) in enumerate(zip(arrays, shapes, strict=True))]
    graph = b.build([b.op(op, *xs, **params)])
    assert isinstance(interpret(graph, arrays), Exception)
    status, outputs = compile_graph(graph, backend).run(arrays)
    assert status < 0
    assert outputs == []


@both
def test_sums_are_as_accurate_as_numpys(backend):
    b, (x,) = start("sum", x=(N,))
    compiled = compile_graph(b.build([w.sum_(x), w.sum_(w.expand_dims(x, (0,)), (1,))]), backend)
    values = np.random.default_rng(0).normal(size=1_000_000) * 1e3 + 0.1
    exact = math.fsum(values)
    _, (total, row) = compiled.run([values])
    assert abs(total - exact) <= abs(np.sum(values) - exact)
    assert abs(row[0] - exact) <= abs(np.sum(values) - exact)
    inf = np.inf
    for special, want in (([inf, 1.0], inf), ([inf, -inf], np.nan), ([1e308, 1e308], inf), ([-0.0], 0.0)):
        np.testing.assert_equal(compiled.run([np.array(special)])[1][0], want)


def test_dispatcher_runs_inside_of_njit():
    numba = pytest.importorskip("numba")
    compiled = compile_graph(PROGRAMS["tanh_chain"](), "numba")
    call = compiled.dispatcher

    @numba.njit
    def descend(x, y, z, steps):
        for _ in range(steps):
            result = call(x, y, z)
            x = x - 0.1 * result[2]
        return x

    values = [np.linspace(0, 1, 5), np.linspace(1, 2, 5), np.linspace(-1, 1, 5)]
    want = values[0]
    for _ in range(3):
        want = want - 0.1 * compiled.run([want, *values[1:]])[1][1]
    np.testing.assert_array_equal(descend(*values, 3), want)


def test_source_is_what_ran():
    compiled = compile_graph(PROGRAMS["dense_layer"](), "numba")
    scope = {}
    exec(compiled.source, scope)
    x = inputs(compiled.graph)
    status, *outputs = scope["dense_layer_call"](*x)
    assert status == 0
    for a, b in zip(outputs, compiled.run(x)[1], strict=True):
        np.testing.assert_array_equal(a, b)
    assert "for i in range" in compiled.source
    assert compiled.kernels.startswith("program dense_layer(")
    assert compiled.compile_seconds > 0


@pytest.mark.parametrize("dtype", ["float16", "complex128"])
@both
def test_dtypes_without_arithmetic_are_interpreted(backend, dtype):
    b = Builder("half")
    x = b.input("x", ArrayType(np.dtype(dtype), (N,)))
    compiled = compile_graph(b.build([x * x]), backend)
    assert isinstance(compiled, Interpreted)
    values = np.array([1, 2], dtype)
    np.testing.assert_array_equal(compiled.run([values])[1][0], values * values)
    with pytest.raises(TypeError, match="half holds an op or dtype that numba can't compile"):
        _ = compiled.dispatcher


def test_unknown_back_end():
    with pytest.raises(ValueError, match="'llvm', 'numba' and 'interpreter'"):
        compile_graph(PROGRAMS["row_sums"](), "fortran")


@both
def test_threads_share_a_compiled_graph(backend):
    compiled = compile_graph(PROGRAMS["softmax_rows"](), backend)
    rng = np.random.default_rng(0)
    cases = [rng.normal(size=(n, 40)) for n in (1, 20, 300, 50)]
    want = [compiled.run([c])[1] for c in cases]
    wrong = []

    def work(case, expected):
        for _ in range(50):
            got = compiled.run([case])[1]
            if not all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True)):
                wrong.append(case.shape)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(cases, want, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_long_programs_are_compiled_in_parts():
    b, (x,) = start("long", x=(N, M))
    y = w.exp(x)
    for k in range(1, 30):
        row = w.slice_axis(y, 0, k - 1, 1) * 0.5 + w.slice_axis(y, 0, k, 1)
        y = w.set_slice(y, row, (k, 0), (1, 1))
    picked = w.gather(y, (w.iota(b, 2),), (0,), 0)
    graph = b.build([y, w.sum_(y), picked], [Guard(w.isnan(w.sum_(y)).index, "is", False, 1)])
    compiled = compile_graph(graph, "numba")
    assert "long_part2" in compiled.source
    values = [np.random.default_rng(0).normal(size=(30, 3))]
    for got, want in zip(compiled.run(values)[1], interpret(graph, values), strict=True):
        assert_close(got, want, relative(1e-12))
    assert compiled.run([np.full((30, 3), np.nan)])[0] == 1
