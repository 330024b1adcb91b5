"""Every row of OPS against NumPy: types, scalar compositions, derivatives of first and second order, both modes."""

import itertools

import numpy as np
import pytest
from rows import EDGES, check_derivatives, gradients, graph_of, run, sample

from numtape.compiler.gradient import vjp
from numtape.compiler.scalar import PRIMITIVES, Scalars
from numtape.tracer.dims import atom
from numtape.tracer.evaluate import evaluate
from numtape.tracer.op import ZERO, Op
from numtape.tracer.ops import OPS, factor, linalg
from numtape.tracer.ops import words as w
from numtape.tracer.types import BOOL, FLOAT32, FLOAT64, INT64, ArrayType, type_of

F32, F64, I64, I32 = (np.dtype(t) for t in ("f4", "f8", "i8", "i4"))
ELEMENTWISE = [row for row in OPS.values() if row.elementwise]
PARAMS = {
    "astype": [{"dtype": d} for d in ("f32", "f64", "i64", "i32", "bool")],
    "sinc": [{}, {"order": 1}, {"order": 4}],
}

# How the rows of reduce.py are called: shapes of the inputs, and parameters.
REDUCED = [((4,), (0,)), ((2, 3, 4), (1,)), ((2, 3, 4), (0, 2)), ((2, 3, 4), (0, 1, 2)), ((2, 3), ()), ((), ())]
ALONG = [((4,), 0), ((2, 3, 4), 1), ((1, 3), 0)]
CALLS: dict[str, list[tuple[tuple[tuple[int, ...], ...], dict]]] = {
    **{
        name: [((shape,), {"axes": axes}) for shape, axes in REDUCED]
        for name in ("sum", "prod", "max", "min", "any", "all")
    },
    **{
        name: [((shape,), {"axis": axis}) for shape, axis in ALONG]
        for name in ("argmax", "argmin", "cumsum", "cumprod", "sort", "argsort")
    },
    "linrec": [(((5,), (5,)), {"axis": 0}), (((2, 3, 2), (2, 3, 2)), {"axis": 1})],
}  # fmt: skip
EMPTY = {
    "sum": (((0, 3),), {"axes": (0,)}),
    "prod": (((2, 0),), {"axes": (1,)}),
    "any": (((0,),), {"axes": (0,)}),
    "all": (((0,),), {"axes": (0,)}),
    "max": (((0, 3),), {"axes": (1,)}),
    "min": (((0, 3),), {"axes": (1,)}),
    "cumsum": (((0,),), {"axis": 0}),
    "cumprod": (((2, 0),), {"axis": 1}),
    "sort": (((0,),), {"axis": 0}),
    "argsort": (((0,),), {"axis": 0}),
    "linrec": (((0,), (0,)), {"axis": 0}),
}
CASES = [
    pytest.param(OPS[n], shapes, p, id=f"{n}-{i}") for n, calls in CALLS.items() for i, (shapes, p) in enumerate(calls)
]
each_row = pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
each_case = pytest.mark.parametrize(("row", "shapes", "params"), CASES)


def params_of(row: Op) -> list[dict]:
    return [{"kind": k} for k in "fib"] if row.name == "weaken" else PARAMS.get(row.name, [{}])


def smooth(row: Op) -> list[int]:
    """The inputs by which a row has a derivative that may differ from 0."""
    return [n for n, domain in enumerate(row.domain) if row.carries(n) and not (domain.boolean or domain.integer)]


STATED = ("stop_gradient", "assigned")  # their derivatives are what users ask for, not slopes


# -- types ------------------------------------------------------------------------------------------------------------


@each_row
def test_types_are_numpys(row):
    """All combinations of dtypes and Python numbers: the row's type, or a TypeError where NumPy raises one."""
    rng, arity = np.random.default_rng(1), len(row.domain)
    shapes = [(2, 3), (3,), (1, 1)] if row.name != "weaken" else [()]

    def values(n):
        x = rng.integers(1, 4, shapes[n])
        yield from (np.asarray(x, dtype)[()] for dtype in (F32, F64, I64, I32, BOOL))
        yield from (2, 1.5, True)

    seen = 0
    for args in itertools.product(*(tuple(values(n)) for n in range(arity))):
        for params in params_of(row):
            try:
                with np.errstate(all="ignore"):
                    want = row.reference(*args, **params)
            except TypeError:
                with pytest.raises(TypeError):
                    graph_of(row.name, [type_of(a) for a in args], **params)
                continue
            graph = graph_of(row.name, [type_of(a) for a in args], **params)
            weak = row.name == "weaken" or (
                row.name != "astype"
                and not any(isinstance(a, np.ndarray | np.generic) for a in args)
                and np.asarray(want).dtype in (F64, I64, BOOL)  # np.sqrt(True) is a float16
            )
            type_ = graph.type(graph.outputs[0])
            assert (type_.dtype, type_.shape) == (np.asarray(want).dtype, np.shape(want)), (args, params)
            assert type_.weak == weak, args
            with np.errstate(all="ignore"):
                (got,) = evaluate(graph, args)  # which checks each value against its type
            np.testing.assert_array_equal(got, want)
            seen += 1
    assert seen


@each_row
def test_shapes_broadcast(row):
    for shapes in ([(), (), ()], [(0,), (1,), ()], [(2, 1), (3,), (4, 1, 1)], [(0, 3), (2, 1, 3), (3,)]):
        if row.name == "weaken" and shapes[0]:
            continue
        values = sample(row, shapes[: len(row.domain)])
        params = params_of(row)[0]
        (got,) = evaluate(graph_of(row.name, [type_of(v) for v in values], **params), values)
        assert np.shape(got) == np.broadcast_shapes(*map(np.shape, values))


def test_where_keeps_python_numbers_weak():
    c, x = np.array([True, False]), np.array([1, 2], F32)
    assert run(lambda c, x: w.where(c, 1.0, x), c, x).dtype == F32
    assert run(lambda c, x: w.where(c, x, 7), c, x).dtype == F32
    assert run(lambda c: w.where(c, 1.0, 2), c).dtype == F64


def test_integer_power_refuses_negative_exponents_as_numpy_does():
    with pytest.raises(ValueError, match="negative integer powers"):
        run(w.power, np.array([2, 3]), np.array([1, -1]))


@each_case
def test_types_of_reductions(row, shapes, params):
    for dtype in (F32, F64, I64, I32, BOOL, np.dtype("u1"), np.dtype("i1")):
        if row.name == "linrec" and dtype.kind != "f":
            continue
        values = [np.asarray(v * 3, dtype)[()] for v in sample(row, shapes)]
        graph = graph_of(row.name, [type_of(v) for v in values], **params)
        (got,) = evaluate(graph, values)
        want = row.reference(*values, **params)
        assert got.dtype == np.asarray(want).dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", EMPTY)
def test_empty(name):
    shapes, params = EMPTY[name]
    values = [np.zeros(shape) for shape in shapes]
    graph = graph_of(name, [type_of(v) for v in values], **params)
    if name in ("max", "min"):
        with pytest.raises(ValueError, match="zero-size"):
            evaluate(graph_of(name, [type_of(v) for v in values], axes=(0,)), values)
    (got,) = evaluate(graph, values)
    np.testing.assert_array_equal(got, OPS[name].reference(*values, **params))
    if OPS[name].vjp is not ZERO:
        assert [g.shape for g in gradients(graph, values)] == [v.shape for v in values]


def test_python_numbers_reduce_to_numpy_scalars():
    for name in ("sum", "prod", "max", "min"):
        graph = graph_of(name, [ArrayType(INT64, (), True)], axes=())
        (got,) = evaluate(graph, [3])
        assert type(got) is np.int64 and got == 3


def test_every_row_is_tested():
    """A row outside of these lists has a file of its own: test_structural, test_linalg_rows."""
    own = {"input", "const", "size", "iota", "pick", "call", "map", "nonzero", "integer", "copy"}
    own |= {"reshape", "transpose", "expand_dims", "squeeze", "broadcast_to", "concatenate"}
    own |= {"slice", "unslice", "set_slice", "gather", "scatter_add", "scatter_set"}
    own |= {row.name for row in (*linalg.TABLE, *factor.TABLE)}
    assert {name for name, row in OPS.items() if not row.elementwise} <= CALLS.keys() | own
    for row in OPS.values():
        assert not row.elementwise or len(row.partials) == len(row.domain), row.name
        assert row.elementwise == (row.scalar is not None) == (row.lower == ""), row.name


# -- scalar compositions ----------------------------------------------------------------------------------------------


def numpy_scalars():
    """The builder of scalars, with NumPy in the place of a back end."""
    ufuncs = {
        "neg": np.negative, "abs": np.abs, "bit_not": np.invert, "not_": np.logical_not, "sub": np.subtract,
        "mul": np.multiply, "bit_and": np.bitwise_and, "bit_or": np.bitwise_or, "bit_xor": np.bitwise_xor,
        "shift_left": np.left_shift, "shift_right": np.right_shift, "eq": np.equal, "ne": np.not_equal,
        "lt": np.less, "le": np.less_equal, "and_": np.logical_and, "or_": np.logical_or, "xor": np.logical_xor,
        "select": np.where, "div": np.divide, "floordiv": np.floor_divide, "pow": np.power, "erf": OPS["erf"].reference,
    }  # fmt: skip

    def emit(name, dtype, operands):
        if name == "cast":
            return operands[0].astype(dtype)
        return np.asarray((ufuncs.get(name) or getattr(np, name))(*operands)).astype(dtype)

    return Scalars(emit, lambda value, dtype: np.asarray(value, dtype))


def edges(dtype):
    if dtype.kind == "i":
        return np.array([0, 1, -1, 2, 7, np.iinfo(dtype).max, np.iinfo(dtype).min + 1], dtype)
    with np.errstate(over="ignore"):
        return np.array(EDGES if dtype.kind == "f" else [0, 1]).astype(dtype)


@each_row
@pytest.mark.parametrize("dtype", [F64, F32, I64, I32, BOOL], ids=str)
def test_scalars_give_numpys_values(row, dtype):
    """nan, infinities, the sign of zero, extreme integers: as the compiler composes it, and as NumPy computes it."""
    from numtape.compiler.scalar import Scalar

    arity = len(row.domain)
    values = [edges(dtype) for _ in range(arity)]
    if row.name in ("left_shift", "right_shift", "power") and dtype.kind == "i":
        values[1] = np.abs(values[1]) % np.asarray(8, dtype)
    args = [np.asarray(a) for a in np.meshgrid(*values, indexing="ij")]
    if row.name == "weaken":
        args = [np.asarray(1, dtype)]
    s = numpy_scalars()
    for params in params_of(row):
        try:
            dtypes = row.dtypes(tuple(type_of(a) for a in args), **params)
        except TypeError:
            continue
        with np.errstate(all="ignore"):
            want = np.asarray(row.reference(*args, **params))
            inputs = [Scalar(a.astype(d), d) for a, d in zip(args, dtypes, strict=False)]
            if callable(row.scalar):
                out = row.scalar(s, *inputs, **params)
            else:
                assert PRIMITIVES[row.scalar].arity == arity
                out = s.make(row.scalar, *inputs)
            got = out.operand.astype(dtypes[-1])
        assert got.dtype == want.dtype
        if row.name == "reciprocal" and dtype.kind == "i":
            got, want = got[args[0] != 0], want[args[0] != 0]  # a cast of inf: whatever the machine does
        if row.name == "astype" and dtypes[-1].kind == "i" and dtype.kind == "f":
            fits = np.abs(args[0]) < 1e9
            got, want = got[fits], want[fits]
        exact = dtypes[-1].kind != "f" or not callable(row.scalar)
        if exact:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=8 * np.finfo(dtypes[-1]).eps, atol=np.finfo(dtypes[-1]).tiny)
        if got.dtype.kind == "f" and row.name not in ("maximum", "minimum", "sinc"):
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


# -- derivatives ------------------------------------------------------------------------------------------------------


@each_row
def test_derivatives_match_differences(row):
    moving = smooth(row)
    if not moving or row.name == "weaken" or row.name in STATED:
        return
    for seed, shapes in enumerate(([(2, 3), (2, 3), (2, 3)], [(2, 3), (3,), (2, 1)], [(), (2,), ()], [(3,), (), (1,)])):
        values = sample(row, shapes[: len(row.domain)], seed)
        params = {"dtype": "f64"} if row.name == "astype" else {}
        check_derivatives(graph_of(row.name, [type_of(v) for v in values], **params), values, moving)


@each_row
def test_steps_have_no_slope(row):
    """ZERO is claimed only where the function stands still between its jumps."""
    for n, partial in enumerate(row.partials):
        if partial is not ZERO or row.domain[n].boolean or row.domain[n].integer or row.name in STATED:
            continue
        values = sample(row, [(50,)] * len(row.domain))
        near = list(values)
        near[n] = values[n] + 1e-5
        np.testing.assert_array_equal(row.reference(*near), row.reference(*values))


@each_case
def test_derivatives_of_reductions(row, shapes, params):
    if row.vjp is ZERO:
        return
    values = sample(row, shapes, 3)
    check_derivatives(graph_of(row.name, [type_of(v) for v in values], **params), values, range(len(shapes)))


def test_a_gradient_has_its_sources_dtype():
    x, y = np.array([0.5, 0.25], F32), np.array([1.5, 2.5])
    for row in ELEMENTWISE:
        if len(smooth(row)) != 2 or row.name == "where":
            continue
        a, b = gradients(graph_of(row.name, [type_of(x), type_of(y)]), [x, y])[:2]
        assert (a.dtype, b.dtype) == (FLOAT32, FLOAT64), row.name


@each_row
def test_float32_derivatives_stay_in_float32(row):
    """No constant of a rule drags the computation into float64."""
    if not smooth(row) or row.name in ("astype", "weaken"):
        return
    types = [ArrayType(BOOL if d.boolean else FLOAT32, (3,)) for d in row.domain]
    graph = vjp(graph_of(row.name, types), smooth(row))
    dtypes = {node.type.dtype for node in graph.nodes if node.type.shape}
    assert dtypes <= {FLOAT32, np.dtype(bool)}, row.name


@pytest.mark.parametrize("name", ["prod", "cumprod"])
@pytest.mark.parametrize("x", [[0.0, 2.0, 3.0], [0.0, 2.0, 0.0], [2.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0]], ids=str)
def test_products_with_zeros(name, x):
    params = {"axes": (0,)} if name == "prod" else {"axis": 0}
    check_derivatives(graph_of(name, [ArrayType(FLOAT64, (len(x),))], **params), [np.array(x)], [0])


@each_case
def test_rules_of_reductions_hold_for_sizes_that_are_not_known(row, shapes, params):
    """One graph with symbolic sizes serves all lengths, 0 and 1 included."""
    if row.vjp is ZERO or () in shapes:
        return
    rank = len(shapes[0])
    sizes = tuple(atom(f"a.{axis}") for axis in range(rank))
    graph = graph_of(row.name, [ArrayType(FLOAT64, sizes)] * len(shapes), **params)
    backward = vjp(graph, list(graph.inputs))
    for length in (0, 1, 3) if row.name not in ("max", "min") else (1, 3):
        values = [np.random.default_rng(n).normal(size=(length,) * rank) for n in range(len(shapes))]
        (out,) = evaluate(graph, values)
        found = evaluate(backward, [*values, np.ones_like(out)])[1:]
        known = graph_of(row.name, [type_of(v) for v in values], **params)
        np.testing.assert_array_equal(found, gradients(known, values))
