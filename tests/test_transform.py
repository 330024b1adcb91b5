"""Jacobians, Hessians and Hessian-vector products, against differences and each other."""

import numpy as np
import pytest
from rows import slope, trace
from samples import M, N, compute, like, moved, normal, positive, program

from numtape.compiler.simplify import simplify
from numtape.compiler.transform import gradients, hessian, hvp, jacobian
from numtape.tracer.dims import atom
from numtape.tracer.ops import words as w
from numtape.tracer.types import FLOAT64, INT64, ArrayType

NAMES = (
    "row_and_column", "missing_axes", "softmax", "recurrence", "mapped", "matrix_products", "scalar_times_matrix",
    "weak_scalar", "extremes", "joined",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["reverse", "forward", "auto"])
@pytest.mark.parametrize("name", NAMES)
def test_jacobian_against_differences(name, mode):
    graph, values = program(name)
    wrt = list(graph.inputs)
    (out,) = compute(graph, *values)
    found = compute(jacobian(graph, wrt, mode), *values)
    short = compute(simplify(jacobian(graph, wrt, mode)), *values)
    tangents = [like(v) for v in values]
    total = 0
    for value, matrix, again, tangent in zip(values, found, short, tangents, strict=True):
        assert np.shape(matrix) == (*np.shape(out), *np.shape(value))
        np.testing.assert_allclose(matrix, again, rtol=1e-13)
        total = total + np.tensordot(matrix, tangent, np.ndim(value))
    expected = slope(lambda t: compute(graph, *moved(values, tangents, t))[0])
    np.testing.assert_allclose(total, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_hessian(mode):
    def f(a, b):
        return w.sum_(w.prod(a, (0,)) * w.sin(b)) + w.sum_(b) * w.sum_(w.log(a))

    graph = trace(f, [ArrayType(FLOAT64, (N, 2)), ArrayType(FLOAT64)])
    values = [positive(3, 2), np.float64(0.3)]
    found = compute(hessian(graph, [0, 1], mode), *values)
    assert [h.shape for h in found] == [(3, 2, 3, 2), (3, 2), (3, 2), ()]
    tangents = [normal(3, 2), np.float64(0.7)]
    products = compute(hvp(graph, [0, 1]), *values, *tangents)
    np.testing.assert_allclose(products[0], np.tensordot(found[0], tangents[0], 2) + found[1] * tangents[1])
    np.testing.assert_allclose(products[1], np.tensordot(found[2], tangents[0], 2) + found[3] * tangents[1])
    first = gradients(graph, [0])
    expected = slope(lambda t: compute(first, *moved(values, tangents, t))[0])
    np.testing.assert_allclose(products[0], expected, rtol=1e-6)


def test_third_derivative_through_maps():
    graph = trace(lambda a: w.sum_(w.sin(a) * a), [ArrayType(FLOAT64, (N,))])
    third = jacobian(hessian(graph, [0]), [0], "reverse")
    x = np.array([0.3, 1.0])
    (found,) = compute(third, x)
    expected = np.zeros((2, 2, 2))
    expected[[0, 1], [0, 1], [0, 1]] = -3 * np.sin(x) - x * np.cos(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (1, 1)])
def test_jacobian_of_empty_arrays(mode, shape):
    graph = trace(lambda a: w.sum_(a * a, (1,)), [ArrayType(FLOAT64, (N, M))])
    (found,) = compute(jacobian(graph, [0], mode), np.ones(shape))
    assert found.shape == (shape[0], *shape)
    np.testing.assert_array_equal(found, np.einsum("ij,ik->ijk", np.eye(shape[0]), 2 * np.ones(shape)))


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobian_with_sizes_that_no_array_has(mode):
    """The body of a map knows the sizes of its own inputs only."""
    types = [ArrayType(FLOAT64), ArrayType(INT64, (), True)]
    k = atom("b")

    def f(a, b):
        return w.cumsum(w.broadcast_to(w.sin(a), (k, 2)), 0) * w.reshape(w.iota(a.builder, 2 * k), (k, 2))

    graph = trace(f, types)
    (found,) = compute(jacobian(graph, [0], mode), np.float64(0.5), 3)
    np.testing.assert_allclose(found, np.cos(0.5) * np.arange(1, 4)[:, None] * np.arange(6).reshape(3, 2))
