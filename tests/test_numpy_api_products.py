"""Products, contractions, stencils and created arrays: values, dtypes, shapes, errors and gradients."""

import numpy as np
import pytest
from recorded import check_eager, check_gradient, check_recorded, leaves, plain

from numtape.tracer.numpy_api import CREATION
from numtape.tracer.values import has_traced

RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.normal(size=shape)


VECTOR_SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 2)),
    ((2, 3), (3, 4)),
    ((1,), (1,)),
    ((0,), (0,)),
    ((2, 0), (0, 3)),
]
STACKED = [((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((2, 1, 2, 3), (4, 3, 2))]
PRODUCTS = {
    "matmul": (lambda a, b: a @ b, VECTOR_SHAPES + STACKED),
    "dot": (lambda a, b: np.dot(a, b), [*VECTOR_SHAPES, *STACKED[:1], STACKED[2], ((), (3,)), ((2, 3), ())]),
    "dot of stacks": (lambda a, b: a.dot(b), [((5, 2, 3), (5, 3, 4)), ((3,), (2, 3, 4))]),
    "inner": (lambda a, b: np.inner(a, b), [((3,), (3,)), ((2, 3), (4, 3)), ((2, 2, 3), (3,)), ((), (2, 3))]),
    "outer": (lambda a, b: np.outer(a, b), [((3,), (4,)), ((2, 2), (3,)), ((0,), (3,)), ((), (2,))]),
    "vdot": (lambda a, b: np.vdot(a, b), [((3,), (3,)), ((2, 3), (3, 2)), ((0,), (0,))]),
    "tensordot": (lambda a, b: np.tensordot(a, b), [((2, 3, 4), (3, 4, 5)), ((2, 3), (2, 3))]),
    "tensordot axes": (
        lambda a, b: np.tensordot(a, b, axes=([0, 2], [1, 0])),
        [((2, 3, 4), (4, 2, 5)), ((1, 3, 1), (1, 1, 2))],
    ),
    "tensordot none": (lambda a, b: np.tensordot(a, b, axes=0), [((2,), (3, 2)), ((), ())]),
    "kron": (lambda a, b: np.kron(a, b), [((2,), (3,)), ((2, 3), (2, 2)), ((2,), (2, 3)), ((), (2,))]),
    "cross": (lambda a, b: np.cross(a, b), [((3,), (3,)), ((4, 3), (3,)), ((2, 3), (2, 3))]),
    "vecdot": (lambda a, b: np.vecdot(a, b), [((4, 3), (3,)), ((2, 3), (2, 3))]),
    "matvec": (lambda a, b: np.matvec(a, b), [((2, 3), (3,)), ((2, 3), (4, 3))]),
    "vecmat": (lambda a, b: np.vecmat(a, b), [((3,), (3, 2)), ((4, 3), (3, 2))]),
    "multi_dot": (lambda a, b: np.linalg.multi_dot([a, b, a, b]), [((2, 3), (3, 2)), ((1, 1), (1, 1))]),
    "convolve": (lambda a, b: np.convolve(a, b), [((5,), (3,)), ((2,), (4,)), ((1,), (1,)), ((3,), (3,))]),
    "convolve same": (
        lambda a, b: np.convolve(a, b, "same"),
        [((5,), (3,)), ((5,), (2,)), ((2,), (4,)), ((30,), (20,))],
    ),
    "convolve valid": (lambda a, b: np.convolve(a, b, mode="valid"), [((5,), (3,)), ((5,), (2,)), ((2,), (4,))]),
    "correlate": (lambda a, b: np.correlate(a, b), [((5,), (3,)), ((5,), (2,)), ((2,), (4,))]),
    "correlate same": (
        lambda a, b: np.correlate(a, b, "same"),
        [((5,), (3,)), ((5,), (2,)), ((2,), (4,)), ((3,), (4,))],
    ),
    "correlate full": (lambda a, b: np.correlate(a, b, "full"), [((5,), (3,)), ((2,), (4,))]),
    "interp": (
        lambda a, b: np.interp(a, np.arange(4.0) * 1.0 if isinstance(a, np.ndarray) else [0.0, 1, 2, 3], b),
        [((5,), (4,)), ((2, 3), (4,))],
    ),
    "ij,jk": (
        lambda a, b: np.einsum("ij,jk", a, b),
        [((2, 3), (3, 4)), ((1, 1), (1, 1)), ((2, 0), (0, 3)), ((2, 1), (3, 4))],
    ),
    "ij,jk->": (lambda a, b: np.einsum("ij,jk->", a, b), [((2, 3), (3, 4))]),
    "i,i": (lambda a, b: np.einsum("i,i", a, b), [((3,), (3,)), ((3,), (1,)), ((1,), (3,)), ((0,), (0,))]),
    "i,j->ji": (lambda a, b: np.einsum("i,j->ji", a, b), [((3,), (2,)), ((1,), (0,))]),
    "bij,bjk->bik": (lambda a, b: np.einsum("bij,bjk->bik", a, b), [((4, 2, 3), (4, 3, 2)), ((1, 2, 3), (4, 3, 2))]),
    "bi,bj->bij": (lambda a, b: np.einsum("bi,bj->bij", a, b), [((4, 2), (4, 3))]),
    "bij,i->bj": (lambda a, b: np.einsum("bij,i->bj", a, b), [((4, 2, 3), (2,))]),
    "...ij,...jk": (lambda a, b: np.einsum("...ij,...jk->...ik", a, b), [((4, 2, 3), (3, 2)), ((2, 3), (5, 3, 2))]),
    "nd,nn->d": (lambda a, b: np.einsum("nd,nn->d", a, b), [((4, 2), (4, 4)), ((1, 2), (1, 1))]),
    "sublists": (lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), [((2, 3), (3, 4))]),
    "sublists implicit": (lambda a, b: np.einsum(a, [3, ...], b, [1, 3]), [((3, 2), (4, 3))]),
    "three": (lambda a, b: np.einsum("ij,jk,lk->il", a, b, b), [((2, 3), (3, 4)), ((1, 3), (3, 3))]),
    "four optimised": (lambda a, b: np.einsum("ab,bc,dc,ae->de", a, b, b, a, optimize=True), [((2, 3), (3, 4))]),
    "einsum dtype": (lambda a, b: np.einsum("ij,jk->ik", a, b, optimize="optimal"), [((2, 3), (3, 4))]),
}  # fmt: skip

SINGLE = {
    "ii": lambda x: np.einsum("ii", x),
    "ii->i": lambda x: np.einsum("ii->i", x),
    "ij->ji": lambda x: np.einsum("ij->ji", x),
    "ba": lambda x: np.einsum("ba", x),
    "ij->j": lambda x: np.einsum("ij->j", x),
    "...j->...": lambda x: np.einsum("...j->...", x),
    "trace": lambda x: np.trace(x),
    "trace offset": lambda x: x.trace(offset=1),
    "diagonal": lambda x: np.diagonal(x, offset=-1),
    "diag": lambda x: np.diag(x),
    "diag of vector": lambda x: np.diag(x[0], k=-2),
    "diagflat": lambda x: np.diagflat(x, 1),
    "tril": lambda x: np.tril(x),
    "triu": lambda x: np.triu(x, k=1),
    "tril vector": lambda x: np.tril(x[0], -1),
    "norm": lambda x: np.linalg.norm(x),
    "norm axis": lambda x: np.linalg.norm(x, axis=0, keepdims=True),
    "norm fro": lambda x: np.linalg.norm(x, "fro", axis=(0, 1)),
    "norm 1": lambda x: (np.linalg.norm(x, 1), np.linalg.norm(x, 1, axis=1)),
    "norm inf": lambda x: (np.linalg.norm(x, np.inf), np.linalg.norm(x[0], -np.inf)),
    "norm 0": lambda x: np.linalg.norm(x, 0, axis=1),
    "norm 3": lambda x: np.linalg.norm(x, 3, axis=-1),
    "vector_norm": lambda x: np.linalg.vector_norm(x, ord=1),
    "matrix_norm": lambda x: np.linalg.matrix_norm(x),
    "gradient": lambda x: np.gradient(x, axis=0),
    "gradient spaced": lambda x: np.gradient(x, 0.5, 2.0),
    "gradient edges": lambda x: np.gradient(x, edge_order=2, axis=1),
    "gradient uneven": lambda x: np.gradient(x[0], x[0] * 0.1 + np.cumsum(np.ones_like(x[0])), edge_order=2),
    "gradient uneven first": lambda x: np.gradient(x, [0.0, 1.0, 3.0], axis=1),
    "polyval": lambda x: np.polyval(x[0], x),
    "vander": lambda x: np.vander(x[0], 3, increasing=True),
    "cov": lambda x: np.cov(x),
    "cov columns": lambda x: np.cov(x, rowvar=False, bias=True),
    "cov weights": lambda x: np.cov(x, aweights=x[0] ** 2 + 1),
    "corrcoef": lambda x: np.corrcoef(x),
    "matrix_power": lambda x: np.linalg.matrix_power(x @ x.T, 3),
    "matrix_power 0": lambda x: np.linalg.matrix_power(x @ x.T, 0),
    "meshgrid": lambda x: np.meshgrid(x[0], x[:, 0]),
    "meshgrid ij": lambda x: np.meshgrid(x[0], x[:, 0], indexing="ij", sparse=True),
    "linspace": lambda x: np.linspace(x[0], x[0] * 2, 4),
    "linspace open": lambda x: np.linspace(x.sum(), 3.0, 5, endpoint=False, retstep=True),
    "linspace axis": lambda x: np.linspace(x[0], 1, 3, axis=-1),
    "logspace": lambda x: np.logspace(x.sum() * 0.1, 1.0, 4),
    "geomspace": lambda x: np.geomspace(x[0, 0] ** 2 + 1, 8.0, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    f, shapes = PRODUCTS[name]
    samples = [tuple(normal(*s) if s else np.float64(normal()) for s in pair) for pair in shapes]
    for sample in samples:
        check_eager(f, *sample)
        for dtype in (np.float32, np.int8, bool):
            check_eager(f, *((4 * s).astype(dtype) for s in sample))
    for sample in samples:
        ranks = [np.ndim(s) for s in sample]
        check_recorded(f, *(s for s in samples if [np.ndim(i) for i in s] == ranks))
        check_gradient(f, *sample)


@pytest.mark.parametrize("name", SINGLE)
def test_of_one_matrix(name):
    f = SINGLE[name]
    shapes = ((3, 3), (2, 3), (3, 2), (1, 1), (2, 0), (0, 2), (4, 4), (5, 3))
    if name.startswith("ii"):  # NumPy lets a diagonal of (2, 0) pass
        shapes = ((3, 3), (1, 1), (0, 0), (4, 4), (2, 3))
    samples = [(normal(*s),) for s in shapes]
    for (x,) in samples:
        check_eager(f, x)
        check_eager(f, (3 * x).astype(np.float32))
        check_eager(f, (3 * x).astype(np.int64))
    check_recorded(f, *samples)
    x = np.array([[0.31, -0.42, 1.27], [-1.1, 0.86, 0.12], [0.53, -0.27, 0.77]])
    if any(leaf.dtype.kind == "f" for leaf in leaves(plain(f, (x,)))):
        check_gradient(f, x, rtol=1e-5, atol=1e-6)


def created(name):
    """NumPy's function for plain numbers, the recorded one for runtime integers."""
    function = getattr(np, name)

    def call(*args, **kwargs):
        return CREATION[function](*args, **kwargs) if has_traced(args) else function(*args, **kwargs)

    return call


zeros, ones, full, arange, eye, tri = map(created, ("zeros", "ones", "full", "arange", "eye", "tri"))
linspace, array, indices, identity = map(created, ("linspace", "array", "indices", "identity"))
SIZED = {
    "zeros": lambda k: zeros(k),
    "zeros pair": lambda k: zeros((k, 3), dtype=np.float32),
    "ones": lambda k: ones((2, k + 1)),
    "full": lambda k: full(k, 7),
    "full float": lambda k: full((k, k), 2.5),
    "arange": lambda k: arange(k),
    "arange from": lambda k: arange(1, k),
    "arange step": lambda k: arange(2, k, 3),
    "arange down": lambda k: arange(k, 0, -2),
    "arange by k": lambda k: arange(0, 10, k + 1),
    "arange float": lambda k: arange(k, dtype=np.float32),
    "arange half": lambda k: arange(0.0, k * 0.5, 0.25),
    "eye": lambda k: eye(k),
    "eye M": lambda k: eye(3, k, 1, dtype=int),
    "identity": lambda k: identity(k),
    "tri": lambda k: tri(k, 4, -1),
    "linspace": lambda k: linspace(0, 1, k),
    "linspace open": lambda k: linspace(0, k, 5, endpoint=False),
    "linspace int": lambda k: linspace(0, 10, k, dtype=int),
    "array": lambda k: array([k, 2.5, k * 2]),
    "array ints": lambda k: array([[k, 2], [3, k]]),
    "array weak": lambda k: array(k),
    "indices": lambda k: indices((k, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", SIZED)
def test_created_by_size(name):
    traces = check_recorded(SIZED[name], *((k,) for k in (5, 3, 4, 2, 1, 0, 7, -2)))
    assert traces <= 3, traces


def test_creation_lets_dtypes_be_numpys():
    for make in (
        lambda k: arange(k).dtype,
        lambda k: zeros(k).dtype,
        lambda k: full(k, 1).dtype,
        lambda k: array([k, 1.0]).dtype,
    ):
        assert make(3) == make(3)


def test_powers_of_derivative_at_zero_norms():
    x = np.zeros(3)
    for f in (
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, 3),
        lambda x: np.std(x),
        lambda x: np.linalg.norm(x) ** 2,
    ):
        check_zero_gradient(f, x)


def check_zero_gradient(f, x):
    from recorded import record

    from numtape.compiler.gradient import value_and_grad
    from numtape.tracer.evaluate import evaluate

    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(evaluate(value_and_grad(record(f, x), [0]), [x])[1], np.zeros(3))
