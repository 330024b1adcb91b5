"""Rows that rearrange, index, multiply matrices and hold graphs: types, references, derivatives, error texts.

`evaluate` holds what NumPy computes against what the type rule says, so each evaluation here tests the rule too.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from rows import gradients, pairing, run, trace

from numtape.compiler.forward import jvp
from numtape.compiler.gradient import vjp
from numtape.tracer.dims import atom
from numtape.tracer.errors import ShapeError
from numtape.tracer.evaluate import evaluate
from numtape.tracer.graph import live_nodes, verify
from numtape.tracer.ops import OPS, control, linalg
from numtape.tracer.ops import index as index_rows
from numtape.tracer.ops import shape as shape_rows
from numtape.tracer.ops.words import (
    broadcast_to,
    concatenate,
    count,
    expand_dims,
    flip,
    gather,
    iota,
    matmul,
    reshape,
    scatter_add,
    scatter_set,
    set_slice,
    slice_,
    slice_axis,
    spread,
    squeeze,
    transpose,
    unslice,
)
from numtape.tracer.types import FLOAT32, FLOAT64, INT64, TRUST, ArrayType, type_of

SHAPES = [(), (1,), (3,), (0,), (2, 3), (1, 3), (0, 3), (2, 3, 4), (2, 1, 0), (2, 1, 3, 2)]
WITH_AXES = SHAPES[1:]


def numbers(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)[()] if shape else np.float64(1.25 + seed)


def symbolic(value, name):
    """The type of a value with a name for each size but 1, which is what stretches."""
    shape = tuple(1 if size == 1 else atom(f"{name}.{axis}") for axis, size in enumerate(np.shape(value)))
    return ArrayType(np.asarray(value).dtype, shape)


def holds(function, *values, smooth=True):
    """Check one function: concrete and symbolic types, forward and reverse mode. Returns its value."""
    graph = verify(trace(function, [type_of(v) for v in values]))
    outs = evaluate(graph, values)
    named = verify(trace(function, [symbolic(v, "abcd"[n]) for n, v in enumerate(values)]))
    for out, other in zip(outs, evaluate(named, values), strict=True):
        assert_array_equal(out, other)
    if smooth:
        for each in (graph, named):
            adjoint(each, values)
    return outs[0] if len(outs) == 1 else outs


def adjoint(graph, values, seed=0):
    """<J v, u> == <v, J^T u>. The functions here are at most quadratic, so differences give J v exactly."""
    rng = np.random.default_rng(seed)
    floating = [n for n in graph.inputs if graph.type(n).inexact]
    v = [rng.standard_normal(np.shape(values[n])) for n in floating]

    def moved(sign):
        step = dict(zip(floating, v, strict=True))
        return evaluate(graph, [x + sign * step[n] if n in step else x for n, x in enumerate(values)])

    jv = [(after - before) / 2 for after, before in zip(moved(1), moved(-1), strict=True)]
    u = [rng.standard_normal(np.shape(out)) for out in jv]
    pulled = evaluate(vjp(graph, floating), [*values, *u])[len(jv) :]
    assert_allclose(pairing(pulled, v), pairing(jv, u), rtol=1e-11, atol=1e-11)
    pushed = evaluate(jvp(graph, floating), [*values, *v])[len(jv) :]
    for forward, difference in zip(pushed, jv, strict=True):
        assert_allclose(forward, difference, rtol=1e-11, atol=1e-11)


# -- shapes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_that_rearrange(shape):
    x, rank = numbers(shape), len(shape)
    ones = tuple(axis for axis, size in enumerate(shape) if size == 1)
    rolled = (*range(1, rank), 0)[:rank]
    wide = (2, *(4 if size == 1 else size for size in shape))
    assert_array_equal(holds(lambda a: reshape(a, (count(a.shape),)), x), np.reshape(x, -1))
    assert_array_equal(holds(lambda a: reshape(a, (1, count(a.shape), 1)), x), np.reshape(x, (1, -1, 1)))
    assert_array_equal(holds(lambda a: a.op("transpose", perm=rolled), x), np.transpose(x, rolled))
    assert_array_equal(holds(lambda a: expand_dims(a, (0, rank + 1)), x), np.asarray(x)[None, ..., None])
    assert_array_equal(holds(lambda a: squeeze(a, ones), x), np.squeeze(x))
    stretched = holds(lambda a: broadcast_to(a, (2, *(4 if s == 1 else s for s in a.shape))), x)
    assert_array_equal(stretched, np.broadcast_to(x, wide))
    assert_array_equal(holds(lambda a: a.op("copy"), x), x)


@pytest.mark.parametrize("shape", WITH_AXES, ids=str)
def test_concatenate(shape):
    for axis in range(len(shape)):
        other = numbers((*shape[:axis], 2, *shape[axis + 1 :]), 1)
        found = holds(lambda a, b: concatenate((a, b, a), axis), x := numbers(shape), other)  # noqa: B023
        assert_array_equal(found, np.concatenate((x, other, x), axis))


def test_concatenate_promotes_and_gives_each_part_its_own_dtype():
    parts = [np.float32([1, 2]), np.array([3, 4]), np.float64([5])]
    graph = trace(lambda *xs: concatenate(xs, 0), [type_of(p) for p in parts])
    assert evaluate(graph, parts)[0].dtype == FLOAT64
    g32, g64 = gradients(graph, parts, [np.arange(5.0)])
    assert g32.dtype == FLOAT32 and g64.dtype == FLOAT64
    assert_array_equal(np.concatenate((g32, g64)), [0, 1, 4])


@st.composite
def sliced(draw):
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=4)))
    keys = [draw(st.slices(size)) for size in shape]
    ranges = [range(*key.indices(size)) for key, size in zip(keys, shape, strict=True)]
    return shape, tuple(keys), tuple(r.start for r in ranges), tuple(map(len, ranges)), tuple(r.step for r in ranges)


@given(sliced())
def test_slices(case):
    shape, keys, start, size, step = case
    x, part = numbers(shape), numbers(size, 1)
    assert_array_equal(holds(lambda a: slice_(a, start, size, step), x), np.asarray(x)[keys])
    put = np.zeros(shape)
    put[keys] = part
    assert_array_equal(holds(lambda a: unslice(a, shape, start, step), part), put)
    changed = np.array(x)
    changed[keys] = part
    assert_array_equal(holds(lambda a, b: set_slice(a, b, start, step), x, part), changed)


def test_slices_with_sizes_of_inputs():
    x = numbers((4, 3))
    assert_array_equal(holds(lambda a: slice_axis(a, 0, 1, a.shape[0] - 1), x), x[1:])
    for empty_too in (x, x[:0]):
        assert_array_equal(holds(lambda a: flip(a, 0), empty_too), empty_too[::-1])


def test_only_the_last_of_two_writes_counts():  # IP10
    x, first, second = np.ones(2), np.float64([2.0]), np.float64([3.0])

    def twice(x, first, second):
        return set_slice(set_slice(x, first, (0,), (1,)), second, (0,), (1,))

    assert_array_equal(run(twice, x, first, second), [3, 1])
    found = gradients(twice, (x, first, second), [np.float64([10, 20])])
    assert [list(g) for g in found] == [[0, 20], [0], [10]]


def test_a_written_value_takes_the_dtype_of_the_base():
    assert_array_equal(run(lambda a, b: set_slice(a, b, (1,), (1,)), np.arange(3), np.float64([7.9])), [0, 7, 2])


# -- indices -------------------------------------------------------------------------------------------------------


@st.composite
def picks(draw):
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axes = tuple(draw(st.permutations(range(len(shape))))[: draw(st.integers(1, 2))])
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = [rng.integers(-shape[axis], shape[axis], common)[()] for axis in axes]
    return shape, axes, draw(st.integers(0, len(shape) - len(axes))), indices


def places(shape, axes, at, indices):
    """Pairs of positions, in the result of a gather and in its source, in C order of the indices."""
    rest = [axis for axis in range(len(shape)) if axis not in axes]
    for pick in np.ndindex(np.shape(indices[0])):
        for other in np.ndindex(*(shape[axis] for axis in rest)):
            source = dict(zip(rest, other, strict=True))
            source |= {axis: index[pick] % shape[axis] for axis, index in zip(axes, indices, strict=True)}
            yield (*other[:at], *pick, *other[at:]), tuple(source[axis] for axis in range(len(shape)))


@given(picks())
def test_gather_and_scatter(case):
    shape, axes, at, indices = case
    pairs = list(places(shape, axes, at, indices))
    x = numbers(shape)
    rest = [size for axis, size in enumerate(shape) if axis not in axes]
    part = numbers((*rest[:at], *np.shape(indices[0]), *rest[at:]), 1)
    read, added, written = np.zeros(np.shape(part)), np.zeros(shape), np.array(x)
    for there, here in pairs:
        read[there] = x[here]
        added[here] += np.asarray(part)[there]
        written[here] = np.asarray(part)[there]
    assert_array_equal(holds(lambda a, *ix: gather(a, ix, axes, at), x, *indices), read)
    assert_allclose(holds(lambda a, *ix: scatter_add(a, ix, shape, axes, at), part, *indices), added, atol=1e-14)
    assert_array_equal(holds(lambda a, b, *ix: scatter_set(a, b, ix, axes, at), x, part, *indices), written)


def test_of_repeated_places_the_last_in_order_is_kept_however_the_indices_lie_in_memory():
    order = np.array([[0, 1, 0], [1, 0, 1]])
    value = np.arange(6.0).reshape(2, 3)
    for index, part in ((order, value), (np.asfortranarray(order), np.asfortranarray(value)), (order[:, ::-1], value)):
        found = run(lambda a, b, i: scatter_set(a, b, (i,), (0,), 0), np.zeros(2), part, index)
        last = {int(i): v for i, v in zip(index.ravel(), part.ravel(), strict=True)}
        assert_array_equal(found, [last[0], last[1]])


def test_gathered_results_never_share_memory():
    x = np.arange(6.0).reshape(2, 3)
    for name, index in (("plain", 1), ("scalar", np.int64(1)), ("array", np.array([1]))):
        assert not np.shares_memory(OPS["gather"].reference(x, index, axes=(0,), at=0), x), name
    assert not np.shares_memory(OPS["broadcast_to"].reference(x, (2, 3)), x)


@pytest.mark.parametrize("axes", [(0,), (1,)])
def test_an_index_out_of_range_is_refused_with_its_axis(axes):
    for name, args in (("gather", ()), ("scatter_set", (np.zeros((1, 2)),))):
        with pytest.raises(IndexError, match=f"index 5 is out of bounds for axis {axes[0]} with size 2"):
            OPS[name].reference(np.zeros((2, 2)), *args, np.array([5]), axes=axes, at=0)


def test_sizes_that_the_call_finds():
    def hits(mask, x):
        b = mask.builder
        found = b.op("nonzero", mask, count="#1")
        where = b.raw("pick", (found.index,), (("index", 0),), b.nodes[found.index].type[0])
        last = b.op("integer", slice_(where, (atom("#1") - 1,), (1,), (1,)).op("squeeze", axes=(0,)), count="@2")
        return gather(x, (where,), (0,), 0), iota(b, atom("@2") + 1, "f32"), b.size(atom("#1") * 2), last

    mask, x = np.array([True, False, True, True, False]), np.arange(5.0) * 10
    taken, counted, twice, last = holds(hits, mask, x, smooth=False)
    assert_array_equal(taken, [0, 20, 30])
    assert_array_equal(counted, np.arange(4, dtype="f4"))
    assert (twice, last, type(last)) == (6, 3, int)
    adjoint(verify(trace(lambda m, x: hits(m, x)[0], [type_of(mask), type_of(x)])), (mask, x))


# -- matrix products -----------------------------------------------------------------------------------------------

PRODUCTS = [
    ((2, 3), (3, 4)), ((1, 3), (3, 1)), ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)),
    ((0, 2, 3), (3, 4)), ((2, 1, 2, 3), (1, 2, 3, 1)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", PRODUCTS, ids=str)
def test_matmul(shapes):
    a, b = (numbers(shape, n) for n, shape in enumerate(shapes))
    assert_allclose(holds(matmul, a, b), a @ b)


def test_matmul_of_a_batch_with_one_matrix_is_one_product_backward():
    graph = trace(matmul, [ArrayType(FLOAT64, (atom("a.0"), 8, 16)), ArrayType(FLOAT64, (16, 4))])
    backward = vjp(graph, [1])
    live = live_nodes(backward, backward.outputs[1:])
    ops = [node.op for node, needed in zip(backward.nodes, live, strict=True) if needed]
    assert ops.count("matmul") == 1 and "sum" not in ops


@pytest.mark.parametrize("pair", [("f4", "f4"), ("f4", "f8"), ("i4", "f4"), ("i8", "i4"), ("?", "?")], ids=str)
def test_matmul_dtypes(pair):
    a, b = (np.ones((2, 2), dtype) for dtype in pair)
    assert run(matmul, a, b).dtype == (a @ b).dtype


# -- odd inputs and error texts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f2", "f4", "i1", "u8", "?"])
def test_other_dtypes_pass_through(dtype):
    x = np.ones((2, 3), dtype)
    for function in (
        lambda a: transpose(reshape(a, (3, 2)), (1, 0)),
        lambda a: spread(a, (1,), (2, 5, 3)),
        lambda a: unslice(slice_axis(a, 1, 0, 2), (2, 4), (0, 1), (1, 1)),
        lambda a: scatter_add(a, (iota(a.builder, 2),), (4, 3), (0,), 0),
    ):
        assert holds(function, x, smooth=False).dtype == x.dtype


def test_a_weak_scalar_is_weak_only_while_it_has_no_axes():
    shaped = trace(lambda a: (a.op("reshape", shape=(1,)), a.op("copy"), a.op("reshape", shape=())), [type_of(2.5)])
    one, same, back = evaluate(shaped, [2.5])
    assert one.dtype == FLOAT64 and one.shape == (1,)
    assert type(same) is type(back) is float


def test_a_zero_rank_result_is_a_scalar():
    assert type(run(lambda a: squeeze(a, (0,)), np.float32([2]))) is np.float32
    assert math.isclose(run(lambda a: reshape(a, ()), np.float64([[2]])), 2)


def f64(*shape):
    return ArrayType(FLOAT64, shape)


REFUSED = [
    ("matmul", (f64(5, 3), f64(4, 2)), {}, "matmul: inner sizes differ, (5, 3) against (4, 2)"),
    ("matmul", (f64(5, 3), f64(3)), {}, "matmul: two axes needed, not (5, 3) and (3,)"),
    ("matmul", (f64(2, 5, 3), f64(4, 3, 1)), {}, "shapes (2) and (4) can't be broadcast together"),
    ("reshape", (f64(2, 3),), {"shape": (5,)}, "reshape: an array of shape (2, 3) does not fill (5,)"),
    ("transpose", (f64(2, 3),), {"perm": (0, 0)}, "transpose: axes (0, 0) don't permute those of shape (2, 3)"),
    ("expand_dims", (f64(2),), {"axes": (3,)}, "expand_dims: axes (3,) are repeated or out of range"),
    ("squeeze", (f64(2, 3),), {"axes": (1,)}, "squeeze: axis 1 of shape (2, 3) does not have size 1"),
    ("squeeze", (f64(2, 3),), {"axes": (2,)}, "squeeze: axis 2 is out of range for shape (2, 3)"),
    ("broadcast_to", (f64(2),), {"shape": (2, 3)}, "broadcast_to: shape (2,) does not stretch to (2, 3)"),
    ("broadcast_to", (f64(2, 3),), {"shape": (3,)}, "broadcast_to: shape (2, 3) does not stretch to (3,)"),
    ("broadcast_to", (f64(3),), {"shape": ()}, "broadcast_to: shape (3,) does not stretch to ()"),
    ("concatenate", (f64(2, 3), f64(2, 4)), {"axis": 0}, "concatenate: shapes (2, 3) and (2, 4) differ"),
    ("concatenate", (f64(2), f64(2, 4)), {"axis": 0}, "concatenate: shapes (2,) and (2, 4) differ"),
    ("concatenate", (f64(), f64()), {"axis": 0}, "concatenate: axis 0 is out of range for shape ()"),
    ("slice", (f64(4),), {"start": (2,), "size": (3,), "step": (1,)}, "slice: elements 2 to 4 of axis 0"),
    ("slice", (f64(4),), {"start": (0,), "size": (2,), "step": (0,)}, "slice: the step of axis 0 is 0"),
    ("slice", (f64(4),), {"start": (), "size": (2,), "step": (1,)}, "slice: start, size and step need 1 entries"),
    ("unslice", (f64(4),), {"shape": (3,), "start": (0,), "step": (1,)}, "unslice: elements 0 to 3 of axis 0"),
    ("set_slice", (f64(4), f64(2)), {"start": (1,), "step": (-2,)}, "set_slice: elements 1 to -1 of axis 0"),
    ("gather", (f64(4), f64(2)), {"axes": (0,), "at": 0}, "gather: an index must hold integers, not float64"),
    ("gather", (f64(4),), {"axes": (), "at": 0}, "gather: axes () are none, repeated or out of range"),
    ("scatter_set", (f64(4), f64(3), ArrayType(INT64, (2,))), {"axes": (0,), "at": 0}, "(3,) instead of (2,)"),
    ("nonzero", (f64(),), {"count": "#1"}, "nonzero: a 0-d value has no positions"),
    ("integer", (f64(),), {"count": "@1"}, "integer: f64[] is not a single integer"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types", "params", "text"), REFUSED, ids=[f"{r[0]}-{r[3][:40]}" for r in REFUSED])
def test_what_does_not_fit_is_refused(name, types, params, text):
    with pytest.raises((ShapeError, IndexError)) as caught:
        OPS[name].infer(TRUST, types, params)
    assert text in str(caught.value)


def test_which_rows_are_views_and_which_have_no_rule():
    rows = [row for module in (shape_rows, index_rows, linalg, control) for row in module.TABLE]
    assert all(row.lower == row.name for row in rows)
    assert {row.name for row in rows if row.vjp is None} == {"call", "map", "pick"}
    assert {row.name for row in rows if row.view} == {"reshape", "transpose", "expand_dims", "squeeze", "slice"}
