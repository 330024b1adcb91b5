"""The printed form of graphs: golden texts, and `parse` as the exact inverse of `show`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from numtape.tracer import dims
from numtape.tracer.graph import NOWHERE, Builder, Const, Graph, Guard, Loc, Node
from numtape.tracer.plain import replace
from numtape.tracer.show import parse, quote, show
from numtape.tracer.types import BOOL, FLOAT64, INT64, LONG, ArrayType

ROWS, WIDTH, K = dims.atom("x.0"), dims.atom("params['w'].0"), dims.atom("k")

GOLDEN = """\
loss(x: f64[x.0, 3], params['w']: f64[3], k: ~i64[], `x'1`: f64[]) -> f64[x.0], bool[]
  where x.1 == params['w'].0 @4           # model.py:12 (these sizes are equal)
  where not k < 3 @4
  where %6 is true @7                     # model.py:14
  %4: f64[3, 1] = expand_dims params['w']  {axes=(1,)}
  %5: f64[x.0, 1] = matmul x %4           # model.py:12
  %6: bool[] = less `x'1` k
  %7: f64[x.0] = squeeze %5  {axes=(1,)}  # model.py:13
  %8: (f64[x.0], f64[x.0]) = call %7  {graph=@`<lambda>`}
      `<lambda>`(t: f64[t.0]) -> f64[t.0], f64[t.0]
        %1: ~f64[] = const  {value=f64(0.5)}
        %2: f64[t.0] = multiply t %1
        return %2, t
  %9: f64[x.0] = pick %8  {index=0}       # model.py:15
  return %9, %6"""


def sample():
    inner = Builder("<lambda>")
    t = inner.input("t", ArrayType(FLOAT64, (dims.atom("t.0"),)))
    half = inner.build([t * 0.5, t])
    b = Builder("loss")
    x, w = b.input("x", ArrayType(FLOAT64, (ROWS, 3))), b.input("params['w']", ArrayType(FLOAT64, (3,)))
    k, y = b.input("k", ArrayType(INT64, (), True)), b.input("x'1", ArrayType(FLOAT64))
    column = b.op("expand_dims", w, axes=(1,))
    b.loc = Loc("/home/me/model.py", 12)
    product = b.op("matmul", x, column)
    b.loc = NOWHERE
    branch = y < k
    b.loc = Loc("/home/me/model.py", 13)
    z = b.op("squeeze", product, axes=(1,))
    b.loc = NOWHERE
    called = b.raw("call", (z.index,), (("graph", half),), (z.type, z.type))
    b.loc = Loc("/home/me/model.py", 15)
    out = b.raw("pick", (called.index,), (("index", 0),), z.type)
    guards = [
        Guard(dims.atom("x.1") - WIDTH, "==", True, 4, Loc("model.py", 12), "these sizes are equal"),
        Guard(K - 3, "<", False, 4),
        Guard(branch.index, "is", True, 7, Loc("model.py", 14)),
    ]
    return b.build([out, branch], guards)


def base(loc):
    return Loc(loc.file.rpartition("/")[2], loc.line)


def assert_round_trip(graph):
    text = show(graph)
    back = parse(text)
    assert back == graph, text
    assert show(back) == text
    locs = [NOWHERE] * len(graph.names) + [base(graph.loc(i)) for i in range(len(graph.names), len(graph.nodes))]
    assert [back.loc(i) for i in range(len(graph.nodes))] == locs, text
    assert [(g.loc, g.why) for g in back.guards] == [(base(g.loc), g.why) for g in graph.guards], text


def test_golden_text():
    graph = sample()
    assert show(graph) == str(graph) == GOLDEN
    assert_round_trip(graph)


def test_what_does_not_change_the_text_is_read_as_written():
    spaced = "\n\n".join(GOLDEN.split("\n")).replace("%5 =", "%5   =")
    assert parse(spaced) == sample()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "f64(0.5)"),
        (-0.0, "f64(-0.0)"),
        (np.float32(0.1), "f32(0.1)"),
        (np.float16(1e-7), "f16(1e-07)"),
        (np.nan, "f64(nan)"),
        (-np.inf, "f64(-inf)"),
        (np.uint64(2**64 - 1), "u64(18446744073709551615)"),
        (np.int64(-(2**63)), "i64(-9223372036854775808)"),
        (True, "bool(True)"),
        (np.complex64(complex(1, -0.0)), "c64(1.0, -0.0)"),
        (np.frombuffer(bytes.fromhex("010000000000f87f"))[0], "f64(0x7ff8000000000001)"),
        (np.array([[1, 2], [3, 4]], np.int8), "i8[2, 2](1, 2, 3, 4)"),
        (np.zeros((0, 3)), "f64[0, 3]()"),
    ],
)
def test_constants_are_legible(value, text):
    node = Node("const", (), (("value", Const.of(value)),), ArrayType(np.asarray(value).dtype))
    graph = Graph("c", (node,), (0,), ())
    assert f"= const  {{value={text}}}" in show(graph)
    assert_round_trip(graph)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w", "w"),
        ("self.layers[0].w", "self.layers[0].w"),
        ("params['w']", "params['w']"),
        ("σ x", "`\\u03c3 x`"),
        ("größe", "größe"),
        ("x'1", "`x'1`"),
        ("True", "`True`"),
        ("not", "`not`"),
        ("f64[0]", "`f64[0]`"),
        ("a`b\\", "`a\\x60b\\\\`"),
        ("", "``"),
    ],
)
def test_odd_names_are_quoted(name, text):
    assert quote(name) == text
    size = dims.atom(f"{name}.0")
    node = Node("reshape", (0,), (("shape", (size, 2 * size)),), ArrayType(FLOAT64, (size,)))
    inputs = (Node("input", (), (("name", name),), ArrayType(FLOAT64, (size,))),)
    assert_round_trip(Graph(name, (*inputs, node), (1, 0), (name,), (Guard(size - 1, "<", True, 1),)))


def test_inputs_of_one_name_are_told_apart():
    node = Node("input", (), (("name", "x"),), ArrayType(FLOAT64))
    both = Graph("f", (node, node, Node("add", (1, 0), (), ArrayType(FLOAT64))), (2, 1), ("x", "x"))
    assert "add %1 %0" in show(both)
    assert_round_trip(both)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a name expected"),
        ("f(x: f64[])\n  return x", "'->' expected"),
        ("f(x: f63[]) -> f64[]\n  return x", "a type expected at 'f63"),
        ("f(x: f64[]) -> f64[]\n  %2: f64[] = sin x\n  return %2", "node %1 expected"),
        ("f(x: f64[]) -> f64[]\n  %1: f64[] = sin y\n  return %1", "the end of the line expected at 'y'"),
        ("f(x: f64[]) -> f64[]\n  %1: f64[] = sin x", "'return' expected"),
        ("f(x: f64[]) -> i64[]\n  return x", "promises other types"),
        ("f(x: f64[]) -> f64[]\n  return x\n  return x", "the end of the text"),
        ("f(x: f64[]) -> f64[]\n  where 3 < 4 @1\n  return x", "depends on an input"),
        ("f(x: f64[]) -> f64[]\n  %1: f64[] = call x  {graph=@g}\n  h() -> \n  return\n  return %1", "g below, not h"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises(ValueError, match="expected|promises") as caught:
        parse(text)
    assert message in str(caught.value)


# -- random graphs: show and parse don't ask whether types follow from the rows ------------------------------------

names = st.one_of(st.sampled_from(["x", "w", "self.w", "p['b']", "k", "#1", "@2", "max", "i8"]), st.text(max_size=6))
atoms = st.one_of(names.map(dims.atom), st.builds(lambda n, axis: dims.atom(f"{n}.{axis}"), names, st.integers(0, 3)))


def combined(sizes):
    two = [sizes, sizes]
    return st.one_of(
        st.builds(lambda a, b: a + b, *two),
        st.builds(lambda a, b: a - b, *two),
        st.builds(lambda a, b: a * b, *two),
        st.builds(dims.maximum, *two),
        st.builds(dims.minimum, *two),
        st.builds(dims.floordiv, sizes, st.integers(1, 5)),
        st.builds(dims.floordiv, sizes, atoms),
    )


sizes = st.recursive(st.one_of(st.integers(-3, 9), atoms), combined, max_leaves=5)
types = st.builds(
    ArrayType, st.sampled_from(list(LONG.values())), st.lists(sizes, max_size=3).map(tuple), st.booleans()
)
outputs = st.one_of(types, st.lists(types, max_size=2).map(tuple))
locs = st.one_of(
    st.just(NOWHERE), st.builds(Loc, st.sampled_from(["/a/m.py", "x:1.py", "#.py", "a (b).py"]), st.integers(0, 99))
)
locs = st.one_of(locs, st.builds(Loc, st.text(max_size=8), st.integers(-1, 99)))


@st.composite
def constants(draw):
    dtype = draw(st.sampled_from(list(LONG.values())))
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 40]), max_size=2)))
    count = int(np.prod(shape, dtype=int)) * dtype.itemsize
    data = draw(st.binary(min_size=count, max_size=count)) if count < 99 else np.random.default_rng(count).bytes(count)
    if dtype == BOOL:
        data = bytes(byte & 1 for byte in data)
    return Const(dtype.name, shape, data)


simple = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5), sizes, constants(), types
)
params = st.recursive(simple, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


@st.composite
def graphs(draw, depth=2):
    inputs = tuple(draw(st.lists(names, max_size=3)))
    nodes = [Node("input", (), (("name", name),), draw(types)) for name in inputs]
    for _ in range(draw(st.integers(0, 4))):
        args = draw(st.lists(st.integers(0, len(nodes) - 1), max_size=3)) if nodes else []
        values = st.one_of(params, graphs(depth - 1)) if depth else params
        named = draw(st.dictionaries(st.sampled_from(["axis", "graph", "value"]), values, max_size=2))
        op = draw(st.sampled_from(["add", "call", "log1p"]))
        nodes.append(Node(op, tuple(args), tuple(sorted(named.items(), key=lambda p: p[0])), draw(outputs)))
    some = st.lists(st.integers(0, len(nodes) - 1), max_size=3) if nodes else st.just([])
    comparison = st.builds(
        Guard,
        sizes.filter(lambda s: isinstance(s, dims.Dim)),
        st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
        st.booleans(),
        st.integers(0, 9),
        locs,
        st.text(max_size=8),
    )
    truth = st.builds(Guard, st.sampled_from(range(len(nodes))), st.just("is"), st.booleans(), st.integers(0, 9), locs)
    guards = draw(st.lists(st.one_of(comparison, truth) if nodes else comparison, max_size=2))
    where = tuple(draw(locs) for _ in nodes) if draw(st.booleans()) else ()
    return Graph(draw(names), tuple(nodes), tuple(draw(some)), inputs, tuple(guards), where)


@given(graphs())
def test_parse_is_the_inverse_of_show(graph):
    assert_round_trip(graph)


@given(sizes)
def test_sizes_come_back_exactly(size):
    graph = Graph("f", (Node("size", (), (("size", size),), ArrayType(INT64, (), True)),), (0,), ())
    assert_round_trip(graph)
    assert type(parse(show(graph)).nodes[0].param("size")) is type(size)


@given(st.floats(width=64))
def test_every_float_comes_back_bit_by_bit(value):
    constant = Const.of(value)
    node = Node("const", (), (("value", constant),), ArrayType(FLOAT64))
    assert parse(show(Graph("f", (node,), (0,), ()))).nodes[0].param("value") == constant


def test_equality_leaves_out_lines():
    graph = sample()
    moved = replace(graph, locs=tuple(Loc("other.py", i) for i in range(len(graph.nodes))))
    assert moved == graph and hash(moved) == hash(graph)
    assert show(moved) != show(graph)
