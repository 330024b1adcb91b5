"""Linear algebra: products, systems of equations, determinants and Cholesky factors.

`solve`, `inv`, `det` and `slogdet` may be given what `lu` found for the same matrix; the derivatives hand it on, so
that one factorization serves values and derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError
from ..op import Op, Output, Types, undefined
from ..types import INT64, ArrayType, Facts, broadcast, result_dtype
from . import lapack
from .matrices import (
    column,
    inv,
    lower_part,
    none_for,
    product,
    require_rows,
    solve,
    solve_triangular,
    square,
    symmetric,
    trace,
    upper_part,
    word,
)
from .shape import show_shape, unbroadcast
from .words import (
    add,
    cotangent,
    count,
    equal,
    expand_dims,
    gather,
    iota,
    matmul,
    matrix_transpose,
    maximum,
    minimum,
    multiply,
    reshape,
    size,
    sum_,
    where,
)

if TYPE_CHECKING:
    from ..graph import Expr

Params = Mapping[str, Any]
Infer = Callable[[Facts, Types, Params], Output]


def _matmul_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    a, b = types
    if a.rank < 2 or b.rank < 2:
        raise ShapeError(f"matmul: two axes needed, not {show_shape(a.shape)} and {show_shape(b.shape)}")
    if facts.same(a.shape[-1], b.shape[-2]) is None:
        raise ShapeError(f"matmul: inner sizes differ, {show_shape(a.shape)} against {show_shape(b.shape)}")
    batch = broadcast(facts, a.shape[:-2], b.shape[:-2])
    return ArrayType(result_dtype(types), (*batch, a.shape[-2], b.shape[-1]))


def _matmul_vjp(ct: Expr, y: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    to_a = unbroadcast(matmul(ct, matrix_transpose(b)), a.shape)
    if b.rank == 2 < a.rank:
        # one product over all rows of the batch, instead of one matrix per batch element that are then added
        rows = count(a.shape[:-1])
        flat_a, flat_ct = reshape(a, (rows, a.shape[-1])), reshape(ct, (rows, ct.shape[-1]))
        return to_a, matmul(matrix_transpose(flat_a), flat_ct)
    return to_a, unbroadcast(matmul(matrix_transpose(a), ct), b.shape)


# -- types -----------------------------------------------------------------------------------------------------------


def _square_type(name: str) -> Infer:
    return lambda facts, types, params: square(facts, name, types[0])


def _numbers_type(name: str, results: int) -> Infer:
    """One number for each matrix, or several."""

    def infer(facts: Facts, types: Types, params: Params) -> Output:
        a = square(facts, name, types[0])
        number = ArrayType(a.dtype, a.shape[:-2])
        return number if results == 1 else (number,) * results

    return infer


def _lu_type(facts: Facts, types: Types, params: Params) -> Output:
    a = square(facts, "lu", types[0])
    return a, ArrayType(INT64, a.shape[:-1]), ArrayType(a.dtype, a.shape[:-2])


def _solve_type(name: str) -> Infer:
    def infer(facts: Facts, types: Types, params: Params) -> ArrayType:
        a, b = square(facts, name, types[0]), types[1]
        require_rows(facts, name, a.shape[-1], b)
        batch = broadcast(facts, a.shape[:-2], b.shape[:-2])
        return ArrayType(result_dtype((a, b)), (*batch, a.shape[-1], b.shape[-1]))

    return infer


def _solve_banded_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    ab, b = types
    bands = params["lower"] + params["upper"] + 1
    if ab.rank < 2 or facts.same(ab.shape[-2], bands) is None:
        raise ShapeError(f"solve_banded: {bands} diagonals needed, the bands are {show_shape(ab.shape)}")
    require_rows(facts, "solve_banded", ab.shape[-1], b)
    batch = broadcast(facts, ab.shape[:-2], b.shape[:-2])
    return ArrayType(result_dtype(types), (*batch, ab.shape[-1], b.shape[-1]))


def _pair_type(facts: Facts, types: Types, params: Params) -> ArrayType:
    a, h = square(facts, "cofactor_slope", types[0]), square(facts, "cofactor_slope", types[1])
    return ArrayType(result_dtype(types), broadcast(facts, a.shape, h.shape))


# -- derivatives -----------------------------------------------------------------------------------------------------


def _solve_vjp(ct: Expr, y: Expr, a: Expr, b: Expr, *factors: Expr, transposed: bool = False) -> Any:
    # Giles 2008, 2.3.1
    to_b = solve(a, ct, *factors, transposed=not transposed)
    left, right = (y, to_b) if transposed else (to_b, y)
    to_a = -matmul(left, matrix_transpose(right))
    return unbroadcast(to_a, a.shape), unbroadcast(to_b, b.shape), *none_for(factors)


def _inv_vjp(ct: Expr, y: Expr, a: Expr, *factors: Expr, lenient: bool = False) -> Any:
    # Giles 2008, 2.2.3
    turned = matrix_transpose(y)
    return -product(turned, ct, turned), *none_for(factors)


def _det_vjp(ct: Expr, y: Expr, a: Expr, *factors: Expr) -> Any:
    # Jacobi's formula with cofactors, which singular matrices have too
    return multiply(_each_matrix(ct), word("cofactor", a, *factors)), *none_for(factors)


def _slogdet_vjp(ct: tuple[Expr | None, Expr | None], y: Expr, a: Expr, *factors: Expr) -> Any:
    # Giles 2008, 2.2.4. The sign stands still between its jumps.
    if ct[1] is None:
        return None, *none_for(factors)
    # the matrix is singular: nan where the cotangent isn't 0
    return cotangent(_each_matrix(ct[1]), matrix_transpose(inv(a, *factors))), *none_for(factors)


def _each_matrix(numbers: Expr) -> Expr:
    return expand_dims(numbers, (numbers.rank, numbers.rank + 1))


def _cofactor_vjp(ct: Expr, y: Expr, a: Expr, *factors: Expr) -> Any:
    # the second derivative of the determinant is symmetric
    return word("cofactor_slope", a, ct), *none_for(factors)


def _cofactor_slope_vjp(ct: Expr, y: Expr, a: Expr, h: Expr) -> tuple[Expr, Expr]:
    # the third derivative of the determinant, by Jacobi's formula: nan for singular matrices
    x = inv(a)
    first, second = product(x, h, x), product(x, ct, x)
    t, u, both = trace(matmul(x, h)), trace(matmul(x, ct)), trace(product(x, h, x, ct))
    parts = (t * u - both) * x - u * first - t * second + product(first, ct, x) + product(second, h, x)
    to_a = _each_matrix(word("det", a)) * matrix_transpose(parts)
    return unbroadcast(to_a, a.shape), unbroadcast(word("cofactor_slope", a, ct), h.shape)


def _solve_triangular_vjp(
    ct: Expr, y: Expr, a: Expr, b: Expr, lower: bool, transposed: bool = False, unit: bool = False
) -> tuple[Expr, Expr]:
    # Giles 2008, 2.3.1, in the triangle that is read
    to_b = solve_triangular(a, ct, lower, not transposed, unit)
    left, right = (y, to_b) if transposed else (to_b, y)
    part = lower_part if lower else upper_part
    to_a = part(-matmul(left, matrix_transpose(right)), strict=unit)
    return unbroadcast(to_a, a.shape), unbroadcast(to_b, b.shape)


def _cholesky_vjp(ct: Expr, y: Expr, a: Expr, upper: bool = False) -> Expr:
    # Murray 2016, eq. 10: L^-T phi(L^T ct) L^-1, symmetric as the matrix is
    low, ct = (matrix_transpose(y), matrix_transpose(ct)) if upper else (y, ct)
    inner = lower_part(matmul(matrix_transpose(low), ct))
    inner = symmetric(inner + lower_part(inner, strict=True)) * 0.5
    # inner is now half of phi plus its transpose: the strict triangle counts once, the diagonal half
    left = solve_triangular(low, inner, lower=True, transposed=True)
    return solve_triangular(low, matrix_transpose(left), lower=True, transposed=True)


def _solve_banded_vjp(ct: Expr, y: Expr, ab: Expr, b: Expr, lower: int, upper: int) -> tuple[Expr, Expr]:
    # Giles 2008, 2.3.1, in the bands: row r of `ab` holds the elements of rows column + r - upper
    to_b = word("solve_banded", _turned_bands(ab, lower, upper), ct, lower=upper, upper=lower)
    shifts = range(-upper, lower + 1)
    bands = [sum_(_moved(to_b, shift) * y, (y.rank - 1,)) for shift in shifts]
    parts = [expand_dims(band, (band.rank - 1,)) for band in bands]
    to_ab = -(word("concatenate", *parts, axis=y.rank - 2) if len(parts) > 1 else parts[0])
    return unbroadcast(to_ab, ab.shape), unbroadcast(to_b, b.shape)


def _turned_bands(ab: Expr, lower: int, upper: int) -> Expr:
    """The bands of the transposed matrix."""
    columns = matrix_transpose(ab)
    parts = []
    for r in range(lower + upper + 1):
        band = gather(columns, (_constant(columns, lower + upper - r),), (columns.rank - 1,), columns.rank - 1)
        parts.append(matrix_transpose(_moved(column(band), r - lower)))
    return word("concatenate", *parts, axis=ab.rank - 2) if len(parts) > 1 else parts[0]


def _constant(like: Expr, value: int) -> Expr:
    return like.builder.const(np.int64(value))


def _moved(x: Expr, shift: int) -> Expr:
    """The rows of `x` from that many places further on, zeros beyond the ends."""
    if shift == 0:
        return x
    length = x.shape[-2]
    places = add(iota(x.builder, length), shift)
    last = size(x.builder, length - 1)
    inside = equal(places, maximum(minimum(places, last), 0))
    taken = gather(x, (maximum(minimum(places, last), 0),), (x.rank - 2,), x.rank - 2)
    return where(reshape(inside, (length, 1)), taken, 0.0)


FACTORS = (1, 2, 3)

TABLE = (
    Op("matmul", _matmul_type, np.matmul, vjp=_matmul_vjp, linear=(0, 1), lower="matmul"),
    # a's factors, their row order and its sign: what reads them has derivatives by the matrix itself
    Op(
        "lu", _lu_type, lapack.lu,
        vjp=undefined("its factors serve solve, inv, det and slogdet"),
        cuts=(0,), lower="lu",
    ),
    Op(
        "solve", _solve_type("solve"), lapack.solve,
        vjp=_solve_vjp,
        linear=(1,), cuts=(2, 3, 4), lower="solve",
    ),
    Op("inv", _square_type("inv"), lapack.inv, vjp=_inv_vjp, cuts=FACTORS, lower="inv"),
    Op("det", _numbers_type("det", 1), lapack.det, vjp=_det_vjp, cuts=FACTORS, lower="det"),
    Op("slogdet", _numbers_type("slogdet", 2), lapack.slogdet, vjp=_slogdet_vjp, cuts=FACTORS, lower="slogdet"),
    Op("cofactor", _square_type("cofactor"), lapack.cofactor, vjp=_cofactor_vjp, cuts=FACTORS, lower="cofactor"),
    Op(
        "cofactor_slope", _pair_type, lapack.cofactor_slope,
        vjp=_cofactor_slope_vjp,
        linear=(1,), lower="cofactor_slope",
    ),
    Op(
        "solve_triangular", _solve_type("solve_triangular"), lapack.solve_triangular,
        vjp=_solve_triangular_vjp,
        linear=(1,), lower="solve_triangular",
    ),
    Op(
        "cholesky", _square_type("cholesky"), lambda a, upper=False: np.linalg.cholesky(a, upper=upper),
        vjp=_cholesky_vjp,
        lower="cholesky",
    ),
    Op(
        "solve_banded", _solve_banded_type, lapack.solve_banded,
        vjp=_solve_banded_vjp,
        linear=(1,), lower="solve_banded",
    ),
)  # fmt: skip
