"""np.linalg beyond products: equations, determinants, factorizations, eigenvalues.

Symmetric matrices are read from one triangle, as in NumPy; their derivatives are symmetric and count both.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult

from ..context import context
from ..dims import Dim, maximum
from ..errors import ShapeError
from ..values import dtype_of, emit, facts, is_traced, number, rank_of, sizes
from .common import (
    NOTHING,
    array,
    broadcast_to,
    cast,
    constant,
    cut,
    flat,
    inexact,
    is_exactly,
    permute,
    product,
    promote,
    reshape,
    show_shape,
    size_value,
    unsupported,
)
from .linear import matmul, tril, triu
from .norms import norm


def floats(a: Any) -> Any:
    """An operand in float32 or float64, in which LAPACK computes."""
    x = array(a)
    if dtype_of(x) == np.float16:
        raise TypeError("array type float16 is unsupported in linalg")
    return inexact(x)


def matrices(a: Any) -> Any:
    x = floats(a)
    if rank_of(x) < 2:
        raise LinAlgError(f"{rank_of(x)}-dimensional array given. Array must be at least two-dimensional")
    return x


def squares(a: Any) -> Any:
    x = matrices(a)
    if facts().same(*sizes(x)[-2:]) is None:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return x


def _factors(x: Any) -> tuple[Any, ...]:
    """The LU factors of a matrix where something records, so that derivatives find them."""
    return emit("lu", x) if context.trace is not None or context.recorders else ()


def turned(x: Any) -> Any:
    rank = rank_of(x)
    return permute(x, (*range(rank - 2), rank - 1, rank - 2))


def _is_wide(x: Any) -> bool:
    """Whether matrices have fewer rows than columns; guarded."""
    return facts().less(*sizes(x)[-2:])


# equations and determinants


def with_columns(name: str, rows: int | Dim, b: Any, solved: Callable[[Any], Any]) -> Any:
    """Solve for `b`, where one vector is a matrix of one column."""
    if not rank_of(b):
        raise ValueError(f"{name}: the right side has no axis")
    if facts().same(rows, sizes(b)[-1 if rank_of(b) == 1 else -2]) is None:
        text = f"{name}: the matrix has {number(rows)} rows, the right side has shape {show_shape(sizes(b))}"
        raise ShapeError(text)
    if rank_of(b) != 1:
        return solved(b)
    return emit("squeeze", (y := solved(emit("expand_dims", b, axes=(1,)))), axes=(rank_of(y) - 1,))


def solve(a, b):
    x, y = squares(a), floats(b)
    x, y = promote([x, y])
    return with_columns("solve", sizes(x)[-1], y, lambda side: emit("solve", x, side, *_factors(x)))


def inv(a):
    x = squares(a)
    return emit("inv", x, *_factors(x))


def det(a):
    x = squares(a)
    return emit("det", x, *_factors(x))


def slogdet(a):
    x = squares(a)
    return SlogdetResult(*emit("slogdet", x, *_factors(x)))


def tensorsolve(a, b, axes=None):
    x, y = floats(a), floats(b)
    rank = rank_of(x)
    order = list(range(rank))
    for k in () if axes is None else axes:
        order.remove(k)
        order.insert(rank, k)
    x = permute(x, order)
    shape = sizes(x)[rank_of(y) - rank :] if rank > rank_of(y) else ()
    length = product(shape)
    if facts().same(product(sizes(x)), length * length) is None or facts().same(product(sizes(y)), length) is None:
        raise LinAlgError("Input arrays must satisfy the requirement prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return reshape(solve(reshape(x, (length, length)), flat(y)), shape)


def tensorinv(a, ind=2):
    x, ind = floats(a), operator.index(ind)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = sizes(x)
    rows = product(shape[:ind])
    return reshape(inv(reshape(x, (rows, product(shape[ind:])))), (*shape[ind:], *shape[:ind]))


# factorizations


def cholesky(a, /, *, upper=False):
    return emit("cholesky", squares(a), upper=bool(upper))


def qr(a, mode="reduced"):
    if mode in ("f", "full"):
        mode = "reduced"
    if mode in ("raw", "economic", "e", "economics"):
        raise unsupported("linalg.qr", f"mode={mode!r}", 'Use mode="reduced", "complete" or "r".')
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    x = matrices(a)
    wide = _is_wide(x)
    last = rank_of(x) - 1
    rows, columns = sizes(x)[-2:]
    # of a wide matrix the first columns give q, and q turns the others
    q, r = emit("qr", cut(x, last, 0, rows) if wide else x)
    if wide:
        r = emit("concatenate", r, matmul(turned(q), cut(x, last, rows, columns - rows)), axis=last)
    if mode == "r":
        return r
    if mode == "complete" and not wide and not is_exactly(rows, columns):
        rest = emit("complement", q, x, kind="qr")
        q = emit("concatenate", q, rest, axis=last)
        zeros = broadcast_to(constant(np.zeros((), dtype_of(r))), (*sizes(r)[:-2], rows - columns, columns))
        r = emit("concatenate", r, zeros, axis=last - 1)
    return QRResult(q, r)


def mirrored(x: Any, lower: bool) -> Any:
    """The symmetric matrix of which one triangle is given."""
    half = tril(x) if lower else triu(x)
    other = tril(x, -1) if lower else triu(x, 1)
    return emit("add", half, turned(other))


def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    x = squares(a) if hermitian else matrices(a)
    if hermitian:
        x = mirrored(x, True)
    wide = _is_wide(x)
    if not compute_uv:
        return emit("svdvals", x, wide=wide)
    u, s, vh = emit("svd", x, wide=wide)
    rows, columns = sizes(x)[-2:]
    if full_matrices and not is_exactly(rows, columns):
        last = rank_of(x) - 1
        if wide:
            rest = emit("complement", turned(vh), x, kind="right")
            vh = emit("concatenate", vh, turned(rest), axis=last - 1)
        else:
            u = emit("concatenate", u, emit("complement", u, x, kind="left"), axis=last)
    return SVDResult(u, s, vh)


def svdvals(x, /):
    return svd(x, compute_uv=False)


def _is_lower(UPLO: str) -> bool:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper() == "L"


def eigh(a, UPLO="L"):
    return EighResult(*emit("eigh", squares(a), lower=_is_lower(UPLO)))


def eigvalsh(a, UPLO="L"):
    return emit("eigvalsh", squares(a), lower=_is_lower(UPLO))


def eig(a):
    return EigResult(*emit("eig", squares(a)))


def eigvals(a):
    return emit("eigvals", squares(a))


# least squares


def _cutoff(value: Any) -> Any:
    """What counts as no singular value, as an operand; nan for the precision of the dtype."""
    return value if is_traced(value) else constant(np.asarray(np.nan if value is None else value, np.float64))


def pinv(a, rcond=None, hermitian=False, *, rtol=NOTHING):
    if rcond is not None and rtol is not NOTHING:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    x = squares(a) if hermitian else matrices(a)
    if rtol is None and dtype_of(array(a)).kind != "f":
        raise ValueError(f"data type {dtype_of(array(a))} not inexact")
    cutoff = rcond if rcond is not None else 1e-15 if rtol is NOTHING else rtol
    return emit("pinv", mirrored(x, True) if hermitian else x, _cutoff(cutoff))


def lstsq(a, b, rcond=None):
    x, y = promote([floats(a), floats(b)])
    for item in (x, y):
        if rank_of(item) != 2 and not (item is y and rank_of(y) == 1):
            raise LinAlgError(f"{rank_of(item)}-dimensional array given. Array must be two-dimensional")
    if facts().same(sizes(x)[0], sizes(y)[0]) is None:
        raise LinAlgError("Incompatible dimensions")
    side = emit("expand_dims", y, axes=(1,)) if rank_of(y) == 1 else y
    rows, columns = sizes(x)
    wide = _is_wide(x)
    found, s, rank = emit("lstsq", x, side, _cutoff(rcond), wide=wide)
    if facts().less(columns, rows) and bool(emit("equal", rank, size_value(columns))):
        rest = emit("subtract", side, matmul(x, found))
        residuals = emit("sum", emit("square", rest), axes=(0,))
    else:
        residuals = constant(np.zeros(0, dtype_of(x)))
    solution = emit("squeeze", found, axes=(1,)) if rank_of(y) == 1 else found
    return solution, residuals, rank, s


def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    x = floats(A)
    if rank_of(x) < 2:
        return cast(emit("any", emit("not_equal", x, 0), axes=tuple(range(rank_of(x)))), np.int64)
    s = emit("absolute", eigvalsh(x)) if hermitian else svd(x, compute_uv=False)
    bound = tol if tol is not None else rtol
    if bound is not None:
        bound = array(bound)
        bound = emit("expand_dims", bound, axes=(rank_of(bound),))
    if tol is None:
        from .reductions import max_

        if bound is None:
            eps = float(np.finfo(dtype_of(s)).eps)
            bound = emit("multiply", size_value(maximum(*sizes(x)[-2:])), eps)
        bound = emit("multiply", max_(s, axis=-1, keepdims=True, initial=0.0), bound)
    return emit("sum", emit("greater", s, bound), axes=(rank_of(s) - 1,))


def cond(x, p=None):
    a = matrices(x)
    if not all(facts().less(0, n) for n in sizes(a)[-2:]):
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svd(a, compute_uv=False)
        last = rank_of(s) - 1
        first, final = (
            emit("squeeze", cut(s, last, at, 1), axes=(last,)) for at in (0, sizes(s)[last] - 1)
        )  # fmt: skip
        ratio = emit("divide", final, first) if p == -2 else emit("divide", first, final)
    else:
        a = squares(a)
        inverse = emit("inv", a, *_factors(a), lenient=True)
        ratio = emit("multiply", norm(a, p, axis=(-2, -1)), norm(inverse, p, axis=(-2, -1)))
    # infinite where it can't be computed, unless nan was given
    last = rank_of(a) - 1
    spoilt = emit("any", emit("isnan", a), axes=(last - 1, last))
    lost = emit("logical_and", emit("isnan", ratio), emit("logical_not", spoilt))
    return emit("where", lost, constant(np.asarray(np.inf, dtype_of(ratio))), ratio)


FUNCTIONS: dict[Any, Any] = {
    np.linalg.solve: solve, np.linalg.inv: inv, np.linalg.det: det, np.linalg.slogdet: slogdet,
    np.linalg.tensorsolve: tensorsolve, np.linalg.tensorinv: tensorinv, np.linalg.cholesky: cholesky,
    np.linalg.qr: qr, np.linalg.svd: svd, np.linalg.svdvals: svdvals, np.linalg.eigh: eigh,
    np.linalg.eigvalsh: eigvalsh, np.linalg.eig: eig, np.linalg.eigvals: eigvals, np.linalg.pinv: pinv,
    np.linalg.lstsq: lstsq, np.linalg.matrix_rank: matrix_rank, np.linalg.cond: cond,
}  # fmt: skip
