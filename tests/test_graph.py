"""Graphs as data: building, equality, verification; the interpreter; nodes that hold graphs."""

import dataclasses
import operator
import pickle
import weakref

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from numtape.tracer.dims import atom
from numtape.tracer.errors import DtypeError, ShapeError
from numtape.tracer.evaluate import GuardFailed, evaluate, evaluate_node
from numtape.tracer.graph import Builder, Const, Guard, Loc, Node, copy_into, live_nodes, verify
from numtape.tracer.ops import OPS
from numtape.tracer.ops.words import iota
from numtape.tracer.plain import replace
from numtape.tracer.show import parse
from numtape.tracer.types import FLOAT32, FLOAT64, INT64, TRUST, ArrayType, type_of

N = atom("x.0")
VECTOR, THREE, SCALAR = (ArrayType(FLOAT64, shape) for shape in ((N,), (3,), ()))
WHOLE = ArrayType(INT64, (), True)


def build(function, guards=(), **types):
    """The graph of a function of Exprs, with its inputs by name."""
    builder = Builder("f")
    made = function(*(builder.input(name, type_) for name, type_ in types.items()))
    return builder.build(made if isinstance(made, tuple) else (made,), guards)


def polynomial(x):
    return (x * x + 1.0) * x - x * x


# -- building ------------------------------------------------------------------------------------------------------


def test_equal_nodes_are_one_node():
    graph = build(polynomial, x=VECTOR)
    assert [node.op for node in graph.nodes] == ["input", "multiply", "const", "add", "multiply", "subtract"]
    assert verify(graph) is graph


@pytest.mark.parametrize("pair", [(0.0, -0.0), (1, 1.0), (True, 1), (np.float32(1), 1.0)], ids=repr)
def test_constants_are_told_apart_by_bits_and_kind(pair):
    builder = Builder("f")
    first, second, again = (builder.const(value) for value in (*pair, pair[0]))
    assert first.index == again.index != second.index


def test_nan_is_one_constant():
    assert Const.of(np.nan) == Const.of(np.nan)
    assert_array_equal(Const.of(np.arange(6).reshape(2, 3)).array(), [[0, 1, 2], [3, 4, 5]])


def test_graphs_compare_hash_and_pickle_by_structure():
    one, two = build(polynomial, x=VECTOR), build(polynomial, x=VECTOR)
    assert one == two and hash(one) == hash(two) and len({one, two}) == 1
    loaded = pickle.loads(pickle.dumps(one))
    assert loaded == one and hash(loaded) == hash(one) and str(loaded) == str(one)
    assert one != build(polynomial, y=VECTOR) and one != replace(one, outputs=(1,))
    assert one == replace(one, locs=tuple(Loc("a.py", i) for i in range(len(one.nodes))))


def test_copying_leaves_out_repetition():
    graph = build(polynomial, x=VECTOR)
    builder = Builder("g")
    x = builder.input("x", VECTOR)
    first, second = (copy_into(builder, graph, [x])[graph.outputs[0]] for _ in range(2))
    assert first.index == second.index and len(builder.nodes) == len(graph.nodes)


def test_live_nodes_include_those_that_name_a_size():
    text = """
    f(x: f64[x.0]) -> f64[#1]
      %1: bool[x.0] = greater x x
      %2: (i64[#1],) = nonzero %1  {count='#1'}
      %3: f64[x.0] = sin x
      %4: ~f64[] = const  {value=f64(0.5)}
      %5: f64[#1] = broadcast_to %4  {shape=(#1,)}
      return %5"""
    graph = verify(parse(text))
    assert live_nodes(graph) == [True, True, True, False, True, True]


# -- verification --------------------------------------------------------------------------------------------------


def changed(graph, index, **fields):
    nodes = list(graph.nodes)
    nodes[index] = replace(nodes[index], **fields)
    return replace(graph, nodes=tuple(nodes))


MALFORMED = {
    "inputs must come first": lambda g: replace(g, names=("x", "y")),
    "unknown op": lambda g: changed(g, 1, op="nonsense"),
    "argument is not an earlier node": lambda g: changed(g, 1, args=(1, 0)),
    "its row says f64": lambda g: changed(g, 1, type=ArrayType(FLOAT32, (N,))),
    "type f64[]": lambda g: changed(g, 1, type=SCALAR),
    "output %9 does not exist": lambda g: replace(g, outputs=(9,)),
    "locs don't run parallel": lambda g: replace(g, locs=g.locs[:-1]),
    "params are not sorted": lambda g: changed(g, 1, params=(("b", 1), ("a", 2))),
}


@pytest.mark.parametrize("problem", MALFORMED)
def test_malformed_graphs_are_caught(problem):
    with pytest.raises(AssertionError) as caught:
        verify(MALFORMED[problem](build(polynomial, x=VECTOR)))
    assert problem in str(caught.value)


# -- the interpreter -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 5])
def test_one_graph_serves_every_length(size):
    x = np.linspace(-1, 1, size)
    assert_array_equal(evaluate(build(polynomial, x=VECTOR), [x])[0], (x * x + 1) * x - x * x)


def test_weak_values_are_python_numbers():
    graph = build(lambda x, k: (k + k, k / 2, x * k, k < 3), x=ArrayType(FLOAT32), k=WHOLE)
    double, half, scaled, less = evaluate(graph, [np.float32(1.5), 2])
    assert [type(v) for v in (double, half, scaled, less)] == [int, float, np.float32, bool]
    assert (double, half, scaled, less) == (4, 1.0, 3.0, True)


def test_zero_rank_inputs_come_in_any_form():
    graph = build(lambda x: x + x, x=SCALAR)
    for value in (np.float64(2), np.array(2.0), 2.0, 2):
        (out,) = evaluate(graph, [value])
        assert type(out) is np.float64 and out == 4


@pytest.mark.parametrize("type_", [WHOLE, ArrayType(INT64)], ids=str)
def test_an_integer_input_names_a_size(type_):
    graph = build(lambda k: iota(k.builder, atom("k") * 2), k=type_)
    assert_array_equal(evaluate(graph, [3])[0], np.arange(6))


def test_sizes_can_be_given():
    graph = build(lambda x: x.op("broadcast_to", shape=(atom("rows"), N)), x=VECTOR)
    assert evaluate(graph, [np.ones(2)], {"rows": 3})[0].shape == (3, 2)
    with pytest.raises(KeyError, match="rows"):
        evaluate(graph, [np.ones(2)])


def test_one_node_can_be_computed_by_itself():
    sizes = {"x.0": 4}
    node = Node("nonzero", (0,), (("count", "#1"),), (ArrayType(INT64, (atom("#1"),)),))
    assert_array_equal(evaluate_node(node, [np.array([1, 0, 1, 1])], sizes)[0], [0, 2, 3])
    assert sizes == {"x.0": 4, "#1": 3}


def test_results_are_fresh_and_contiguous():
    def function(x):
        return x, x, x.op("transpose", perm=(1, 0)), x.op("slice", start=(0, 0), size=(1, 3), step=(1, 1))

    x = np.arange(6.0).reshape(2, 3)
    outs = evaluate(build(function, x=type_of(x)), [x])
    arrays = [x, *outs]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    assert all(out.flags.c_contiguous and out.flags.writeable for out in outs)


def test_a_wrong_type_is_noticed_though_numpy_would_not_mind():
    graph = build(lambda x, y: x + y, x=VECTOR, y=VECTOR)
    assert_array_equal(evaluate(graph, [np.ones(2), np.ones(2)])[0], [2, 2])
    # a row of one element would stretch
    with pytest.raises(AssertionError, match=r"%1: f64\[x.0\] = input: the value is float64\[1\]"):
        evaluate(graph, [np.ones(2), np.ones(1)])
    with pytest.raises(AssertionError, match=r"%0: .* the value is float32\[2\]"):
        evaluate(graph, [np.ones(2, "f4"), np.ones(2)])
    wrong = changed(build(polynomial, x=VECTOR), 3, type=ArrayType(FLOAT64, (N + 1,)))
    with pytest.raises(AssertionError, match=r"%3: f64\[x.0 \+ 1\] = add: the value is float64\[2\]"):
        evaluate(wrong, [np.ones(2)])


def test_what_numpy_raises_passes_through_with_the_node():
    graph = build(lambda x, k: x.op("gather", k, axes=(0,), at=0), x=VECTOR, k=WHOLE)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 2") as caught:
        evaluate(graph, [np.ones(2), 4])
    assert caught.value.__notes__ == ["in f: %2: f64[] = gather"]


def test_values_die_after_their_last_use(monkeypatch):
    alive, most = weakref.WeakValueDictionary(), []

    class Tracked(np.ndarray):
        pass

    def sine(x):
        most.append(len(alive))
        out = np.sin(np.asarray(x)).view(Tracked)
        alive[id(out)] = out
        return out

    monkeypatch.setitem(OPS, "sin", dataclasses.replace(OPS["sin"], reference=sine))

    def chain(x):
        for _ in range(20):
            x = x.op("sin")
        return x

    evaluate(build(chain, x=VECTOR), [np.ones(3)])
    assert max(most) <= 2


def test_ten_thousand_nodes():
    def chain(x):
        for k in range(5000):
            x = x * (1.0 + k / 1e8)
        return x

    graph = build(chain, x=VECTOR)
    assert len(graph.nodes) > 9999
    assert evaluate(graph, [np.ones(2)])[0].shape == (2,)
    assert parse(str(graph)) == graph


# -- guards --------------------------------------------------------------------------------------------------------


def failing(graph, *inputs):
    """The number of the guard that fails, or None."""
    try:
        evaluate(graph, inputs)
    except GuardFailed as failure:
        assert failure.graph is graph
        return failure.index
    return None


def branchy():
    """Guards in program order: a length, a branch on a value, the equality of two lengths."""
    text = """
    f(x: f64[x.0], y: f64[x.0], k: ~i64[]) -> f64[x.0]
      where not x.0 < 2 @3
      where %4 is true @5
      where x.0 == y.0 @5
      where not k - 1 == 0 @6
      %3: f64[] = sum x  {axes=(0,)}
      %4: bool[] = greater %3 k
      %5: f64[x.0] = add x y
      return %5"""
    return verify(parse(text))


def test_guards_are_checked_in_program_order():
    graph, two, three = branchy(), np.full(2, 3.0), np.full(3, 3.0)
    assert failing(graph, two, two, 2) is None
    assert failing(graph, two[:1], two, 9) == 0
    assert failing(graph, two, three, 9) == 1
    assert failing(graph, two, three, 2) == 2
    assert failing(graph, two, two, 1) == 3


def test_a_broken_equality_is_blamed_for_what_follows_from_it():
    # y is called x.0 long from the start, so the first node meets a wrong type before the guard is due
    text = """
    f(x: f64[x.0], y: f64[x.0]) -> f64[x.0]
      where x.0 == y.0 @4
      %2: f64[x.0] = sin y
      %3: f64[2] = slice y  {size=(2,), start=(x.0 - 2,), step=(1,)}
      %4: f64[x.0] = add x %2
      return %4"""
    assert failing(verify(parse(text)), np.ones(3), np.ones(4)) == 0
    assert failing(verify(parse(text)), np.ones(7), np.ones(4)) == 0
    assert failing(verify(parse(text)), np.ones(4), np.ones(4)) is None


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">=", "==", "!="])
def test_every_relation(relation):
    compare = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}[relation]
    for outcome in (True, False):
        graph = build(lambda x: x, [Guard(N - 2, relation, outcome, 1)], x=VECTOR)
        for size in (1, 2, 3):
            holds = getattr(operator, compare)(size, 2) == outcome
            assert failing(graph, np.ones(size)) == (None if holds else 0)


def test_a_guard_on_a_count_waits_until_it_is_known():
    text = """
    f(x: f64[x.0]) -> f64[x.0]
      where not #1 < 2 @1
      %1: (i64[#1],) = nonzero x  {count='#1'}
      return x"""
    graph = verify(parse(text))
    assert failing(graph, np.array([1.0, 0, 0])) == 0
    assert failing(graph, np.array([1.0, 0, 3])) is None


def test_a_guard_says_what_it_is_about():
    for inputs, text in (([1.0], "0 does not hold: not x.0 < 2"), ([3.0, 3.0], "1 does not hold: %4 is true")):
        with pytest.raises(GuardFailed, match=f"f: guard {text}"):
            evaluate(branchy(), [np.array(inputs), np.array(inputs), 9])


# -- graphs inside of nodes ----------------------------------------------------------------------------------------


def body(*types):
    """(x, y) -> x*y + x, y"""
    return replace(build(lambda x, y: (x * y + x, y), **dict(zip("xy", types, strict=True))), name="body")


def results(expr):
    """Both results of a node with two."""
    b = expr.builder
    types = b.nodes[expr.index].type
    return tuple(b.raw("pick", (expr.index,), (("index", i),), types[i]) for i in range(2))


def test_call_renames_the_sizes_of_its_graph():
    inner = body(ArrayType(FLOAT64, (N, 3)), ArrayType(FLOAT64, (3,)))
    graph = build(lambda a, b: results(a.op("call", b, graph=inner)), a=ArrayType(FLOAT64, (atom("a.0"), 3)), b=THREE)
    x, y = np.arange(6.0).reshape(2, 3), np.array([1.0, 2, 3])
    first, second = evaluate(verify(graph), [x, y])
    assert_array_equal(first, x * y + x)
    assert_array_equal(second, y)
    assert str(graph.nodes[2].type[0]) == "f64[a.0, 3]"


def test_call_is_told_of_sizes_that_no_axis_gives():
    inner = build(lambda k: iota(k.builder, atom("k")) + k, k=WHOLE)
    outer = Builder("outer")
    n = outer.input("n", WHOLE)
    with pytest.raises(ShapeError, match="call: the size k is known inside of f only"):
        n.op("call", graph=inner)
    out = n.op("call", graph=inner, sizes=(("k", atom("n")),))
    assert str(out.type) == "i64[n]"
    assert_array_equal(evaluate(verify(outer.build([out])), [3])[0], [3, 4, 5])


def test_a_guard_of_an_inner_graph_fails_as_its_own():
    inner = build(lambda x: x, [Guard(N - 2, "<", True, 1)], x=VECTOR)
    graph = build(lambda x: x.op("call", graph=inner), x=VECTOR)
    with pytest.raises(GuardFailed) as caught:
        evaluate(graph, [np.ones(2)])
    assert caught.value.graph is inner


@pytest.mark.parametrize("rows", [4, 0])
def test_map_stacks_what_its_graph_makes_of_each_row(rows):
    def mapped(a, b):
        return results(a.op("map", b, body=body(VECTOR, THREE), mapped=(True, False)))

    x, y = np.arange(3.0 * rows).reshape(rows, 3), np.array([1.0, 2, 3])
    first, second = evaluate(verify(build(mapped, a=type_of(x), b=type_of(y))), [x, y])
    assert_array_equal(first, x * y + x)
    assert_array_equal(second, np.broadcast_to(y, (rows, 3)))


def test_one_result_is_no_tuple():
    square = build(lambda x: x * x, x=SCALAR)
    graph = verify(build(lambda x: x.op("map", body=square, mapped=(True,)) + 1.0, x=VECTOR))
    assert_array_equal(evaluate(graph, [np.arange(3.0)])[0], [1, 2, 5])


REFUSED = [
    ("map", (THREE, ArrayType(FLOAT64, (2,))), (True, True), "map: leading sizes differ, 3 against 2"),
    ("map", (THREE, SCALAR), (False, False), "map: no input to loop over"),
    ("map", (THREE, SCALAR), (True, True), "map: input 1 has no axis to loop over"),
    ("call", (SCALAR,), None, "call: body takes 2 inputs, not 1"),
    ("call", (SCALAR, THREE), None, "call: input y of body is f64[], not f64[3]"),
    ("call", (SCALAR, ArrayType(FLOAT32)), None, "call: input y of body is f64[], not f32[]"),
]


@pytest.mark.parametrize(("name", "types", "mapped", "text"), REFUSED, ids=[row[3] for row in REFUSED])
def test_inputs_that_do_not_fit_a_graph_are_refused(name, types, mapped, text):
    inner = body(SCALAR, SCALAR)
    params = {"graph": inner} if mapped is None else {"body": inner, "mapped": mapped}
    with pytest.raises((ShapeError, DtypeError)) as caught:
        OPS[name].infer(TRUST, types, params)
    assert text in str(caught.value)
