"""The rewriting pass: each rule on edge values, random graphs, and what must stay as it is."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rows import EDGES, trace
from samples import PROGRAMS, N, compute, program

from numtape.compiler.gradient import results_of, value_and_grad
from numtape.compiler.inline import inline
from numtape.compiler.rules import RULES
from numtape.compiler.simplify import Rewriter, compile_rule, rewrite, simplify
from numtape.tracer.dims import atom
from numtape.tracer.evaluate import GuardFailed
from numtape.tracer.graph import Builder, Expr, Guard, Loc, verify
from numtape.tracer.op import ZERO
from numtape.tracer.ops import OPS
from numtape.tracer.ops import words as w
from numtape.tracer.plain import replace
from numtape.tracer.types import BOOL, FLOAT32, FLOAT64, INT64, ArrayType

TINY = 5e-324
INT8, UINT8 = np.dtype("int8"), np.dtype("uint8")
EXACT = [rule for rule in RULES if rule.exact]


def same_bits(a, b):
    """Equality of dtype, shape and bits; a nan is a nan."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    nan = np.isnan(a) if a.dtype.kind == "f" else np.zeros(a.shape, bool)
    other = np.isnan(b) if b.dtype.kind == "f" else nan
    return np.array_equal(nan, other) and np.where(nan, 0, a).tobytes() == np.where(nan, 0, b).tobytes()


def edges(dtype):
    """Values at which rules fail: signed zeros, infinities, and where integers wrap."""
    if dtype == BOOL:
        return np.array([False, True])
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array([*EDGES, TINY, -TINY, 1e-40]).astype(dtype)
    limits = np.iinfo(dtype)
    return np.array([limits.min, limits.max, *range(max(limits.min, -7), 10)], dtype)


def arguments(rule, dtype, rng, second):
    """Values for the variables of a rule, those after the first in a second dtype, and what traces its left side."""
    parameters = inspect.signature(rule.pattern).parameters.values()
    names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    holes = {p.name: rule.sample[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    if "t" in holes:
        holes["t"] = {"float64": "f64", "float32": "f32", "int64": "i64", "uint8": "u8", "bool": "bool"}[dtype.name]
    values = {}
    for name in names:
        wish = rule.sample.get(name, () if "p" in holes else (40,))
        own = BOOL if name == "c" else dtype if name == names[0] else second
        values[name] = rng.choice(edges(own), wish)[()] if isinstance(wish, tuple) else wish
    moving = [name for name, value in values.items() if type(value) is not float]

    def left(*inputs):
        given_ = dict(zip(moving, inputs, strict=True))
        constant = {n: v for n, v in values.items() if n not in given_}
        first = inputs[0].builder
        exprs = [given_[n] if n in given_ else first.const(constant[n]) for n in names]
        return rule.pattern(*exprs, **holes)

    types = [ArrayType(values[n].dtype, values[n].shape) for n in moving]
    return left, types, [values[n] for n in moving]


def alone(rule, graph):
    """The graph after this rule, and no other, has been applied."""
    compiled = compile_rule(rule)
    builder = Rewriter(graph.name, {compiled.pattern.op: [compiled]})
    moved = [builder.input(name, graph.type(i)).index for i, name in enumerate(graph.names)]
    for node in graph.nodes[len(moved) :]:
        moved.append(builder.raw(node.op, tuple(moved[a] for a in node.args), node.params, node.type).index)
    return verify(builder.build([Expr(builder, moved[out]) for out in graph.outputs]))


@pytest.mark.parametrize("rule", EXACT, ids=lambda rule: rule.name)
def test_exact_rules_keep_every_bit(rule):
    rng, applied = np.random.default_rng(3), []
    alike = [(dtype, dtype) for dtype in (FLOAT64, FLOAT32, INT64, UINT8, BOOL)]
    mixed = [(FLOAT64, INT64), (INT64, FLOAT32), (INT64, INT8), (UINT8, INT64)]
    for dtype, second in alike + mixed:
        for _ in range(12):
            left, types, values = arguments(rule, dtype, rng, second)
            try:
                graph = trace(left, types)
            except TypeError:  # NumPy has no loop for these dtypes: sin of truth values has one, -True has none
                continue
            other = alone(rule, graph)
            if other.outputs != graph.outputs or other.nodes[other.outputs[0]] != graph.nodes[graph.outputs[0]]:
                applied.append(dtype)
            try:
                expected = compute(graph, *values)
            except ValueError:  # integers to negative powers
                continue
            assert same_bits(expected[0], compute(other, *values)[0]), (dtype, second, values)
    assert applied, "the rule never applied"


@pytest.mark.parametrize("rule", [rule for rule in RULES if not rule.exact], ids=lambda rule: rule.name)
def test_inexact_rules_wait_to_be_asked(rule):
    graph = trace(rule.pattern, [ArrayType(FLOAT64, (N,))])
    assert simplify(graph) == verify(graph)
    short = simplify(graph, allow_inexact=True)
    assert len(short.nodes) < len(graph.nodes)
    x = np.linspace(0.5, 2, 7)
    np.testing.assert_allclose(compute(graph, x)[0], compute(short, x)[0], rtol=1e-14)


def test_rules_have_names_of_their_own():
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("function", "types"),
    [
        (lambda a: a + 0.0, [ArrayType(FLOAT64, (N,))]),  # -0.0 + 0.0 is 0.0
        (lambda a: 0.0 - a, [ArrayType(FLOAT64, (N,))]),  # 0.0 - 0.0 is 0.0, not -0.0
        (lambda a: a - -0.0, [ArrayType(FLOAT64, (N,))]),
        (lambda a: a * 0.0, [ArrayType(FLOAT64, (N,))]),  # inf, nan
        (lambda a: a - a, [ArrayType(FLOAT64, (N,))]),
        (lambda a: a * 1.0, [ArrayType(INT64, (N,))]),  # becomes a float
        (lambda a: a * a.builder.const(np.float64(1)), [ArrayType(FLOAT32, (N,))]),
        (lambda a: a * a.builder.const(np.ones(2)), [ArrayType(FLOAT64, (1,))]),
        (lambda a: a**1, [ArrayType(BOOL, (N,))]),  # becomes an int8
        (lambda a: w.sum_(a, ()), [ArrayType(BOOL, (N,))]),
        (lambda a: w.flip(a, 0), [ArrayType(FLOAT64, (3,))]),
        (lambda a: w.transpose(a, (1, 0)), [ArrayType(FLOAT64, (3, 3))]),
        (lambda a: w.astype(w.astype(a, "f32"), "f64"), [ArrayType(FLOAT64, (N,))]),
        (lambda a: w.stop_gradient(a), [ArrayType(FLOAT64, (N,))]),  # who differentiates later must see it
    ],
)
def test_what_is_not_the_same_stays(function, types):
    graph = trace(function, types)
    assert simplify(graph) == graph


def test_an_inner_where_that_rounds_stays():
    types = [ArrayType(BOOL, ()), ArrayType(FLOAT64, (), True), ArrayType(FLOAT32, ()), ArrayType(FLOAT64, ())]
    graph = trace(lambda a, b, c, d: w.where(a, w.where(a, b, c), d), types)
    assert simplify(graph) == graph
    assert compute(graph, np.True_, 0.1, np.float32(2), np.float64(3))[0] == np.float32(0.1)


def test_weak_scalars_keep_promoting_as_they_did():
    """A Python number that was spread over an array has become a float64: without that, float32 would win."""
    types = [ArrayType(FLOAT32, (N,)), ArrayType(FLOAT64, (), True)]
    graph = trace(lambda a, b: a <= w.broadcast_to(b, (N,)), types)
    x = np.array([0.1], np.float32)
    assert x <= 0.1
    assert not compute(graph, x, 0.1)[0]
    assert not compute(simplify(graph), x, 0.1)[0]


def test_golden():
    def f(a):
        scale = w.broadcast_to(w.expand_dims(2.0 * a.builder.const(1.5, like=a.type), (0,)), a.shape)
        y = w.reshape(w.transpose(w.expand_dims(w.negative(-a) * 1, (0,)), (1, 0)), a.shape)
        return w.sum_(scale * y**2), w.exp(a)

    graph = trace(f, [ArrayType(FLOAT64, (N,))])
    graph = replace(graph, outputs=graph.outputs[:1])
    assert str(simplify(graph)).replace("f64(3.0)", "3.0") == (
        "f(a: f64[a.0]) -> f64[]\n"
        "  %1: f64[] = const  {value=3.0}\n"
        "  %2: f64[1, a.0] = expand_dims a  {axes=(0,)}\n"
        "  %3: f64[a.0, 1] = transpose %2  {perm=(1, 0)}\n"
        "  %4: f64[a.0] = reshape %3  {shape=(a.0,)}\n"
        "  %5: f64[a.0] = square %4\n"
        "  %6: f64[a.0] = multiply %1 %5\n"
        "  %7: f64[] = sum %6  {axes=(0,)}\n"
        "  return %7"
    )


def test_constants_are_folded_as_numpy_would():
    def f(a):
        b = a.builder
        one, third, half = b.const(1.0), b.const(np.float32(1) / np.float32(3)), b.const(0.5)
        two, minus = b.const(2), b.const(-1)
        nan, wide = w.sqrt(b.const(-1.0)), w.astype(third, "f64")
        return a + (one + half), third * half, two**minus, nan, wide, two + two, two / two

    graph = simplify(trace(f, [ArrayType(FLOAT32, (N,))]))
    constants = [graph.nodes[out] for out in graph.outputs]
    assert [n.op for n in constants] == ["add", "const", "power", "const", "const", "const", "const"]
    assert [str(n.type) for n in constants] == [
        "f32[a.0]", "f32[]", "~i64[]", "~f64[]", "f64[]", "~i64[]", "~f64[]",
    ]  # fmt: skip
    assert constants[4].param("value").array() == np.float64(np.float32(1) / np.float32(3))


def test_dead_nodes_go_and_guards_move():
    def f(a, b):
        dead = w.exp(b)
        test = w.sum_(a) > 0
        return dead * 2.0, test, w.negative(w.negative(a)) * 3.0

    graph = trace(f, [ArrayType(FLOAT64, (N,))] * 2)
    truth = graph.outputs[1]
    guards = (Guard(atom("a.0") - 1, ">", True, 2), Guard(truth, "is", True, truth + 1))
    graph = replace(graph, outputs=graph.outputs[2:], guards=guards)
    short = simplify(graph)
    assert [n.op for n in short.nodes[2:]] == ["sum", "const", "greater", "const", "multiply"]
    first, second = short.guards
    assert (first.at, second.subject, second.at) == (2, 4, 5)
    with pytest.raises(GuardFailed) as failure:
        compute(short, -np.ones(3), np.ones(3))
    assert failure.value.index == 1


def test_maps_are_simplified_inside():
    scalar = ArrayType(FLOAT64)
    body = trace(lambda a, b: w.negative(-a) * 1 + b, [scalar, scalar])
    graph = trace(lambda a, b: a.op("map", b, body=body, mapped=(True, False)), [ArrayType(FLOAT64, (N,)), scalar])
    short = simplify(graph)
    assert [n.op for n in short.nodes[-1].param("body").nodes] == ["input", "input", "add"]
    np.testing.assert_array_equal(compute(short, np.arange(3.0), np.float64(1))[0], [1, 2, 3])


def test_calls_are_inlined_with_their_sizes_and_guards():
    def inner(a, b):
        hits = results_of((a > 0).op("nonzero", count="#0"))
        kept = w.gather(a, hits, (0,), 0)
        return w.sum_(kept) * w.size(a.builder, atom("b") + a.shape[0])

    builder_types = [ArrayType(FLOAT64, (N,)), ArrayType(INT64, (), True)]
    callee = trace(inner, builder_types)
    callee = replace(callee, name="callee", guards=(Guard(atom("b") + atom("a.0") - 3, ">", True, 3),))

    def f(a, b):
        first = a.op("call", b, graph=callee, sizes=(("b", atom("b")),))
        return first + w.exp(a).op("call", b + 1, graph=callee)

    graph = trace(f, builder_types)
    flat = verify(inline(graph))
    assert not any(n.op == "call" for n in flat.nodes)
    assert len({n.param("count") for n in flat.nodes if n.op in ("nonzero", "integer")}) == 3
    x = np.array([-1.0, 2.0, 3.0])
    for made in (flat, simplify(graph)):
        assert compute(made, x, 2)[0] == compute(graph, x, 2)[0]
        with pytest.raises(GuardFailed):
            compute(made, x, 0)
    assert str(flat.guards[0].subject) == "a.0 + b - 3"


def test_long_chains_are_linear_and_need_no_stack():
    def f(a):
        y = a
        for _ in range(20_000):
            y = -y
        return y

    graph = trace(f, [ArrayType(FLOAT64, (N,))])
    assert len(graph.nodes) == 20_001
    assert len(simplify(graph).nodes) == 1


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_keep_their_bits(name):
    graph, values = program(name)
    scalar = trace(lambda *x: w.sum_(PROGRAMS[name][0](*x)), [graph.type(i) for i in graph.inputs])
    for made in (graph, value_and_grad(scalar, list(graph.inputs))):
        short = simplify(made)
        assert simplify(short) == short
        for a, b in zip(compute(made, *values), compute(short, *values), strict=True):
            assert same_bits(a, b)


SPECIAL = ("astype", "weaken", "invert")  # they need parameters, or integers
UNARY = sorted(name for name, row in OPS.items() if row.partials and len(row.partials) == 1 and name not in SPECIAL)
WITH_NUMBERS = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "cotangent")
BINARY = (*WITH_NUMBERS, "cotangents", "arctan2", "less", "hypot")
NUMBERS = (0.0, -0.0, 1, 1.0, -1.0, 2, 0.5, float("inf"))


@st.composite
def graphs(draw):
    """Random graphs over arrays of a few shapes, full of what rules look for."""
    builder = Builder("random")
    dtype = draw(st.sampled_from([FLOAT64, FLOAT32]))
    pool = [builder.input(n, ArrayType(dtype, s)) for n, s in (("a", (N, 3)), ("b", (3,)), ("c", ()), ("d", (N, 1)))]
    for _ in range(draw(st.integers(1, 14))):
        x, y, z = (draw(st.sampled_from(pool)) for _ in range(3))
        match draw(st.integers(0, 9)):
            case 0 | 1:
                name = draw(st.sampled_from(UNARY))
                new = x if x.dtype == BOOL and OPS[name].partials != (ZERO,) else _try(x, name)
            case 2 | 3:
                new = _try(x, draw(st.sampled_from(BINARY)), y)
            case 4 | 5:
                number, name = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(WITH_NUMBERS))
                new = builder.op(name, number, x) if draw(st.booleans()) and x.dtype != BOOL else _try(x, name, number)
            case 6:
                condition = w.greater(x, 0.5) if x.dtype != BOOL else x
                new = w.where(condition, y, w.where(condition, z, y) if draw(st.booleans()) else z)
            case 7:
                new = builder.op("broadcast_to", x, shape=(N, 3)) if x.rank < 3 else x
            case 8:
                new = w.squeeze(w.expand_dims(x, (0,)), (0,)) if draw(st.booleans()) else w.reshape(x, (1, *x.shape))
            case _:
                new = w.transpose(w.transpose(x, w.all_axes(x)[::-1]), w.all_axes(x)[::-1])
        pool.append(new)
    outputs = [pool[-1], draw(st.sampled_from(pool))]
    return builder.build(outputs)


def _try(x, name, *others):
    try:
        return x.op(name, *others)
    except TypeError:  # no loop for truth values
        return x


@given(graphs(), st.integers(0, 2**32 - 1))
def test_random_graphs_keep_their_bits(graph, seed):
    rng = np.random.default_rng(seed)
    values = []
    for index in graph.inputs:
        type_ = graph.type(index)
        shape = tuple(4 if s == N else s for s in type_.shape)
        with np.errstate(all="ignore"):
            values.append(rng.choice([*EDGES, TINY, *rng.normal(size=8)], shape).astype(type_.dtype)[()])
    short = simplify(graph)
    assert simplify(short) == short
    assert len(short.nodes) <= len(graph.nodes) + 4
    for a, b in zip(compute(graph, *values), compute(short, *values), strict=True):
        assert same_bits(a, b)


def test_rewriting_keeps_the_lines_of_the_user():
    builder = Builder("f")
    a = builder.input("a", ArrayType(FLOAT64, (N,)))
    builder.loc = Loc("user.py", 3)
    y = a**2
    builder.loc = Loc("user.py", 4)
    graph = rewrite(builder.build([w.sum_(y)]))
    assert [graph.nodes[i].op for i, loc in enumerate(graph.locs) if loc.line == 3] == ["const", "square"]
