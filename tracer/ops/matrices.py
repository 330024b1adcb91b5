"""Words for the derivative rules of linear algebra: parts of matrices, and the ops themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import show_size
from ..errors import ShapeError
from ..types import ArrayType, Facts
from .shape import show_shape
from .words import (
    _emit,
    absolute,
    equal,
    expand_dims,
    iota,
    less,
    less_equal,
    matmul,
    matrix_transpose,
    reshape,
    subtract,
    sum_,
    where,
)

if TYPE_CHECKING:
    from ..graph import Expr


def square(facts: Facts, name: str, type_: ArrayType) -> ArrayType:
    """A type of square matrices. Raises ShapeError for others."""
    if type_.rank < 2:
        raise ShapeError(f"{name}: two axes needed, not {show_shape(type_.shape)}")
    size = facts.same(type_.shape[-2], type_.shape[-1])
    if size is None:
        raise ShapeError(f"{name}: {show_shape(type_.shape)} is not square")
    return ArrayType(type_.dtype, (*type_.shape[:-2], size, size))


def require_rows(facts: Facts, name: str, rows: Any, b: ArrayType) -> None:
    """Raise ShapeError where a right side has another number of rows than the matrix."""
    if b.rank < 2 or facts.same(rows, b.shape[-2]) is None:
        raise ShapeError(f"{name}: the matrix has {show_size(rows)} rows, the right side is {show_shape(b.shape)}")


# parts of matrices


def _triangle(x: Expr, relation: Callable[..., Expr]) -> Expr:
    rows, columns = (iota(x.builder, size) for size in x.shape[-2:])
    return relation(columns, reshape(rows, (x.shape[-2], 1)))


def lower_part(x: Expr, strict: bool = False) -> Expr:
    """The lower triangle, zeros elsewhere."""
    return where(_triangle(x, less if strict else less_equal), x, 0.0)


def upper_part(x: Expr, strict: bool = False) -> Expr:
    return where(_triangle(x, less_equal if strict else less), 0.0, x)


def on_diagonal(x: Expr) -> Expr:
    """The mask of the diagonal of matrices like `x`."""
    return _triangle(x, equal)


def diagonal(x: Expr) -> Expr:
    return sum_(where(on_diagonal(x), x, 0.0), (x.rank - 1,))


def column(v: Expr) -> Expr:
    """Numbers, one for each row."""
    return expand_dims(v, (v.rank,))


def row(v: Expr) -> Expr:
    """Numbers, one for each column."""
    return expand_dims(v, (v.rank - 1,))


def as_diagonal(v: Expr) -> Expr:
    """Matrices that have `v` on their diagonals."""
    size = v.shape[-1]
    steps = iota(v.builder, size)
    return where(equal(steps, reshape(steps, (size, 1))), row(v), 0.0)


def symmetric(x: Expr) -> Expr:
    return (x + matrix_transpose(x)) * 0.5


def product(*factors: Expr) -> Expr:
    out = factors[0]
    for factor in factors[1:]:
        out = matmul(out, factor)
    return out


def trace(x: Expr) -> Expr:
    """The sum of the diagonal, as a 1 x 1 matrix."""
    total = sum_(where(on_diagonal(x), x, 0.0), (x.rank - 2, x.rank - 1))
    return expand_dims(total, (total.rank, total.rank + 1))


# numbers that may coincide


def gaps(w: Expr) -> tuple[Expr, Expr]:
    """``w[j] - w[i]`` with 1 where they can't be told apart (the diagonal included), and the mask of those places."""
    gap = subtract(row(w), column(w))
    noise = 4 * float(np.finfo(w.dtype).eps)
    size = sum_(absolute(w), (w.rank - 1,))
    close = less_equal(absolute(gap), expand_dims(size, (size.rank, size.rank + 1)) * noise)
    return where(close, 1.0, gap), close


def safe_reciprocal(x: Expr) -> Expr:
    """1/x, and 0 at 0."""
    none = equal(x, 0)
    return where(none, 0.0, 1.0 / where(none, 1.0, x))


# the ops


def results(y: Expr) -> tuple[Expr, ...]:
    """The results of an op that has several."""
    types: Any = y.builder.nodes[y.index].type
    return tuple(y.builder.raw("pick", (y.index,), (("index", i),), type_) for i, type_ in enumerate(types))


def solve(a: Expr, b: Expr, *factors: Expr, transposed: bool = False) -> Expr:
    """The solution of ``a x = b``; `factors` are those of `a`, if somebody found them."""
    return _emit("solve", a, b, *factors, **({"transposed": True} if transposed else {}))


def inv(a: Expr, *factors: Expr) -> Expr:
    """The inverse, nan where there is none."""
    return _emit("inv", a, *factors, lenient=True)


def solve_triangular(a: Expr, b: Expr, lower: bool, transposed: bool = False, unit: bool = False) -> Expr:
    return _emit("solve_triangular", a, b, lower=lower, transposed=transposed, unit=unit)


def none_for(factors: tuple[Any, ...]) -> tuple[None, ...]:
    return (None,) * len(factors)


def word(name: str, *args: Any, **params: Any) -> Expr:
    return _emit(name, *args, **params)
