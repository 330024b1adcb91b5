"""Factorizations with derivatives: QR, eigenvalues, singular values, least squares; the matrix exponential.

Where eigenvalues or singular values coincide, eigenvectors are any basis. The rules leave out what such a choice would
add, so that first derivatives of functions that don't depend on it are right; second derivatives of functions of the
eigenvalues or singular values are nan there, in the directions that part the equal ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError
from ..op import Op, Output, Types
from ..types import INT64, ArrayType, Facts, Shape, broadcast, result_dtype
from . import lapack
from .matrices import (
    as_diagonal,
    column,
    diagonal,
    gaps,
    lower_part,
    on_diagonal,
    product,
    require_rows,
    results,
    row,
    safe_reciprocal,
    solve,
    solve_triangular,
    square,
    symmetric,
    word,
)
from .shape import show_shape, unbroadcast
from .words import add, concatenate, cotangent, divide, matmul, multiply, slice_axis, subtract, where, zeros_like
from .words import matrix_transpose as turn

if TYPE_CHECKING:
    from ..graph import Expr

Params = Mapping[str, Any]
Ct = tuple["Expr | None", ...]


def _matrix(name: str, a: ArrayType) -> ArrayType:
    if a.rank < 2:
        raise ShapeError(f"{name}: two axes needed, not {show_shape(a.shape)}")
    return a


def _total(*parts: Expr | None) -> Expr | None:
    """The sum of what there is."""
    found: Expr | None = None
    for part in parts:
        if part is not None:
            found = part if found is None else add(found, part)
    return found


# -- QR --------------------------------------------------------------------------------------------------------------


def _qr_type(facts: Facts, types: Types, params: Params) -> Output:
    a = _matrix("qr", types[0])
    return a, ArrayType(a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-1]))


def _qr(a: Any) -> tuple[Any, Any]:
    q, r = np.linalg.qr(a)
    return q, r


def _qr_vjp(ct: Ct, y: Expr, a: Expr) -> Expr:
    # Walter and Lehmann 2011, 4.5, for matrices with at least as many rows as columns
    (q, r), (to_q, to_r) = results(y), ct
    inner = _total(
        None if to_r is None else matmul(r, turn(to_r)), None if to_q is None else -matmul(turn(to_q), q)
    )  # fmt: skip
    assert inner is not None
    low = lower_part(inner, strict=True)
    whole = lower_part(inner) + turn(low)
    pulled = matmul(q, whole)
    pulled = pulled if to_q is None else to_q + pulled
    return turn(solve_triangular(r, turn(pulled), lower=False))


def _complement_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    q = types[0]
    return ArrayType(q.dtype, (*q.shape[:-1], q.shape[-2] - q.shape[-1]))


def _complement_vjp(ct: Expr, y: Expr, q: Expr, a: Expr, kind: str) -> tuple[Expr, None]:
    # q^T y = 0 fixes how y follows q, up to a turn within y, which is anybody's choice
    return -product(y, turn(ct), q), None


# -- symmetric matrices ----------------------------------------------------------------------------------------------


def _eigh_type(facts: Facts, types: Types, params: Params) -> Output:
    a = square(facts, "eigh", types[0])
    return ArrayType(a.dtype, a.shape[:-1]), a


def _eigh(a: Any, lower: bool = True) -> tuple[Any, Any]:
    w, v = np.linalg.eigh(a, "L" if lower else "U")
    return w, v


def _values_type(name: str) -> Any:
    def infer(facts: Facts, types: Types, params: Params) -> ArrayType:
        a = square(facts, name, types[0])
        return ArrayType(a.dtype, a.shape[:-1])

    return infer


def _eigh_vjp(ct: Ct, y: Expr, a: Expr, lower: bool = True) -> Expr | None:
    # Giles 2008, 3.1, symmetric as the matrix is
    (w, v), (to_w, to_v) = results(y), ct
    from_values = None if to_w is None else word("spectral", a, to_w, w, v)
    if to_v is None:
        return from_values
    gap, close = gaps(w)
    inner = where(close, 0.0, matmul(turn(v), to_v) / gap)
    return _total(from_values, symmetric(product(v, inner, turn(v))))


def _eigvalsh_vjp(ct: Expr, y: Expr, a: Expr, lower: bool = True) -> Expr:
    w, v = results(word("eigh", a, lower=lower))
    return word("spectral", a, ct, w, v)


def _spectral_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    a = square(facts, "spectral", types[0])
    return ArrayType(result_dtype(types[:2]), broadcast(facts, a.shape, (*types[1].shape, a.shape[-1])))


def _spectral_vjp(ct: Expr, y: Expr, a: Expr, g: Expr, w: Expr, v: Expr) -> Any:
    # the derivative of a matrix function by divided differences (Daleckii and Krein 1965)
    inner = symmetric(product(turn(v), ct, v))
    gap, close = gaps(w)
    change = subtract(row(g), column(g))
    slopes = where(close, where(on_diagonal(inner), 0.0, float("nan")), change / gap)
    return product(v, cotangent(inner, slopes), turn(v)), diagonal(inner), None, None


# -- other square matrices -------------------------------------------------------------------------------------------


def _eig_vjp(ct: Ct, y: Expr, a: Expr) -> Expr:
    # Giles 2008, 3.1, with eigenvectors of length 1 as LAPACK gives them
    (w, v), (to_w, to_v) = results(y), ct
    inner = None if to_w is None else as_diagonal(to_w)
    if to_v is not None:
        gap, close = gaps(w)
        pulled = matmul(turn(v), to_v)
        pulled = pulled - matmul(turn(v), v) * row(diagonal(pulled))
        inner = _total(inner, where(close, 0.0, pulled / gap))
    assert inner is not None
    return solve(v, matmul(inner, turn(v)), transposed=True)


def _eigvals_vjp(ct: Expr, y: Expr, a: Expr) -> Expr:
    _, v = results(word("eig", a))
    return solve(v, matmul(as_diagonal(ct), turn(v)), transposed=True)


# -- singular values -------------------------------------------------------------------------------------------------


def _smaller(shape: Shape, wide: bool) -> Any:
    return shape[-2] if wide else shape[-1]


def _svd_type(facts: Facts, types: Types, params: Params) -> Output:
    a = _matrix("svd", types[0])
    *batch, m, n = a.shape
    k = _smaller(a.shape, params["wide"])
    return ArrayType(a.dtype, (*batch, m, k)), ArrayType(a.dtype, (*batch, k)), ArrayType(a.dtype, (*batch, k, n))


def _svd(a: Any, wide: bool) -> tuple[Any, Any, Any]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u, s, vh


def _svdvals_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    a = _matrix("svd", types[0])
    return ArrayType(a.dtype, (*a.shape[:-2], _smaller(a.shape, params["wide"])))


def _svd_vjp(ct: Ct, y: Expr, a: Expr, wide: bool) -> Expr | None:
    # Giles 2008, 3.2, and Townsend 2016 for the parts beyond the smaller size
    (u, s, vh), (to_u, to_s, to_vh) = results(y), ct
    found = None if to_s is None else word("singular", a, to_s, u, s, vh, wide=wide)
    gap, close = gaps(s)
    over = safe_reciprocal(s)
    square_ = a.shape[-1] == a.shape[-2]
    total = where(close, 1.0, row(s) + column(s))

    def between(inner: Expr) -> Expr:
        return where(close, 0.0, (inner - turn(inner)) / gap / total)

    if to_u is not None:
        inner = matmul(turn(u), to_u)
        found = _total(found, product(u, multiply(between(inner), row(s)), vh))
        if not wide and not square_:
            found = _total(found, matmul((to_u - matmul(u, inner)) * row(over), vh))
    if to_vh is not None:
        inner = matmul(vh, turn(to_vh))
        found = _total(found, product(u, multiply(column(s), between(inner)), vh))
        if wide and not square_:
            found = _total(found, matmul(u, column(over) * (to_vh - matmul(turn(inner), vh))))
    return found


def _svdvals_vjp(ct: Expr, y: Expr, a: Expr, wide: bool) -> Expr:
    u, s, vh = results(word("svd", a, wide=wide))
    return word("singular", a, ct, u, s, vh, wide=wide)


def _singular_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    return ArrayType(result_dtype(types[:2]), types[0].shape)


def _singular_vjp(ct: Expr, y: Expr, a: Expr, g: Expr, u: Expr, s: Expr, vh: Expr, wide: bool) -> Any:
    # Lewis and Sendov 2005, 6: divided differences for the symmetric part, and for the other one with the signs of -s
    left, right = matmul(turn(u), ct), matmul(ct, turn(vh))
    inner = matmul(left, turn(vh))
    gap, close = gaps(s)
    slopes = where(close, where(on_diagonal(inner), 0.0, float("nan")), (row(g) - column(g)) / gap)
    turns = where(on_diagonal(inner), 0.0, (row(g) + column(g)) / (row(s) + column(s)))
    middle = cotangent(symmetric(inner), slopes) + cotangent((inner - turn(inner)) * 0.5, turns)
    found = product(u, middle, vh)
    if a.shape[-1] != a.shape[-2]:
        ratio = divide(g, s)
        if wide:
            found = found + matmul(u, cotangent(left - matmul(inner, vh), column(ratio)))
        else:
            found = found + matmul(cotangent(right - matmul(u, inner), row(ratio)), vh)
    return found, diagonal(inner), None, None, None


# -- least squares ---------------------------------------------------------------------------------------------------


def _pinv_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    a = _matrix("pinv", types[0])
    return ArrayType(a.dtype, (*a.shape[:-2], a.shape[-1], a.shape[-2]))


def _pinv_vjp(ct: Expr, y: Expr, a: Expr, rtol: Expr) -> tuple[Expr, None]:
    # Golub and Pereyra 1973, 4.12, where the rank stands still
    turned, pulled = turn(y), turn(ct)
    outside = pulled - product(a, y, pulled)
    inside = pulled - product(pulled, y, a)
    return product(outside, y, turned) + product(turned, y, inside) - product(turned, ct, turned), None


def _lstsq_type(facts: Facts, types: Types, params: Params) -> Output:
    a, b = _matrix("lstsq", types[0]), types[1]
    require_rows(facts, "lstsq", a.shape[-2], b)
    dtype = result_dtype((a, b))
    return (
        ArrayType(dtype, (a.shape[-1], b.shape[-1])),
        ArrayType(dtype, (_smaller(a.shape, params["wide"]),)),
        ArrayType(INT64, ()),
    )


def _lstsq_vjp(ct: Ct, y: Expr, a: Expr, b: Expr, rtol: Expr, wide: bool) -> Any:
    # Golub and Pereyra 1973, 4.12, on one right side: x = pinv(a) b
    x, to_x, to_s = results(y)[0], ct[0], ct[1]
    to_a = None if to_s is None else _svdvals_vjp(to_s, y, a, wide)
    to_b = None
    if to_x is not None:
        inverse = word("pinv", a, rtol)
        to_b = matmul(turn(inverse), to_x)
        outside = product(b - matmul(a, x), turn(to_b), turn(inverse))
        inside = product(turn(inverse), x, turn(to_x - matmul(turn(a), to_b)))
        to_a = _total(to_a, outside + inside - matmul(to_b, turn(x)))
    return to_a, to_b, None


# -- the exponential -------------------------------------------------------------------------------------------------


def _frechet_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    a, e = square(facts, "expm", types[0]), square(facts, "expm", types[1])
    return ArrayType(result_dtype(types), broadcast(facts, a.shape, e.shape))


def _frechet_vjp(ct: Expr, y: Expr, a: Expr, e: Expr) -> tuple[Expr, Expr]:
    # Najfeld and Havel 1995: exp of [[a, e], [0, a]] holds the derivative beside exp(a)
    n, last = a.shape[-1], y.rank - 1
    zero = zeros_like(y)
    wide_a, wide_e = (x if x.shape == y.shape else add(x, zero) for x in (a, e))
    block = _blocks(turn(wide_a), zero, turn(wide_e), turn(wide_a))
    pulled = word("expm_frechet", block, _blocks(zero, ct, zero, zero))
    corner = [slice_axis(slice_axis(pulled, last - 1, i, n), last, i, n) for i in (0, n)]
    # linear in e: its cotangent must not pass through the block that holds e
    return unbroadcast(add(*corner), a.shape), unbroadcast(word("expm_frechet", turn(a), ct), e.shape)


def _blocks(a: Expr, b: Expr, c: Expr, d: Expr) -> Expr:
    top, bottom = concatenate((a, b), a.rank - 1), concatenate((c, d), a.rank - 1)
    return concatenate((top, bottom), a.rank - 2)


TABLE = (
    Op("qr", _qr_type, _qr, vjp=_qr_vjp, lower="qr"),
    Op("complement", _complement_type, lapack.complement, vjp=_complement_vjp, cuts=(1,), lower="complement"),
    Op("eigh", _eigh_type, _eigh, vjp=_eigh_vjp, lower="eigh"),
    Op(
        "eigvalsh", _values_type("eigvalsh"), lambda a, lower=True: np.linalg.eigvalsh(a, "L" if lower else "U"),
        vjp=_eigvalsh_vjp,
        lower="eigvalsh",
    ),
    # v diag(g) v^T as a function of the matrix whose eigenvectors v are, with g standing still
    Op(
        "spectral", _spectral_type, lambda a, g, w, v: (v * g[..., None, :]) @ lapack.swap(v),
        vjp=_spectral_vjp,
        linear=(1,), cuts=(2, 3), lower="spectral",
    ),
    Op("eig", _eigh_type, lapack.real_eig, vjp=_eig_vjp, lower="eig"),
    Op("eigvals", _values_type("eigvals"), lapack.real_eigvals, vjp=_eigvals_vjp, lower="eigvals"),
    Op("svd", _svd_type, _svd, vjp=_svd_vjp, lower="svd"),
    Op(
        "svdvals", _svdvals_type, lambda a, wide: np.linalg.svd(a, compute_uv=False),
        vjp=_svdvals_vjp,
        lower="svdvals",
    ),
    # u diag(g) v^T as a function of the matrix with the singular vectors u and v
    Op(
        "singular", _singular_type, lambda a, g, u, s, vh, wide: (u * g[..., None, :]) @ vh,
        vjp=_singular_vjp,
        linear=(1,), cuts=(2, 3, 4), lower="singular",
    ),
    Op("pinv", _pinv_type, lapack.pinv, vjp=_pinv_vjp, cuts=(1,), lower="pinv"),
    Op("lstsq", _lstsq_type, lapack.lstsq, vjp=_lstsq_vjp, cuts=(2,), lower="lstsq"),
    Op(
        "expm", lambda facts, types, params: square(facts, "expm", types[0]), lapack.expm,
        vjp=lambda ct, y, a: word("expm_frechet", turn(a), ct),
        lower="expm",
    ),
    Op("expm_frechet", _frechet_type, lapack.expm_frechet, vjp=_frechet_vjp, linear=(1,), lower="expm_frechet"),
)  # fmt: skip
