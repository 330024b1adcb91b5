"""np.linalg and scipy.linalg on Tensors and in recordings: values, dtypes, shapes, errors and gradients."""

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.testing import assert_allclose
from recorded import check_eager, check_gradient, check_recorded

import numtape as nt

# each test makes a function of its own, on the same lines
pytestmark = pytest.mark.filterwarnings("ignore::numtape.RetraceWarning")


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def regular(*shape, seed=0):
    return normal(*shape, seed=seed) + 3 * np.eye(shape[-1])


def positive(a):
    """Positive definite; symmetric, so that differences by one element see what the rules say."""
    return a @ np.swapaxes(a, -1, -2)


def signless(u):
    """What an eigenvector's sign doesn't change."""
    return u * np.sum(u, axis=-2, keepdims=True)


def projector(q, x):
    """What doesn't depend on the choice of the columns that fill up a basis."""
    rest = q[..., x.shape[-1] :]
    return signless(q[..., : x.shape[-1]]), rest @ np.swapaxes(rest, -1, -2)


def spectrum(a):
    """A matrix with real eigenvalues that is not symmetric."""
    return np.linalg.solve(positive(a) + 1.0, a + np.swapaxes(a, -1, -2))


def eigenvalues(w):
    """They come in no order."""
    return np.sort(w)


def least_squares(a, b, **params):
    """All results; the rank as a float, since it differs in width."""
    x, residuals, rank, s = np.linalg.lstsq(a, b, **params)
    return x, residuals, rank * 1.0, s


# of one square matrix, or a stack
SQUARE = {
    "inv": lambda x: np.linalg.inv(x),
    "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: np.linalg.slogdet(x),
    "logabsdet": lambda x: np.linalg.slogdet(x).logabsdet,
    "solve itself": lambda x: np.linalg.solve(x, x * x),
    "solve column": lambda x: np.linalg.solve(x, x[..., :1]),
    "cholesky": lambda x: np.linalg.cholesky(positive(x)),
    "cholesky upper": lambda x: np.linalg.cholesky(positive(x), upper=True),
    "eigh": lambda x: np.linalg.eigh(positive(x)).eigenvalues,
    "eigh upper": lambda x: signless(np.linalg.eigh(positive(x), UPLO="U")[1]),
    "eigh vectors": lambda x: signless(np.linalg.eigh(positive(x)).eigenvectors),
    "eigvalsh": lambda x: np.linalg.eigvalsh(positive(x)),
    "eigvalsh upper": lambda x: np.linalg.eigvalsh(positive(x), "u"),
    "eig": lambda x: eigenvalues(np.linalg.eig(spectrum(x)).eigenvalues),
    "eigvals": lambda x: eigenvalues(np.linalg.eigvals(spectrum(x))),
    "matrix_power": lambda x: np.linalg.matrix_power(x, -2),
    "pinv hermitian": lambda x: np.linalg.pinv(positive(x), hermitian=True),
    "svd hermitian": lambda x: np.linalg.svd(positive(x), compute_uv=False, hermitian=True),
    "rank hermitian": lambda x: np.linalg.matrix_rank(positive(x), hermitian=True) * 1.0,
}  # fmt: skip
PER_MATRIX = {  # not for no matrix at all: there NumPy raises, or for 0 x 0 ones
    "cond": lambda x: np.linalg.cond(x),
    "cond -2": lambda x: np.linalg.cond(x, -2),
    "cond 1": lambda x: np.linalg.cond(x, 1),
    "cond inf": lambda x: np.linalg.cond(x, np.inf),
    "cond fro": lambda x: np.linalg.cond(x, "fro"),
}  # fmt: skip
SQUARE_SHAPES = [(3, 3), (1, 1), (2, 3, 3), (2, 1, 2, 2), (0, 0), (0, 2, 2), (2, 0, 0)]
# of one matrix of any shape
ANY = {
    "qr": lambda x: tuple(np.abs(t) for t in np.linalg.qr(x)),
    "qr q": lambda x: np.linalg.qr(x).Q,
    "qr r": lambda x: np.linalg.qr(x, mode="r"),
    "qr complete": lambda x: np.linalg.qr(x, mode="complete").R,
    "qr complete basis": lambda x: projector(np.linalg.qr(x, mode="complete").Q, x),
    "svdvals": lambda x: np.linalg.svdvals(x),
    "svd values": lambda x: np.linalg.svd(x, compute_uv=False),
    "svd": lambda x: np.linalg.svd(x, full_matrices=False).S,
    "svd u": lambda x: signless(np.linalg.svd(x, full_matrices=False).U),
    "svd vh": lambda x: signless(np.swapaxes(np.linalg.svd(x, False)[2], -1, -2)),
    "svd full": lambda x: np.linalg.svd(x).S,
    "svd full basis": lambda x: projector(np.linalg.svd(x).U, x),
    "svd full other basis": lambda x: projector(np.swapaxes(np.linalg.svd(x).Vh, -1, -2), np.swapaxes(x, -1, -2)),
    "pinv": lambda x: np.linalg.pinv(x),
    "pinv rcond": lambda x: np.linalg.pinv(x, rcond=1e-3),
    "pinv rtol": lambda x: np.linalg.pinv(x, rtol=None),
    "matrix_rank": lambda x: np.linalg.matrix_rank(x),
    "matrix_rank tol": lambda x: np.linalg.matrix_rank(x, 0.5),
    "matrix_rank rtol": lambda x: np.linalg.matrix_rank(x, rtol=0.5),
    "norm nuc": lambda x: np.linalg.norm(x, "nuc", axis=(-2, -1)),
    "norm 2": lambda x: np.linalg.norm(x, 2, axis=(-1, -2), keepdims=True),
    "norm 2 first": lambda x: np.linalg.norm(x, 2, axis=(0, 1)),
    "matrix_norm": lambda x: np.linalg.matrix_norm(x, ord="nuc", keepdims=True),
}  # fmt: skip
ANY_SHAPES = [(4, 3), (3, 4), (3, 3), (1, 1), (1, 3), (2, 4, 2), (2, 2, 3), (2, 1, 3, 2)]
ANY_SHAPES += [(0, 3), (3, 0), (0, 0), (0, 2, 3)]
PAIRS = {
    "solve": (
        lambda a, b: np.linalg.solve(a, b),
        [((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 3, 3), (3, 1)), ((3, 3), (2, 3, 2)),
         ((2, 1, 2, 2), (4, 2, 3)), ((1, 1), (1,)), ((0, 0), (0,)), ((0, 0), (0, 2)), ((3, 3), (3, 0)),
         ((0, 2, 2), (2, 1))],
    ),
    "lstsq": (least_squares, [((4, 3), (4,)), ((4, 3), (4, 2)), ((3, 4), (3, 2)), ((3, 3), (3,)), ((1, 1), (1,))]),
    "lstsq rcond": (
        lambda a, b: least_squares(a, b, rcond=1e-3), [((5, 2), (5,)), ((4, 3), (4, 0)), ((0, 3), (0,)), ((3, 0), (3,))]
    ),
    "tensorsolve": (lambda a, b: np.linalg.tensorsolve(a, b), [((2, 3, 6), (2, 3)), ((4, 2, 2), (4,))]),
    "tensorsolve axes": (lambda a, b: np.linalg.tensorsolve(a, b, axes=(0,)), [((6, 2, 3), (2, 3))]),
    "norms of products": (lambda a, b: np.linalg.norm(a @ b, "nuc"), [((3, 2), (2, 4))]),
}  # fmt: skip


def of(function, **params):
    """A function of SciPy, called by its name in the module as a user does."""
    return lambda *args: getattr(sl, function)(*args, **params)


def cho_solve(a, b):
    return sl.cho_solve(sl.cho_factor(positive(a)), b)


def cho_solve_lower(a, b):
    return sl.cho_solve(sl.cho_factor(positive(a), lower=True), b)


def banded(a, b):
    return sl.solve_banded((1, 2), a, b)


SCIPY = {
    "solve_triangular": (lambda a, b: sl.solve_triangular(a, b), [((3, 3), (3,)), ((3, 3), (3, 2)), ((1, 1), (1, 1))]),
    "lower": (
        lambda a, b: sl.solve_triangular(a, b, lower=True), [((3, 3), (3,)), ((2, 3, 3), (3, 2)), ((0, 0), (0,))]
    ),
    "transposed": (
        lambda a, b: sl.solve_triangular(a, b, trans="T", lower=True), [((3, 3), (3,)), ((3, 3), (2, 3, 2))]
    ),
    "unit": (lambda a, b: sl.solve_triangular(a, b, trans=1, unit_diagonal=True), [((3, 3), (3, 2))]),
    "cho_solve": (cho_solve, [((3, 3), (3,)), ((3, 3), (3, 2)), ((1, 1), (1,))]),
    "cho_solve lower": (cho_solve_lower, [((3, 3), (3, 2)), ((2, 3, 3), (3, 2))]),
    "solve_banded": (banded, [((4, 5), (5,)), ((4, 5), (5, 2)), ((4, 3), (3,)), ((4, 1), (1, 2))]),
    "expm": (lambda a, b: sl.expm(a) @ b, [((3, 3), (3, 1)), ((2, 3, 3), (3, 1)), ((1, 1), (1,)), ((0, 0), (0, 1))]),
    "cholesky": (lambda a, b: sl.cholesky(positive(a)) @ b, [((3, 3), (3,))]),
    "cholesky lower": (lambda a, b: sl.cholesky(positive(a), lower=True) @ b, [((3, 3), (3,)), ((1, 1), (1,))]),
    "inv and det": (lambda a, b: sl.inv(a) @ b * sl.det(a), [((3, 3), (3,)), ((1, 1), (1,))]),
    "solve": (lambda a, b: sl.solve(a, b), [((3, 3), (3,)), ((3, 3), (3, 2))]),
    "eigh": (lambda a, b: signless(sl.eigh(positive(a))[1]) @ b, [((3, 3), (3,))]),
    "eigh values": (lambda a, b: sl.eigh(positive(a), lower=False, eigvals_only=True) * b, [((3, 3), (3,))]),
    "eigh of two": (
        lambda a, b: signless(sl.eigh(positive(b), positive(a))[1]) @ sl.eigvalsh(positive(b), positive(a)),
        [((3, 3), (3, 3)), ((1, 1), (1, 1))],
    ),
    "svd": (
        lambda a, b: sl.svd(a)[1] @ sl.svdvals(a) * signless(sl.svd(a, False)[0]) @ b, [((3, 3), (3,)), ((4, 3), (3,))]
    ),
    "svd values": (lambda a, b: sl.svd(a, compute_uv=False) * b, [((3, 4), (3,))]),
    "qr": (lambda a, b: sl.qr(a, mode="economic")[0] @ sl.qr(a, mode="r")[0][: b.shape[0]] @ b, [((3, 3), (3,))]),
    "qr full": (lambda a, b: sl.qr(a)[1] @ b, [((4, 2), (2,)), ((2, 4), (4,))]),
    "norm": (lambda a, b: sl.norm(a, "fro") * sl.norm(b) + sl.norm(a, 1, axis=0), [((3, 2), (4,))]),
    "pinv": (lambda a, b: sl.pinv(a) @ b, [((4, 2), (4,)), ((2, 3), (2, 2))]),
    "solve positive": (lambda a, b: sl.solve(positive(a), b, assume_a="pos"), [((3, 3), (3,))]),
    "solve transposed": (lambda a, b: sl.solve(a, b, transposed=True), [((3, 3), (3,))]),
}  # fmt: skip


def matrix(shape, seed=0, dtype=np.float64):
    return (normal(*shape, seed=seed) + (3 * np.eye(*shape[-2:]) if len(shape) > 1 else 0)).astype(dtype)


def layouts(x):
    """The same numbers in C order, in Fortran's, and with steps."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    return x, np.asfortranarray(x), wide[..., ::2]


def tried(function, shapes):
    for shape in shapes:
        for x in layouts(matrix(shape)):
            check_eager(function, x)
        check_eager(function, matrix(shape, dtype=np.float32))
        check_gradient(function, matrix(shape), rtol=2e-5, atol=2e-6)
    check_eager(function, (matrix(shapes[0]) * 9).astype(np.int64))
    check_eager(function, matrix((3,)))
    check_eager(function, matrix(shapes[0], dtype=np.float16))
    by_rank = {}
    for shape in shapes:
        by_rank.setdefault(len(shape), []).append([matrix(shape, seed=3)])
    for samples in by_rank.values():
        check_recorded(function, *samples)


@pytest.mark.parametrize("name", SQUARE)
def test_of_square_matrices(name):
    tried(SQUARE[name], SQUARE_SHAPES)
    check_eager(SQUARE[name], matrix((2, 3)))


@pytest.mark.parametrize("name", PER_MATRIX)
def test_conditions(name):
    tried(PER_MATRIX[name], SQUARE_SHAPES[:4])
    for x in (np.ones((2, 2)), np.zeros((2, 2)), np.full((2, 2), np.nan), np.zeros((0, 0))):
        check_eager(PER_MATRIX[name], x)


@pytest.mark.parametrize("name", ANY)
def test_of_any_matrix(name):
    tried(ANY[name], ANY_SHAPES)


@pytest.mark.parametrize("name", PAIRS)
def test_of_two(name):
    function, shapes = PAIRS[name]
    for pair in shapes:
        a, b = matrix(pair[0]), matrix(pair[1], 1) if len(pair[1]) < 2 else normal(*pair[1], seed=1)
        for x, y in zip(layouts(a), layouts(b), strict=True):
            check_eager(function, x, y)
        check_eager(function, a.astype(np.float32), b.astype(np.float32))
        check_eager(function, a.astype(np.float32), b)
        check_gradient(function, a, b, rtol=2e-5, atol=2e-6)
        check_recorded(function, [a, b], [a + 0.1, b * 2])
    check_eager(function, matrix((3, 3)), normal(2))
    check_eager(function, matrix((3,)), normal(3))


@pytest.mark.parametrize("name", SCIPY)
def test_of_scipy(name):
    """SciPy's functions are known inside of compiled functions."""
    function, shapes = SCIPY[name]
    jitted = nt.jit(function)
    gradient = nt.grad(lambda a, b: np.sum(np.sin(function(a, b))), (0, 1))
    for pair in shapes:
        a, b = matrix(pair[0]), normal(*pair[1], seed=1)
        if name == "solve_banded":
            a[2] += 6
        for x, y in zip(layouts(a), layouts(b), strict=True):
            assert_allclose(jitted(x, y), function(x, y), rtol=1e-10, atol=1e-12)
        single = jitted(a.astype(np.float32), b.astype(np.float32))
        assert single.dtype == np.float32
        assert_allclose(single, function(a, b), rtol=2e-4, atol=2e-4)
        for got, want in zip(gradient(a, b), differences(lambda a, b: np.sin(function(a, b)), a, b), strict=True):
            assert_allclose(got, want, rtol=2e-5, atol=2e-6)


def differences(function, *inputs, h=1e-6):
    """The gradients of the sum of a function's elements."""
    out = []
    for n, x in enumerate(inputs):
        gradient = np.zeros(x.shape)
        for place in np.ndindex(x.shape):
            ends = []
            for sign in (1, -1):
                moved = [i.copy() for i in inputs]
                moved[n][place] += sign * h
                ends.append(np.sum(function(*moved)))
            gradient[place] = (ends[0] - ends[1]) / (2 * h)
        out.append(gradient)
    return out
