"""Norms and powers of matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..values import dtype_of, emit, facts, is_traced, rank_of, sizes
from .common import along as laid_along
from .common import array, axes_of, axis_of, broadcast_to, cast, flat, inexact, iota, keep, permute
from .linear import matmul
from .reductions import max_, min_, root, sum_


def _vector(x: Any, order: Any, axes: tuple[int, ...]) -> Any:
    """The norm of the vectors that lie along `axes`; its derivative at a zero vector is 0."""
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if order is None or (not is_traced(order) and order == 2):
        return root(sum_(emit("square", x), axes))
    size = emit("absolute", x)
    if not is_traced(order):
        if order == np.inf:
            return max_(size, axes, initial=0.0)
        if order == -np.inf:
            return min_(size, axes)
        if order == 0:
            return cast(sum_(emit("not_equal", x, 0), axes), dtype_of(x))
        if order == 1:
            return sum_(size, axes)
    total = sum_(emit("power", size, order), axes)
    value = emit("power", total, emit("divide", 1.0, order))
    return cast(emit("where", emit("equal", total, 0), emit("stop_gradient", value), value), dtype_of(x))


def _matrix(x: Any, order: Any, axes: tuple[int, int]) -> Any:
    rows, columns = axes
    if order is None or order in ("fro", "f"):
        return root(sum_(emit("square", x), axes))
    if order in (2, -2, "nuc"):
        from .factorizations import svd

        s = svd(permute(x, (*(i for i in range(rank_of(x)) if i not in axes), *axes)), compute_uv=False)
        last = rank_of(s) - 1
        return sum_(s, last) if order == "nuc" else max_(s, last, initial=0.0) if order == 2 else min_(s, last)
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    summed, other = (rows, columns) if order in (1, -1) else (columns, rows)
    sums = sum_(emit("absolute", x), summed)
    place = other - (summed < other)
    return max_(sums, place, initial=0.0) if order > 0 else min_(sums, place)


def norm(x, ord=None, axis=None, keepdims=False):
    x = inexact(array(x))
    rank = rank_of(x)
    if axis is None and (ord is None or (ord in ("f", "fro") and rank == 2) or (ord == 2 and rank == 1)):
        return keep(root(sum_(emit("square", flat(x)))), tuple(range(rank)), keepdims)
    given = tuple(range(rank)) if axis is None else axis if isinstance(axis, list | tuple) else (axis,)
    axes = tuple(axis_of(i, rank) for i in given)
    if len(axes) == 1:
        y = _vector(x, ord, axes)
    elif len(axes) == 2:
        if axes[0] == axes[1]:
            raise ValueError("Duplicate axes given.")
        y = _matrix(x, ord, (axes[0], axes[1]))
    else:
        raise ValueError("Improper number of dimensions to norm.")
    return keep(y, tuple(sorted(axes)), keepdims)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    x = inexact(array(x))
    axes = axes_of(axis, rank_of(x))
    return keep(_vector(x, ord, axes), axes, keepdims)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    return norm(x, ord, (-2, -1), keepdims)


def matrix_power(a, n):
    x = array(a)
    exponent = operator.index(n)
    if rank_of(x) < 2:
        raise np.linalg.LinAlgError(f"{rank_of(x)}-dimensional array given. Array must be at least two-dimensional")
    length = sizes(x)[-1]
    if facts().same(sizes(x)[-2], length) is None:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if exponent < 0:
        x, exponent = np.linalg.inv(x), -exponent
    if exponent == 0:
        identity = emit("equal", iota(length), laid_along(iota(length), 0, 2))
        return broadcast_to(cast(identity, dtype_of(x)), sizes(x))
    result = None
    while exponent:
        if exponent & 1:
            result = x if result is None else matmul(result, x)
        exponent >>= 1
        x = matmul(x, x) if exponent else x
    return result


FUNCTIONS: dict[Any, Any] = {
    np.linalg.norm: norm, np.linalg.vector_norm: vector_norm, np.linalg.matrix_norm: matrix_norm,
    np.linalg.matrix_power: matrix_power,
}  # fmt: skip
