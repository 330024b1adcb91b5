"""Products of vectors and matrices, and matrices built from vectors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..dims import Dim
from ..errors import ShapeError
from ..types import broadcast
from ..values import dtype_of, emit, facts, rank_of, sizes
from .common import (
    along,
    array,
    axis_of,
    broadcast_to,
    cast,
    constant,
    deliver,
    flat,
    iota,
    permute,
    product,
    promote,
    reshape,
    show_shape,
    size_value,
)
from .gathers import diagonal, take


def _check_inner(name: str, a: Any, b: Any, left: int, right: int) -> None:
    p, q = sizes(a)[left], sizes(b)[right]
    if p != q and facts().same(p, q) is None:
        raise ShapeError(f"{name}: inner sizes differ: shapes {show_shape(sizes(a))} and {show_shape(sizes(b))}")


def _inner(a: Any, b: Any, axis: int = -1) -> Any:
    """The sum of products along an axis, in the operands' common dtype."""
    a, b = promote([a, b])
    axes = (axis_of(axis, max(rank_of(a), rank_of(b))),)
    if dtype_of(a).kind == "b":
        return emit("any", emit("logical_and", a, b), axes=axes)
    return cast(emit("sum", emit("multiply", a, b), axes=axes), dtype_of(a))


def matmul(x1: Any, x2: Any) -> Any:
    """``x1 @ x2``."""
    a, b = array(x1), array(x2)
    if not rank_of(a) or not rank_of(b):
        raise ValueError("matmul: Input operand does not have enough dimensions (needs at least 1)")
    vector_a, vector_b = rank_of(a) == 1, rank_of(b) == 1
    _check_inner("matmul", a, b, -1, 0 if vector_b else -2)
    if vector_a and vector_b:
        return _inner(a, b)
    a, b = promote([a, b])
    a = emit("expand_dims", a, axes=(0,)) if vector_a else a
    b = emit("expand_dims", b, axes=(1,)) if vector_b else b
    y = emit("matmul", a, b)
    if vector_a or vector_b:
        y = emit("squeeze", y, axes=(rank_of(y) - (2 if vector_a else 1),))
    return y


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Dot products of vectors that lie along an axis."""
    a, b = (_last(array(x), axis) for x in (x1, x2))
    _check_inner("vecdot", a, b, -1, -1)
    return _inner(a, b)


def _last(x: Any, axis: int) -> Any:
    from .shapes import moveaxis

    return x if axis == -1 else moveaxis(x, axis, -1)


def matvec(x1: Any, x2: Any) -> Any:
    """Products of matrices and vectors."""
    y = matmul(x1, emit("expand_dims", array(x2), axes=(rank_of(array(x2)),)))
    return emit("squeeze", y, axes=(rank_of(y) - 1,))


def vecmat(x1: Any, x2: Any) -> Any:
    """Products of vectors and matrices."""
    x = array(x1)
    y = matmul(emit("expand_dims", x, axes=(rank_of(x) - 1,)), x2)
    return emit("squeeze", y, axes=(rank_of(y) - 2,))


def dot(a, b, out=None):
    x, y = array(a), array(b)
    if not rank_of(x) or not rank_of(y):
        return deliver(emit("multiply", *promote([x, y])), out)
    if rank_of(y) <= 2 and rank_of(x) <= 2:
        return deliver(matmul(x, y), out)
    return deliver(tensordot(x, y, ((-1,), (-2 if rank_of(y) > 1 else -1,))), out)


def vdot(a, b, /):
    x, y = flat(array(a)), flat(array(b))
    _check_inner("vdot", x, y, 0, 0)
    return _inner(x, y)


def inner(a, b, /):
    x, y = array(a), array(b)
    if not rank_of(x) or not rank_of(y):
        return emit("multiply", *promote([x, y]))
    _check_inner("inner", x, y, -1, -1)
    return tensordot(x, y, ((-1,), (-1,)))


def outer(a, b, out=None):
    x, y = promote([flat(array(a)), flat(array(b))])
    return deliver(emit("multiply", emit("expand_dims", x, axes=(1,)), y), out)


def tensordot(a, b, axes=2):
    x, y = promote([array(a), array(b)])
    m, n = rank_of(x), rank_of(y)
    if isinstance(axes, list | tuple | np.ndarray):
        left, right = ([int(i) for i in (p if np.ndim(p) else [p])] for p in axes)
    else:
        count = operator.index(axes)
        left, right = list(range(m - count, m)), list(range(count))
    if len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    left, right = [axis_of(i, m) for i in left], [axis_of(i, n) for i in right]
    for p, q in zip(left, right, strict=True):
        _check_inner("tensordot", x, y, p, q)
    free_x, free_y = [i for i in range(m) if i not in left], [i for i in range(n) if i not in right]
    shape = (*(sizes(x)[i] for i in free_x), *(sizes(y)[i] for i in free_y))
    if m == n == len(left) == 1:
        return _inner(x, y)
    rows, columns, deep = (product(sizes(t)[i] for i in part) for t, part in ((x, free_x), (y, free_y), (x, left)))
    matrix_x = reshape(permute(x, free_x + left), (rows, deep))
    matrix_y = reshape(permute(y, right + free_y), (deep, columns))
    return reshape(emit("matmul", matrix_x, matrix_y), shape)


def kron(a, b):
    x, y = promote([array(a), array(b)])
    rank = max(rank_of(x), rank_of(y))
    x, y = (emit("expand_dims", t, axes=tuple(range(rank - rank_of(t)))) if rank_of(t) < rank else t for t in (x, y))
    if rank == 0:
        return emit("multiply", x, y)
    wide = emit("expand_dims", x, axes=tuple(range(1, 2 * rank, 2)))
    thin = emit("expand_dims", y, axes=tuple(range(0, 2 * rank, 2)))
    return reshape(emit("multiply", wide, thin), tuple(p * q for p, q in zip(sizes(x), sizes(y), strict=True)))


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = (_last(array(t), axis_of(i, rank_of(array(t)))) for t, i in ((a, axisa), (b, axisb)))
    widths = []
    for t in (x, y):
        width = next((w for w in (2, 3) if facts().same(sizes(t)[-1], w) is not None), None)
        if width is None:
            raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
        widths.append(width)
    p = [take(x, i, -1) for i in range(widths[0])]
    q = [take(y, i, -1) for i in range(widths[1])]

    def minor(i: int, j: int) -> Any:
        terms = [emit("multiply", p[s], q[t]) if s < len(p) and t < len(q) else None for s, t in ((i, j), (j, i))]
        if terms[1] is None:
            return terms[0] if terms[0] is not None else emit("multiply", emit("multiply", p[0], q[0]), 0)
        return emit("negative", terms[1]) if terms[0] is None else emit("subtract", *terms)

    if widths == [2, 2]:
        return minor(0, 1)
    parts = [minor(1, 2), minor(2, 0), minor(0, 1)]
    parts = [broadcast_to(t, broadcast(facts(), *(sizes(s) for s in parts))) for t in parts]
    rank = rank_of(parts[0])
    joined = emit("concatenate", *(emit("expand_dims", t, axes=(rank,)) for t in promote(parts)), axis=rank)
    from .shapes import moveaxis

    return joined if axisc == -1 else moveaxis(joined, -1, axisc)


def linalg_cross(x1, x2, /, *, axis=-1):
    return cross(x1, x2, axis=axis)


# matrices from vectors, and parts of matrices


def diag(v, k=0):
    x = array(v)
    if rank_of(x) == 2:
        return diagonal(x, k)
    if rank_of(x) != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = operator.index(k)
    length = sizes(x)[0] + abs(k)
    step = iota(sizes(x)[0])
    rows, columns = (emit("add", step, shift) if shift else step for shift in (max(-k, 0), max(k, 0)))
    return emit("scatter_add", x, rows, columns, shape=(length, length), axes=(0, 1), at=0)


def diagflat(v, k=0):
    return diag(flat(array(v)), k)


def triangle(rows: int | Dim, columns: int | Dim, k: int) -> Any:
    """The mask of the lower triangle, up to the diagonal number `k`."""
    limit = emit("add", iota(rows), k) if k else iota(rows)
    return emit("less_equal", iota(columns), along(limit, 0, 2))


def _triangular(m: Any, k: Any, lower: bool) -> Any:
    x = array(m)
    if rank_of(x) == 1:  # NumPy broadcasts a vector against the mask
        x = broadcast_to(x, (sizes(x)[0], sizes(x)[0]))
    if rank_of(x) < 1:
        raise ValueError("the input must have at least one axis")
    zero = constant(np.zeros((), dtype_of(x)))
    rows, columns = sizes(x)[-2:]
    mask = triangle(rows, columns, operator.index(k) - (not lower))
    return emit("where", mask, x, zero) if lower else emit("where", mask, zero, x)


def tril(m, k=0):
    return _triangular(m, k, True)


def triu(m, k=0):
    return _triangular(m, k, False)


def vander(x, N=None, increasing=False):
    x = array(x)
    if rank_of(x) != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    from ..values import to_size

    count = sizes(x)[0] if N is None else to_size(N)
    powers = iota(count)
    if not increasing:
        powers = emit("subtract", emit("subtract", size_value(count), 1), powers)
    base = cast(x, np.promote_types(dtype_of(x), np.int64))
    return emit("power", along(base, 0, 2), cast(powers, dtype_of(base)))


FUNCTIONS: dict[Any, Any] = {
    np.dot: dot, np.vdot: vdot, np.inner: inner, np.outer: outer, np.linalg.outer: outer, np.tensordot: tensordot,
    np.linalg.tensordot: lambda x1, x2, /, *, axes=2: tensordot(x1, x2, axes),
    np.linalg.matmul: lambda x1, x2, /: matmul(x1, x2),
    np.linalg.vecdot: vecdot, np.kron: kron, np.cross: cross, np.linalg.cross: linalg_cross, np.diag: diag,
    np.diagflat: diagflat, np.tril: tril, np.triu: triu, np.vander: vander,
}  # fmt: skip
