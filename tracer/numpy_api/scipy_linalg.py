"""Functions of scipy.linalg, known by name so that SciPy need not be loaded.

What would only be checked (`check_finite`) or be overwritten changes no value and is not recorded.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from ..values import emit, facts, sizes
from .common import force, promote, unsupported
from .factorizations import (
    cholesky,
    det,
    eigh,
    eigvalsh,
    floats,
    inv,
    matrices,
    mirrored,
    pinv,
    qr,
    solve,
    squares,
    svd,
    turned,
    with_columns,
)
from .linear import tril, triu
from .norms import norm


def _check_transposed(trans: Any) -> bool:
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ValueError(f"trans: one of 0, 1, 2, 'N', 'T' and 'C', not {trans!r}")
    return trans not in (0, "N")


def solve_triangular(
    a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):  # fmt: skip
    x, y = promote([squares(a), floats(b)])
    params = {"lower": bool(lower), "transposed": _check_transposed(trans), "unit": bool(unit_diagonal)}
    return with_columns("solve_triangular", sizes(x)[-1], y, lambda side: emit("solve_triangular", x, side, **params))


def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    x = squares(a)
    low = bool(lower)
    factor = emit("cholesky", x, upper=not low)
    # the other triangle holds what the matrix held there, as SciPy leaves it
    return emit("add", factor, triu(x, 1) if low else tril(x, -1)), low


def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    x, y = promote([squares(c), floats(b)])
    low = bool(lower)

    def solved(side: Any) -> Any:
        for transposed in (not low, low):
            side = emit("solve_triangular", x, side, lower=low, transposed=transposed, unit=False)
        return side

    return with_columns("cho_solve", sizes(x)[-1], y, solved)


def scipy_cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    return cholesky(a, upper=not lower)


def scipy_inv(a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    return inv(_assumed("inv", a, assume_a, lower))


def scipy_det(a, overwrite_a=False, check_finite=True):
    return det(a)


def scipy_solve(
    a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False
):  # fmt: skip
    x = _assumed("solve", a, assume_a, lower)
    return solve(turned(x) if transposed else x, b)


def _assumed(name: str, a: Any, assume_a: Any, lower: Any) -> Any:
    """The matrix that SciPy reads under an assumption."""
    x = squares(a)
    match assume_a:
        case None | "gen" | "general":
            return x
        case "sym" | "pos" | "her" | "symmetric" | "hermitian" | "positive definite":
            return mirrored(x, bool(lower))
        case "upper triangular" | "lower triangular":
            return triu(x) if assume_a[0] == "u" else tril(x)
    raise unsupported(f"linalg.{name}", f"assume_a={assume_a!r}", "Leave it away.")


def expm(A):
    return emit("expm", squares(A))


def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    lower, upper = map(operator.index, l_and_u)
    x, y = promote([matrices(ab), floats(b)])
    if facts().same(sizes(x)[-2], lower + upper + 1) is None:
        raise ValueError(
            "invalid values for the number of lower and upper diagonals: l+u+1 "
            f"({lower + upper + 1}) does not equal ab.shape[0] ({force(sizes(x)[-2])})"
        )
    return with_columns(
        "solve_banded", sizes(x)[-1], y, lambda side: emit("solve_banded", x, side, lower=lower, upper=upper)
    )


def _no_subset(name: str, **given: Any) -> None:
    """Refuse what isn't recorded: an argument that is not its default."""
    for argument, (value, default) in given.items():
        if value is not default and value != default:
            raise unsupported(f"linalg.{name}", f"{argument}={value!r}", "Leave it away.")


def scipy_eigh(
    a, b=None, *, lower=True, eigvals_only=False, overwrite_a=False, overwrite_b=False, type=1, check_finite=True,
    subset_by_index=None, subset_by_value=None, driver=None,
):  # fmt: skip
    _no_subset("eigh", type=(type, 1), subset_by_index=(subset_by_index, None), subset_by_value=(subset_by_value, None))
    uplo = "L" if lower else "U"
    if b is None:
        return eigvalsh(a, uplo) if eigvals_only else tuple(eigh(a, uplo))
    # a v = w b v: with b = c c^T, c^-1 a c^-T is symmetric and has the same eigenvalues
    x, y = promote([mirrored(squares(a), bool(lower)), mirrored(squares(b), bool(lower))])
    factor = cholesky(y)
    half = turned(solve_triangular(factor, x, lower=True))
    inner = solve_triangular(factor, half, lower=True)
    if eigvals_only:
        return eigvalsh(inner)
    values, vectors = eigh(inner)
    return values, solve_triangular(factor, vectors, trans=1, lower=True)


def scipy_eigvalsh(
    a, b=None, *, lower=True, overwrite_a=False, overwrite_b=False, type=1, check_finite=True, subset_by_index=None,
    subset_by_value=None, driver=None,
):  # fmt: skip
    return scipy_eigh(
        a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )  # fmt: skip


def scipy_svd(
    a, full_matrices=True, compute_uv=True, overwrite_a=False, check_finite=True, lapack_driver="gesdd"
):  # fmt: skip
    found = svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def scipy_svdvals(a, overwrite_a=False, check_finite=True):
    return svd(a, compute_uv=False)


def scipy_qr(a, overwrite_a=False, lwork=None, mode="full", pivoting=False, check_finite=True):
    _no_subset("qr", pivoting=(pivoting, False))
    if mode == "r":
        return (qr(a, "complete")[1],)
    if mode not in ("full", "economic"):
        raise unsupported("linalg.qr", f"mode={mode!r}", 'Use mode="full", "economic" or "r".')
    return tuple(qr(a, "complete" if mode == "full" else "reduced"))


def scipy_norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return norm(a, ord, axis, keepdims)


def scipy_pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    _no_subset("pinv", atol=(atol, None), return_rank=(return_rank, False))
    return pinv(floats(a), rtol=rtol)


_SCIPY: dict[str, Callable[..., Any]] = {
    "solve_triangular": solve_triangular, "cho_factor": cho_factor, "cho_solve": cho_solve, "cholesky": scipy_cholesky,
    "inv": scipy_inv, "det": scipy_det, "solve": scipy_solve, "expm": expm, "solve_banded": solve_banded,
    "eigh": scipy_eigh, "eigvalsh": scipy_eigvalsh, "svd": scipy_svd, "svdvals": scipy_svdvals, "qr": scipy_qr,
    "norm": scipy_norm, "pinv": scipy_pinv,
}  # fmt: skip
FUNCTIONS_BY_NAME = {("scipy.linalg", name): handler for name, handler in _SCIPY.items()}
