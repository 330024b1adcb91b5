"""Rows of linear algebra: types, references, derivatives of both modes and of second order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from rows import check_derivatives, trace

from numtape.tracer.dims import atom
from numtape.tracer.errors import ShapeError
from numtape.tracer.evaluate import evaluate
from numtape.tracer.graph import verify
from numtape.tracer.op import Undefined
from numtape.tracer.ops import OPS, factor, lapack, linalg
from numtape.tracer.ops import words as w
from numtape.tracer.ops.matrices import results, symmetric, word
from numtape.tracer.types import FLOAT64, TRUST, ArrayType, type_of


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def regular(*shape, seed=0):
    """Matrices that are far from singular."""
    return normal(*shape, seed=seed) + 3 * np.eye(*shape[-2:])


def positive(a):
    """A positive definite matrix."""
    size = a.shape[-1]
    identity = w.astype(w.equal(w.iota(a.builder, size), w.reshape(w.iota(a.builder, size), (size, 1))), "f64")
    return w.matmul(a, w.matrix_transpose(a)) + identity


def real_spectrum(a):
    """A matrix that is similar to a symmetric one, yet not symmetric."""
    return word("solve", positive(a) + 1.0, symmetric(a))


def fixed(sign_of, *columns):
    """Eigenvectors with a sign that doesn't jump: each is multiplied by the sign of its first element."""
    sign = w.stop_gradient(w.sign(w.slice_axis(sign_of, sign_of.rank - 2, 0, 1)))
    return tuple(c * (sign if k == 0 else w.matrix_transpose(sign)) for k, c in enumerate(columns))


def factored(a):
    return results(word("lu", a))


def eigh(a, **params):
    values, vectors = results(word("eigh", symmetric(a), **params))
    return values, *fixed(vectors, vectors)


def eig(a):
    values, vectors = results(word("eig", real_spectrum(a)))
    return values, *fixed(vectors, vectors)


def svd(wide):
    def function(a):
        u, s, vh = results(word("svd", a, wide=wide))
        return s, *fixed(u, u, vh)

    return function


def projectors(kind, wide=False):
    """What does not depend on the basis that fills up an orthonormal one."""

    def function(a):
        if kind == "qr":
            q = results(word("qr", a))[0]
        else:
            u, _, vh = results(word("svd", a, wide=wide))
            q = u if kind == "left" else w.matrix_transpose(vh)
        rest = word("complement", q, a, kind=kind)
        return w.matmul(rest, w.matrix_transpose(rest))

    return function


def lstsq(wide):
    return lambda a, b: results(word("lstsq", a, b, 1e-12, wide=wide))[:2]


A, B, N = regular(3, 3), regular(2, 3, 3, seed=1), normal(3, 2, seed=2)
CASES = {
    "solve": (lambda a, b: word("solve", a, b), (A, N)),
    "solve batch": (lambda a, b: word("solve", a, b), (regular(2, 1, 3, 3), normal(4, 3, 1))),
    "solve transposed": (lambda a, b: word("solve", a, b, transposed=True), (B, N)),
    "solve factored": (lambda a, b: word("solve", a, b, *factored(a)), (B, normal(3, 2))),
    "solve factored transposed": (
        lambda a, b: word("solve", a, b, *factored(a), transposed=True),
        (A, normal(2, 3, 1)),
    ),
    "inv": (lambda a: word("inv", a), (B,)),
    "inv factored": (lambda a: word("inv", a, *factored(a), lenient=True), (A,)),
    "det": (lambda a: word("det", a), (B,)),
    "det factored": (lambda a: word("det", a, *factored(a)), (regular(4, 4),)),
    "det singular": (lambda a: word("det", a), (np.outer([1.0, 2, 3], [2.0, -1, 1]),)),
    "det zero": (lambda a: word("det", a), (np.zeros((2, 2)),)),
    "det rank 2 of 4": (lambda a: word("det", a), (normal(4, 2) @ normal(2, 4, seed=5),)),
    "slogdet": (lambda a: results(word("slogdet", a))[1], (B,)),
    "slogdet factored": (lambda a: results(word("slogdet", a, *factored(a)))[1], (-A,)),
    "cofactor": (lambda a: word("cofactor", a), (B,)),
    "cofactor_slope": (lambda a, h: word("cofactor_slope", a, h), (B, normal(3, 3))),
    "cholesky": (lambda a: word("cholesky", positive(a)), (B,)),
    "cholesky upper": (lambda a: word("cholesky", positive(a), upper=True), (A,)),
    "qr": (lambda a: results(word("qr", a)), (regular(2, 4, 3),)),
    "qr square": (lambda a: results(word("qr", a)), (A,)),
    "qr q": (lambda a: results(word("qr", a))[0], (regular(4, 2),)),
    "qr r": (lambda a: results(word("qr", a))[1], (regular(4, 2),)),
    "complement qr": (projectors("qr"), (normal(4, 2),)),
    "complement left": (projectors("left"), (normal(2, 4, 2),)),
    "complement right": (projectors("right", True), (normal(2, 4),)),
    "eigh": (eigh, (normal(2, 3, 3),)),
    "eigh upper": (lambda a: eigh(a, lower=False), (normal(3, 3),)),
    "eigh values": (lambda a: results(word("eigh", symmetric(a)))[0], (normal(4, 4),)),
    "eigvalsh": (lambda a: word("eigvalsh", symmetric(a)), (normal(2, 3, 3),)),
    "spectral": (
        lambda a, g: word("spectral", symmetric(a), g, *results(word("eigh", symmetric(a)))),
        (normal(2, 3, 3), normal(3)),
    ),
    "eig": (eig, (normal(3, 3),)),
    "eigvals": (lambda a: word("eigvals", real_spectrum(a)), (normal(2, 3, 3),)),
    "svd tall": (svd(False), (normal(4, 3),)),
    "svd square": (svd(False), (normal(2, 3, 3, seed=4),)),
    "svd wide": (svd(True), (normal(2, 3, 4),)),
    "svdvals tall": (lambda a: word("svdvals", a, wide=False), (normal(2, 4, 3),)),
    "svdvals wide": (lambda a: word("svdvals", a, wide=True), (normal(2, 3),)),
    "singular tall": (
        lambda a, g: word("singular", a, g, *results(word("svd", a, wide=False)), wide=False),
        (normal(4, 3), normal(3)),
    ),
    "singular wide": (
        lambda a, g: word("singular", a, g, *results(word("svd", a, wide=True)), wide=True),
        (normal(2, 2, 3), normal(2, 2)),
    ),
    "pinv tall": (lambda a: word("pinv", a, 1e-12), (normal(2, 4, 3),)),
    "pinv wide": (lambda a: word("pinv", a, 1e-12), (normal(2, 3),)),
    "lstsq tall": (lstsq(False), (normal(4, 3), normal(4, 2))),
    "lstsq wide": (lstsq(True), (normal(2, 3), normal(2, 1))),
    "solve_triangular": (lambda a, b: word("solve_triangular", a, b, lower=True), (B, N)),
    "solve_triangular upper": (lambda a, b: word("solve_triangular", a, b, lower=False, transposed=True), (A, N)),
    "solve_triangular unit": (
        lambda a, b: word("solve_triangular", a, b, lower=False, transposed=False, unit=True),
        (A, normal(2, 3, 1)),
    ),
    "solve_triangular unit transposed": (
        lambda a, b: word("solve_triangular", a, b, lower=True, transposed=True, unit=True),
        (normal(2, 1, 3, 3), N),
    ),
    "solve_banded": (
        lambda a, b: word("solve_banded", a, b, lower=1, upper=2),
        (normal(4, 5) + np.array([0, 0, 8.0, 0])[:, None], normal(5, 2)),
    ),
    "solve_banded batch": (
        lambda a, b: word("solve_banded", a, b, lower=2, upper=0),
        (normal(2, 3, 4) + np.array([5.0, 0, 0])[:, None], normal(4, 1)),
    ),
    "solve_banded diagonal": (lambda a, b: word("solve_banded", a, b, lower=0, upper=0), (2 + normal(1, 3) ** 2, N)),
    "expm": (lambda a: word("expm", a), (normal(2, 3, 3),)),
    "expm large": (lambda a: word("expm", a), (normal(4, 4) * 2,)),
    "expm_frechet": (lambda a, e: word("expm_frechet", a, e), (normal(3, 3), normal(2, 3, 3))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    """First order by differences, forward mode, second order by differences of the first."""
    function, values = CASES[name]
    graph = verify(trace(function, [type_of(v) for v in values]))
    check_derivatives(graph, list(values), range(len(values)))


@pytest.mark.parametrize("name", CASES)
def test_sizes_that_are_not_known(name):
    """A graph with names for sizes computes the same."""
    function, values = CASES[name]
    types = []
    for letter, value in zip("abcd", values, strict=False):
        shape = [s if s == 1 else atom(f"{letter}.{i}") for i, s in enumerate(value.shape)]
        types.append(ArrayType(FLOAT64, tuple(shape)))
    known = evaluate(trace(function, [type_of(v) for v in values]), values)
    for got, want in zip(evaluate(verify(trace(function, types)), values), known, strict=True):
        assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_every_row_is_tried():
    tables = {row.name for row in (*linalg.TABLE, *factor.TABLE)} - {"matmul"}
    seen = set()
    for function, values in CASES.values():
        seen |= {node.op for node in trace(function, [type_of(v) for v in values]).nodes}
    assert tables <= seen
    assert {name for name in tables if isinstance(OPS[name].vjp, Undefined)} == {"lu"}


# -- references ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(5, 5), (1, 1), (40, 3, 3), (2, 3, 4, 4), (2, 20, 20), (0, 0), (3, 0, 0), (0, 2, 2)])
def test_lu_serves_systems_inverses_and_determinants(shape, dtype):
    """Alone and in batches, the large ones as well as those that are worked on all at once."""
    loose = {"rtol": 1e-4, "atol": 1e-4} if dtype == "f4" else {"rtol": 1e-9, "atol": 1e-10}
    a = normal(*shape, seed=6).astype(dtype)
    b = normal(shape[-1], 2, seed=7).astype(dtype)
    found = lapack.lu(a)
    assert [f.dtype for f in found] == [a.dtype, np.int64, a.dtype]
    low, up = np.tril(found[0], -1) + np.eye(shape[-1]), np.triu(found[0])
    assert_allclose(low @ up, np.take_along_axis(a, found[1][..., None], -2), **loose)
    assert_allclose(lapack.solve(a, b, *found), np.linalg.solve(a, b), **loose)
    turned = lapack.solve(a, b, *found, transposed=True)
    assert_allclose(turned, np.linalg.solve(np.swapaxes(a, -1, -2), b), **loose)
    assert_allclose(lapack.solve(a, b, transposed=True), turned, **loose)
    assert_allclose(lapack.inv(a, *found), np.linalg.inv(a), **loose)
    assert_allclose(lapack.det(a, *found), np.linalg.det(a), **loose)
    for got, want in zip(lapack.slogdet(a, *found), np.linalg.slogdet(a), strict=True):
        assert_allclose(got, want, **loose)
        assert got.dtype == want.dtype
    for got in (turned, lapack.solve(a, b, *found), lapack.inv(a, *found)):
        assert got.dtype == a.dtype


@pytest.mark.parametrize("shape", [(2, 2), (40, 2, 2)])
def test_singular_matrices(shape):
    a = np.ones(shape)
    a[..., 1, 1] = 1
    found = lapack.lu(a)
    for call in (
        lambda: lapack.solve(a, np.ones((2, 1)), *found),
        lambda: lapack.inv(a, *found),
        lambda: lapack.solve_triangular(a * 0, np.ones((2, 1)), True),
    ):
        with pytest.raises(np.linalg.LinAlgError, match=r"[Ss]ingular"):
            call()
    assert np.isnan(lapack.inv(a, *found, lenient=True)).all()
    assert np.isnan(lapack.inv(a, lenient=True)).all()
    assert_array_equal(lapack.det(a, *found), np.zeros(shape[:-2]))
    assert_array_equal(lapack.slogdet(a, *found)[1], np.full(shape[:-2], -np.inf))
    mixed = np.stack([a.reshape(-1, 2, 2)[0], np.eye(2) * 2])
    assert_allclose(lapack.inv(mixed, lenient=True)[1], np.eye(2) / 2)
    assert_allclose(lapack.inv(mixed, *lapack.lu(mixed), lenient=True)[1], np.eye(2) / 2)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_cofactors_of_any_rank(n):
    """Against determinants of minors."""
    for rank in range(n + 1):
        a = normal(n, rank) @ normal(rank, n, seed=3)
        want = np.zeros((n, n))
        for i, j in np.ndindex(n, n):
            minor = np.delete(np.delete(a, i, 0), j, 1)
            want[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
        assert_allclose(lapack.cofactor(a), want, atol=1e-12)
        assert_allclose(lapack.cofactor(np.stack([a, regular(n, n)]))[0], want, atol=1e-12)


@pytest.mark.parametrize(("lower", "transposed", "unit"), [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (50, 3, 3), (2, 20, 20), (0, 0), (0, 3, 3)])
def test_triangular_systems(shape, lower, transposed, unit):
    from scipy.linalg import solve_triangular

    a, b = normal(*shape) + 5 * np.eye(shape[-1]), normal(*shape[:-1], 2, seed=1)
    a = np.swapaxes(a, -1, -2)  # as Fortran would have it
    got = lapack.solve_triangular(a, b, bool(lower), bool(transposed), bool(unit))
    want = np.empty_like(b)
    for place in np.ndindex(*shape[:-2]):
        want[place] = solve_triangular(a[place], b[place], transposed, lower=lower, unit_diagonal=unit)
    assert_allclose(got, want, rtol=1e-9, atol=1e-9 if not unit else 1e-6)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("shape", [(2, 2), (40, 2, 2)])
def test_what_is_not_finite_stays_so(shape, bad):
    a = np.full(shape, bad)
    with np.errstate(all="ignore"):
        found = lapack.lu(a)
        for got, want in zip(lapack.slogdet(a, *found), np.linalg.slogdet(a), strict=True):
            assert_array_equal(got, want)
        assert_array_equal(lapack.det(a, *found), np.linalg.det(a))
        assert_array_equal(lapack.solve(a, np.ones((2, 1)), *found), np.linalg.solve(a, np.ones((2, 1))))
        assert np.isnan(lapack.cofactor(a, *found)).all()


def test_complex_eigenvalues_are_refused():
    turn = np.array([[0.0, -1], [1, 0]])
    for name in ("eig", "eigvals"):
        with pytest.raises(TypeError, match=f"np.linalg.{name}: the matrix has complex eigenvalues"):
            OPS[name].reference(turn)


def f64(*shape):
    return ArrayType(FLOAT64, shape)


REFUSED = [
    ("solve", (f64(3, 2), f64(3, 1)), {}, "solve: (3, 2) is not square"),
    ("solve", (f64(3, 3), f64(2, 1)), {}, "solve: the matrix has 3 rows, the right side is (2, 1)"),
    ("solve", (f64(2, 3, 3), f64(4, 3, 1)), {}, "can't be broadcast"),
    ("inv", (f64(3),), {}, "inv: two axes needed, not (3,)"),
    ("det", (f64(2, 3),), {}, "det: (2, 3) is not square"),
    ("svd", (f64(2),), {"wide": True}, "svd: two axes needed"),
    ("lstsq", (f64(3, 2), f64(2, 1), f64()), {"wide": False}, "lstsq: the matrix has 3 rows"),
    ("solve_banded", (f64(2, 4), f64(4, 1)), {"lower": 1, "upper": 1}, "3 diagonals needed"),
    ("expm_frechet", (f64(2, 2), f64(3, 3)), {}, "can't be broadcast"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "types", "params", "text"), REFUSED, ids=[f"{r[0]}-{r[3][:30]}" for r in REFUSED])
def test_what_does_not_fit_is_refused(name, types, params, text):
    with pytest.raises(ShapeError) as caught:
        OPS[name].infer(TRUST, types, params)
    assert text in str(caught.value)
