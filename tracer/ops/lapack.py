"""What NumPy and SciPy compute for the rows of linear algebra, in batches; SciPy is loaded when its part runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

Array = np.ndarray[Any, np.dtype[Any]]
SMALL = 16  # up to this size a batch is worked on all at once, one column after the other


def swap(x: Array) -> Array:
    return np.swapaxes(x, -1, -2)


def _routine(name: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """A routine of LAPACK for float32 or float64."""
    from scipy.linalg import lapack

    found: Callable[..., Any] = getattr(lapack, ("s" if dtype == np.float32 else "d") + name)
    return found


def _batched(shape: tuple[int, ...], n: int) -> bool:
    return n <= SMALL and int(np.prod(shape)) > 4 * n


# -- LU --------------------------------------------------------------------------------------------------------------


def lu(a: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the order in which rows were taken, and the sign of that permutation."""
    a = np.asarray(a)
    batch, n = a.shape[:-2], a.shape[-1]
    flat = np.array(a.reshape(int(np.prod(batch)), n, n))
    order = np.tile(np.arange(n), (len(flat), 1))
    parity = np.ones(len(flat), a.dtype)
    if n and _batched(batch, n):
        _lu_of_batch(flat, order, parity)
    elif n:
        factor = _routine("getrf", a.dtype)
        for item in range(len(flat)):
            flat[item], pivots, _ = factor(flat[item])
            parity[item] = -1 if np.count_nonzero(pivots != np.arange(n)) % 2 else 1
            rows = list(range(n))
            for row, other in enumerate(pivots.tolist()):
                rows[row], rows[other] = rows[other], rows[row]
            order[item] = rows
    return flat.reshape(a.shape), order.reshape(*batch, n), parity.reshape(batch)


def _lu_of_batch(m: Array, order: Array, parity: Array) -> None:
    """Gaussian elimination with row exchanges, in place, of many small matrices."""
    each = np.arange(len(m))
    with np.errstate(all="ignore"):
        for k in range(m.shape[-1]):
            pivot = k + np.argmax(np.abs(m[:, k:, k]), axis=1)
            for part in (m, order):
                taken = part[each, pivot]
                part[each, pivot] = part[:, k]
                part[:, k] = taken
            parity *= np.where(pivot == k, 1, -1).astype(parity.dtype)
            head = m[:, k, k]
            m[:, k + 1 :, k] /= np.where(head == 0, 1, head)[:, None]
            m[:, k + 1 :, k + 1 :] -= m[:, k + 1 :, k, None] * m[:, k, None, k + 1 :]


def diagonal(a: Array) -> Array:
    return np.diagonal(a, axis1=-2, axis2=-1)


def lu_solve(factors: Array, order: Array, b: Array, transposed: bool) -> Array:
    """Solve with factors that :func:`lu` found. Raises LinAlgError where a pivot is 0."""
    if np.any(diagonal(factors) == 0):
        raise LinAlgError("Singular matrix")
    if factors.ndim == b.ndim == 2 and b.size:
        return _lu_solve_one(factors, order, b, transposed)
    batch = np.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    x = np.array(np.broadcast_to(b, (*batch, n, columns)), dtype=np.result_type(factors, b))
    if not x.size:
        return x
    order = np.broadcast_to(order, (*batch, n))[..., None]
    factors = np.broadcast_to(factors, (*batch, n, n))
    if not transposed:
        x = np.take_along_axis(x, order, -2)
    if _batched(batch, n):
        with np.errstate(all="ignore"):
            _substitute(swap(factors) if transposed else factors, x, transposed)
    else:
        solve, still = _routine("getrs", x.dtype), np.arange(n)
        for place in np.ndindex(*batch):
            x[place] = solve(factors[place].astype(x.dtype, copy=False), still, x[place], trans=int(transposed))[0]
    return np.take_along_axis(x, np.argsort(order, -2), -2) if transposed else x


def _lu_solve_one(factors: Array, order: Array, b: Array, transposed: bool) -> Array:
    dtype = np.result_type(factors, b)
    still = np.arange(len(b))
    x = _routine("getrs", dtype)(factors, still, b if transposed else b[order], trans=int(transposed))[0]
    if not transposed:
        return np.ascontiguousarray(x)
    out = np.empty(b.shape, dtype)
    out[order] = x
    return out


def _substitute(m: Array, x: Array, upper_unit: bool) -> None:
    """Forward, then backward substitution in place; the diagonal of 1 is the lower or the upper triangle's."""
    n = m.shape[-1]
    for k in range(n):
        if upper_unit:
            x[..., k, :] /= m[..., k, k, None]
        x[..., k + 1 :, :] -= m[..., k + 1 :, k, None] * x[..., k, None, :]
    for k in range(n - 1, -1, -1):
        if not upper_unit:
            x[..., k, :] /= m[..., k, k, None]
        x[..., :k, :] -= m[..., :k, k, None] * x[..., k, None, :]


def solve(a: Array, b: Array, *factors: Array, transposed: bool = False) -> Array:
    if factors:
        return lu_solve(factors[0], factors[1], np.asarray(b), transposed)
    return np.asarray(np.linalg.solve(swap(a) if transposed else a, b))


def inv(a: Array, *factors: Array, lenient: bool = False) -> Array:
    """The inverse; where `lenient`, nan for singular matrices."""
    if not lenient and not factors:
        return np.asarray(np.linalg.inv(a))
    a = np.asarray(a)
    bad = np.any(diagonal(factors[0]) == 0, axis=-1) if factors else np.linalg.det(a) == 0
    if not lenient or not np.any(bad):
        identity = np.eye(a.shape[-1], dtype=a.dtype)
        return lu_solve(factors[0], factors[1], identity, False) if factors else np.asarray(np.linalg.inv(a))
    out = np.full(a.shape, np.nan, a.dtype)
    good = ~bad
    if np.any(good):
        out[good] = inv(a[good], *(f[good] for f in factors), lenient=True)
    return out


def det(a: Array, *factors: Array) -> Any:
    if not factors:
        return np.linalg.det(a)
    with np.errstate(all="ignore"):
        return (factors[2] * np.prod(diagonal(factors[0]), axis=-1))[()]


def slogdet(a: Array, *factors: Array) -> tuple[Any, Any]:
    if not factors:
        sign, size = np.linalg.slogdet(a)
        return sign, size
    pivots = diagonal(factors[0])
    with np.errstate(all="ignore"):
        signs = np.where(pivots < 0, -1, pivots != 0).astype(pivots.dtype)  # of nan 1, as NumPy has it
        return factors[2] * np.prod(signs, axis=-1), np.sum(np.log(np.abs(pivots)), axis=-1)


def _products_of_others(s: Array) -> Array:
    """For each element along the last axis the product of all others."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate((ones, s[..., :-1]), -1), -1)
    after = np.cumprod(np.concatenate((ones, s[..., :0:-1]), -1), -1)[..., ::-1]
    return np.asarray(before * after)


def cofactor(a: Array, *factors: Array) -> Array:
    """The derivative of the determinant: det times the transposed inverse; near singularity by the SVD, exactly."""
    a = np.asarray(a)
    if a.shape[-1] < 2 or not a.size:
        return np.ones_like(a)
    with np.errstate(all="ignore"):
        inverse = inv(a, *factors, lenient=True)
        out = np.asarray(det(a, *factors))[..., None, None] * swap(inverse)
        doubt = np.linalg.norm(a, 1, (-2, -1)) * np.linalg.norm(inverse, 1, (-2, -1))
    bad = ~(doubt < np.finfo(a.dtype).eps ** -0.25) & np.isfinite(a).all((-2, -1))
    if np.any(bad):
        u, s, vh = np.linalg.svd(a[bad])
        sign = np.linalg.det(u) * np.linalg.det(vh)
        out[bad] = (u * (sign[..., None] * _products_of_others(s))[..., None, :]) @ vh
    return out


def cofactor_slope(a: Array, h: Array) -> Array:
    """The derivative of the cofactors in the direction `h`, singular matrices included."""
    a, h = np.broadcast_arrays(a, h)
    n = a.shape[-1]
    if n < 2 or not a.size:
        return np.zeros(a.shape, np.result_type(a, h))
    u, s, vh = np.linalg.svd(a)
    inner = swap(u) @ h @ swap(vh)
    products = np.zeros_like(inner)  # of all singular values but two
    for k in range(n):
        rest = s.copy()
        rest[..., k] = 1
        products[..., k, :] = _products_of_others(rest)
        products[..., k, k] = 0
    middle = -products * swap(inner)
    middle[..., range(n), range(n)] = (products @ diagonal(inner)[..., None])[..., 0]
    sign = (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]
    return np.asarray(sign * (u @ middle @ vh))


# -- triangles and bands ---------------------------------------------------------------------------------------------


def solve_triangular(a: Array, b: Array, lower: bool, transposed: bool = False, unit: bool = False) -> Array:
    """Raises LinAlgError where an element of the diagonal is 0."""
    a, b = np.asarray(a), np.asarray(b)
    if not unit and np.any(zeros := diagonal(a) == 0):
        where = int(np.argmax(np.any(zeros, axis=tuple(range(zeros.ndim - 1)))))
        raise LinAlgError(f"singular matrix: resolution failed at diagonal {where}")
    dtype = np.result_type(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, columns = b.shape[-2:]
    x = np.array(np.broadcast_to(b, (*batch, n, columns)), dtype=dtype)
    if not x.size:
        return x
    a = np.broadcast_to(a.astype(dtype, copy=False), (*batch, n, n))
    if _batched(batch, n):
        m, forward = (swap(a), not lower) if transposed else (a, lower)
        with np.errstate(all="ignore"):
            for k in range(n) if forward else range(n - 1, -1, -1):
                if not unit:
                    x[..., k, :] /= m[..., k, k, None]
                rest = slice(k + 1, None) if forward else slice(0, k)
                x[..., rest, :] -= m[..., rest, k, None] * x[..., k, None, :]
        return x
    substitute = _routine("trtrs", dtype)
    for place in np.ndindex(*batch):
        x[place] = substitute(a[place], x[place], lower=lower, trans=int(transposed), unitdiag=unit)[0]
    return x


def solve_banded(ab: Array, b: Array, lower: int, upper: int) -> Array:
    from scipy.linalg import solve_banded

    ab, b = np.asarray(ab), np.asarray(b)
    batch = np.broadcast_shapes(ab.shape[:-2], b.shape[:-2])
    x = np.empty((*batch, *b.shape[-2:]), np.result_type(ab, b))
    bands, sides = np.broadcast_to(ab, (*batch, *ab.shape[-2:])), np.broadcast_to(b, x.shape)
    for place in np.ndindex(*batch) if x.size else ():
        x[place] = solve_banded((lower, upper), bands[place], sides[place], check_finite=False)
    return x


# -- factorizations --------------------------------------------------------------------------------------------------


def complement(q: Array, a: Array, kind: str) -> Array:
    """The columns that a full factorization of `a` adds to `q`: an orthonormal basis of all that is normal to it."""
    k = q.shape[-1]
    match kind:
        case "qr":
            whole = np.linalg.qr(a, "complete")[0]
        case "left":
            whole = np.linalg.svd(a)[0]
        case _:
            whole = swap(np.linalg.svd(a)[2])
    return np.ascontiguousarray(whole[..., k:])


def real_eig(a: Array) -> tuple[Array, Array]:
    values, vectors = np.linalg.eig(a)
    return require_real("eig", values), np.asarray(vectors)


def real_eigvals(a: Array) -> Array:
    return require_real("eigvals", np.linalg.eigvals(a))


def require_real(name: str, values: Array) -> Array:
    if values.dtype.kind != "c":
        return values
    from ..errors import DtypeError, layout

    fix = "Complex numbers are not recorded. For a symmetric matrix use eigh or eigvalsh."
    raise DtypeError(layout(f"np.linalg.{name}: the matrix has complex eigenvalues", fix=fix), op=name)


def pinv(a: Array, rtol: Any) -> Array:
    """`rtol` is what counts as no singular value beside the largest; negative or nan: the dtype's precision."""
    a = np.asarray(a)
    usual = max(a.shape[-2:]) * float(np.finfo(a.dtype).eps)
    return np.asarray(np.linalg.pinv(a, rcond=np.where(np.asarray(rtol) >= 0, rtol, usual)))


def lstsq(a: Array, b: Array, rtol: Any, wide: bool) -> tuple[Array, Array, Any]:
    """The solution, the singular values and the rank."""
    x, _, rank, s = np.linalg.lstsq(a, b, rcond=float(rtol) if rtol >= 0 else None)
    return x, s, np.int64(rank)


def expm(a: Array) -> Array:
    from scipy.linalg import expm

    return np.asarray(expm(a)).astype(np.asarray(a).dtype, copy=False)


def expm_frechet(a: Array, e: Array) -> Array:
    """The derivative of expm at `a` in the direction `e`."""
    a, e = np.broadcast_arrays(a, e)
    n, dtype = a.shape[-1], np.result_type(a, e)
    if not a.size:
        return np.zeros(a.shape, dtype)
    if a.ndim == 2:
        from scipy.linalg import expm_frechet

        return np.asarray(expm_frechet(a, e, compute_expm=False)).astype(dtype, copy=False)
    block = np.zeros((*a.shape[:-2], 2 * n, 2 * n), dtype)
    block[..., :n, :n] = block[..., n:, n:] = a
    block[..., :n, n:] = e
    return np.ascontiguousarray(expm(block)[..., :n, n:])
