"""Linear algebra: the matrix product."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ShapeError
from ..op import Op, Types
from ..types import ArrayType, Facts, broadcast, result_dtype
from .shape import show_shape, unbroadcast
from .words import count, matmul, matrix_transpose, reshape

if TYPE_CHECKING:
    from ..graph import Expr


def _matmul_type(facts: Facts, types: Types, params: Mapping[str, Any]) -> ArrayType:
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


TABLE = (Op("matmul", _matmul_type, np.matmul, vjp=_matmul_vjp, linear=(0, 1), lower="matmul"),)
