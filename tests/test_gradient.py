"""The gradient passes: reverse against central differences, forward against reverse, and what is refused."""

import dataclasses

import numpy as np
import pytest
from rows import derivatives, grad, gradients, pairing, slope, trace
from samples import COARSE, PROGRAMS, N, compute, like, moved, program

from numtape.compiler.forward import jvp
from numtape.compiler.gradient import results_of, value_and_grad, vjp
from numtape.compiler.inline import inline
from numtape.compiler.simplify import simplify
from numtape.compiler.transform import gradients as only_gradients
from numtape.compiler.transform import hvp, jacobian
from numtape.tracer.dims import atom
from numtape.tracer.errors import GradError
from numtape.tracer.evaluate import GuardFailed
from numtape.tracer.graph import Builder, Guard, Loc
from numtape.tracer.op import undefined
from numtape.tracer.ops import OPS
from numtape.tracer.ops import words as w
from numtape.tracer.plain import replace
from numtape.tracer.reach import connected
from numtape.tracer.types import FLOAT32, FLOAT64, INT64, ArrayType, type_of


@pytest.mark.parametrize("name", PROGRAMS)
def test_reverse_against_differences(name):
    graph, values = program(name)
    wrt = list(graph.inputs)
    outs = compute(graph, *values)
    cts, tangents = [like(o) for o in outs], [like(v) for v in values]
    found = compute(vjp(graph, wrt), *values, *cts)
    for out, again in zip(outs, found, strict=False):
        np.testing.assert_array_equal(out, again)
    for value, gradient in zip(values, found[len(outs) :], strict=True):
        assert np.shape(value) == np.shape(gradient)
        assert np.asarray(value).dtype == np.asarray(gradient).dtype
    if name not in COARSE:
        expected = slope(lambda t: pairing(compute(graph, *moved(values, tangents, t)), cts))
        assert pairing(found[len(outs) :], tangents) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_against_reverse(name):
    graph, values = program(name)
    wrt = list(graph.inputs)
    outs = compute(graph, *values)
    cts, tangents = [like(o) for o in outs], [like(v) for v in values]
    gradients_ = compute(vjp(graph, wrt), *values, *cts)[len(outs) :]
    pushed = compute(jvp(graph, wrt), *values, *tangents)
    for out, tangent in zip(outs, pushed[len(outs) :], strict=True):
        assert np.shape(out) == np.shape(tangent)
    assert pairing(pushed[len(outs) :], cts) == pytest.approx(pairing(gradients_, tangents), rel=1e-6)
    short = compute(simplify(jvp(graph, wrt)), *values, *tangents)
    for a, b in zip(pushed, short, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in COARSE])
def test_second_order_against_differences(name):
    graph, values = program(name)
    scalar = trace(lambda *x: w.sum_(w.square(PROGRAMS[name][0](*x))), [graph.type(i) for i in graph.inputs])
    wrt = list(scalar.inputs)
    tangents = [like(v) for v in values]
    first = only_gradients(scalar, wrt)
    found = compute(hvp(scalar, wrt), *values, *tangents)
    weights = [like(v) for v in values]
    expected = slope(lambda t: pairing(compute(first, *moved(values, tangents, t)), weights))
    assert pairing(found, weights) == pytest.approx(expected, rel=2e-5, abs=1e-6)
    # the Hessian is symmetric, also where forward mode had to transpose a rule
    other = compute(hvp(scalar, wrt), *values, *weights)
    assert pairing(found, weights) == pytest.approx(pairing(other, tangents), rel=1e-9, abs=1e-9)


def test_known_derivatives():
    assert derivatives(lambda x: w.square(w.log(x)), 1.0, 2) == [0, 2]  # a where in the product would give 0
    assert derivatives(lambda x: w.exp(-(x**2)), 0.0, 4) == [0, -2, 0, 12]
    np.testing.assert_allclose(derivatives(lambda x: x**4, 2.0, 4), [32, 48, 48, 24])
    assert derivatives(lambda x: w.sinc(x), 0.0, 2) == pytest.approx([0, -(np.pi**2) / 3])


def test_a_side_not_taken_gives_nothing():
    zero = np.array([0.0, 2.0])
    np.testing.assert_array_equal(grad(lambda x: w.where(x > 0, w.log(x), 0.0), zero), [0, 0.5])
    np.testing.assert_array_equal(grad(lambda x: w.where(x >= 0, x, w.sqrt(-x)), np.array([1.0])), [1])
    np.testing.assert_array_equal(grad(lambda x: w.sqrt(w.sum_(x * x)) ** 2, np.zeros(2)), [0, 0])
    graph = trace(lambda x: w.where(x > 0, w.log(x), 0.0), [ArrayType(FLOAT64, (N,))])
    np.testing.assert_array_equal(compute(jvp(graph, [0]), zero, np.ones(2))[1], [0, 0.5])
    np.testing.assert_array_equal(compute(jvp(graph, [0]), zero, np.zeros(2))[1], [0, 0])


@pytest.mark.parametrize("weight", [1.5, np.float32(1.5), np.ones(3, np.float32)])
def test_float32_stays_float32(weight):
    def f(a, b):
        return w.sum_(w.exp(a) * b / 2.0 + w.sqrt(a) ** 2 - 0.5 * w.maximum(a, 0.25) + w.absolute(a))

    values = [np.ones(3, np.float32), weight]
    graph = trace(f, [type_of(v) for v in values])
    for made in (value_and_grad(graph, [0, 1]), jvp(graph, [0, 1]), simplify(hvp(graph, [0]))):
        assert not [n for n in made.nodes if not isinstance(n.type, tuple) and n.type.dtype == FLOAT64 and n.type.rank]
    _, to_a, to_b = compute(value_and_grad(graph, [0, 1]), *values)
    assert to_a.dtype == np.float32
    assert np.asarray(to_b).dtype == np.asarray(weight).dtype


def test_mixed_dtypes_give_the_sources_dtype():
    to_a, to_b = gradients(lambda a, b: a * b, [np.ones(3, np.float32), np.full(3, 2.0)])
    assert (to_a.dtype, to_b.dtype) == (np.float32, np.float64)
    (to_half,) = gradients(lambda a: a * 2.0, [np.ones(3, np.float16)])
    assert to_half.dtype == np.float16


def test_unconnected_inputs_get_zeros():
    types = [ArrayType(FLOAT64, (N,)), ArrayType(FLOAT32, (atom("b.0"), 2)), ArrayType(INT64, (N,))]
    graph = trace(lambda a, b, c: (w.sum_(a * c), w.floor(b), w.stop_gradient(a)), types)
    pulled = vjp(graph, [0, 1])
    assert pulled.names == ("a", "b", "c", "ct0", "ct1", "ct2")
    values = [np.ones(3), np.ones((4, 2), np.float32), np.arange(3)]
    cts = [np.float64(1), np.ones((4, 2), np.float32), np.ones(3)]
    *_, to_a, to_b = compute(pulled, *values, *cts)
    np.testing.assert_array_equal(to_a, [0, 1, 2])
    assert to_b.shape == (4, 2) and to_b.dtype == np.float32 and not to_b.any()
    *_, second, third = compute(jvp(graph, [0]), *values, np.ones(3))
    assert not second.any() and not third.any()
    integers = trace(lambda a: w.argmax(a, 0), [ArrayType(FLOAT64, (N,))])
    tangent = compute(jvp(integers, [0]), np.ones(3), np.ones(3))[1]
    assert tangent == 0 and tangent.dtype == np.float64


def test_where_derivatives_come():
    def f(a, b):
        kept = a * b
        stopped = w.stop_gradient(kept)
        return kept, stopped * 2.0, w.astype(a > b, "f64"), w.astype(kept, "i64"), b + 1.0

    graph = trace(f, [ArrayType(FLOAT64, (N,))] * 2)
    reached = [connected(graph.nodes, [0])[out] for out in graph.outputs]
    assert reached == [True, False, False, False, False]


def test_derivatives_through_calls_are_precise():
    inner = trace(lambda a, b: (a * a, w.floor(b) + 0.0, a * b), [ArrayType(FLOAT64, (N,))] * 2)

    def f(a, b):
        return tuple(results_of(a.op("call", b, graph=inner)))

    graph = trace(f, [ArrayType(FLOAT64, (N,))] * 2)
    assert [connected(graph.nodes, [1])[out] for out in graph.outputs] == [False, False, True]
    assert [connected(graph.nodes, [0])[out] for out in graph.outputs] == [True, False, True]
    values, cts = [np.array([2.0, 3]), np.array([5.0, 7])], [np.ones(2)] * 3
    for made in (vjp(graph, [0, 1]), inline(vjp(graph, [0, 1])), simplify(vjp(graph, [0, 1]))):
        *_, to_a, to_b = compute(made, *values, *cts)
        np.testing.assert_array_equal(to_a, [9, 13])
        np.testing.assert_array_equal(to_b, [2, 3])
    assert not any(n.op == "call" for n in simplify(vjp(graph, [0, 1])).nodes)


def test_an_op_without_derivative_is_refused_by_name(monkeypatch):
    reason = "its result may jump anywhere"
    monkeypatch.setitem(OPS, "tan", dataclasses.replace(OPS["tan"], partials=(undefined(reason),)))
    monkeypatch.setitem(OPS, "sort", dataclasses.replace(OPS["sort"], vjp=undefined(reason)))
    for name, function in (("tan", lambda a: w.tan(a)), ("sort", lambda a: w.sort(a, 0))):
        graph = trace(lambda a, function=function: w.sum_(function(a)), [ArrayType(FLOAT64, (N,))])
        graph = replace(graph, locs=tuple(Loc("/home/me/model.py", 10 + i) for i in range(len(graph.nodes))))
        for derive in (value_and_grad, jvp):
            with pytest.raises(GradError) as error:
                derive(graph, [0])
            assert str(error.value) == (
                f"{name} has no derivative: {reason} (model.py:11).\nTo treat it as a constant, use stop_gradient(...)."
            )
        stopped = trace(lambda a, function=function: w.sum_(a * function(w.stop_gradient(a))), [graph.type(0)])
        value_and_grad(stopped, [0])


def test_wrong_questions_are_refused():
    vector = trace(lambda a: a * 2.0, [ArrayType(FLOAT64, (N, 3))])
    vector = replace(vector, name="loss", locs=tuple(Loc("model.py", 4) for _ in vector.nodes))
    with pytest.raises(GradError) as error:
        value_and_grad(vector, [0])
    assert str(error.value) == (
        "the gradient of loss does not exist (model.py:4).\n"
        "Expected one scalar of a floating dtype as its result, got f64[a.0, 3].\n"
        "Reduce it first (np.sum, np.mean), or ask for vjp or jacobian."
    )
    counted = trace(lambda a, b: a * b, [ArrayType(FLOAT64), ArrayType(INT64, (), True)])
    for derive in (value_and_grad, vjp, jvp, jacobian):
        with pytest.raises(GradError) as error:
            derive(counted, [1])
        assert str(error.value) == (
            "f has no derivative with respect to `b`.\n"
            "Expected floating-point values, got i64[].\n"
            "Pass `b` as floats, or differentiate with respect to other arguments."
        )
    with pytest.raises(GradError, match="Jacobian"):
        jacobian(trace(lambda a: a > 0, [ArrayType(FLOAT64, (N,))]), [0])


def test_guards_and_lines_are_kept():
    graph = trace(lambda a: w.where(a > 0, a * a, a), [ArrayType(FLOAT64)])
    truth = next(i for i, n in enumerate(graph.nodes) if n.op == "greater")
    guards = (Guard(truth, "is", True, truth + 1), Guard(atom("k"), ">", True, 1))
    graph = replace(graph, guards=guards, locs=tuple(Loc("user.py", 10 + i) for i in range(len(graph.nodes))))
    for made in (vjp(graph, [0]), jvp(graph, [0]), simplify(vjp(graph, [0]))):
        assert made.nodes[made.guards[0].subject].op == "greater"
        assert made.guards[0].at == made.guards[0].subject + 1
        assert made.guards[1].subject == atom("k")
    pulled = vjp(replace(graph, guards=guards[:1]), [0])
    assert compute(pulled, np.float64(3), np.float64(1))[1] == 6
    with pytest.raises(GuardFailed):
        compute(pulled, np.float64(-3), np.float64(1))
    product = next(i for i, n in enumerate(graph.nodes) if n.op == "multiply")
    lines = {pulled.loc(i) for i, n in enumerate(pulled.nodes) if n.op == "cotangent"}
    assert lines == {graph.loc(product)}


def test_work_is_linear_and_depth_no_limit():
    def chain(length):
        def f(a):
            y = a
            for _ in range(length):
                y = w.sin(y) * a
            return w.sum_(y)

        return trace(f, [ArrayType(FLOAT64, (N,))])

    for derive in (value_and_grad, jvp, lambda g, wrt: simplify(hvp(g, wrt))):
        small, large = (len(derive(chain(length), [0]).nodes) for length in (100, 200))
        larger = len(derive(chain(300), [0]).nodes)
        assert larger - large == large - small
    assert len(value_and_grad(chain(5000), [0]).nodes) < 10 * 5000


def test_equal_graphs_of_other_lines_keep_their_lines():
    def f(line):
        builder = Builder("inner")
        a = builder.input("a", ArrayType(FLOAT64, (N,)))
        builder.loc = Loc("user.py", line)
        inner = builder.build([w.exp(a) * a])
        graph = trace(lambda a: a.op("call", graph=inner), [ArrayType(FLOAT64, (N,))])
        return {loc.line for loc in simplify(vjp(graph, [0])).locs}

    assert 7 in f(7) and 8 in f(8) and 7 not in f(8)
