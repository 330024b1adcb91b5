"""What it costs to compute a value again, counted in additions."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..tracer.graph import Graph, Node
from ..tracer.ops import OPS
from ..tracer.types import ArrayType
from .scalar import PRIMITIVES, Scalar, Scalars

CHEAP = 6  # what costs more is stored rather than computed twice
_VIEWS = {"unslice": 2, "concatenate": 2, "gather": 2}


def costs(graph: Graph, kinds: list[str], stored: set[int]) -> tuple[list[int], list[int]]:
    """For each node its own cost, and that with the cheap nodes below it, which would be computed again too."""
    own: list[int] = []
    chain: list[int] = []
    for index, node in enumerate(graph.nodes):
        if kinds[index] != "inline" or index in stored:
            own.append(0)
            chain.append(0)
            continue
        cost = own_cost(graph, node)
        below = sum(chain[a] for a in set(node.args) if own[a] <= CHEAP)
        own.append(cost)
        chain.append(min(cost + below, 1000))
    return own, chain


def own_cost(graph: Graph, node: Node) -> int:
    row = OPS.get(node.op)
    if row is None or not row.elementwise:
        return _VIEWS.get(node.op, 0)
    return _scalar_cost(node.op, tuple(graph.type(a) for a in node.args), node.params)


@lru_cache(4096)
def _scalar_cost(op: str, types: tuple[ArrayType, ...], params: tuple[tuple[str, Any], ...]) -> int:
    total = 0

    def emit(name: str, dtype: np.dtype[Any], operands: tuple[Any, ...]) -> None:
        nonlocal total
        total += PRIMITIVES[name].cost

    compose(op, types, params, Scalars(emit, lambda value, dtype: None), [None] * len(types))
    return total


def compose(
    op: str, types: tuple[ArrayType, ...], params: tuple[tuple[str, Any], ...], s: Scalars, operands: list[Any]
) -> Any:
    """Write an elementwise op with the scalar builder `s`; returns the operand of its result.

    The inputs are cast to the dtypes of the op's loop first, and its result to that of the loop.
    """
    row = OPS[op]
    assert row.dtypes is not None and row.scalar is not None
    named = dict(params)
    *inside, result = row.dtypes(types, **named)
    values = [
        s.cast(Scalar(operand, type_.dtype), dtype)
        for operand, type_, dtype in zip(operands, types, inside, strict=True)
    ]
    if op in PRIMITIVES and PRIMITIVES[op].arity == len(values):
        value = s.make(op, *values)
    else:
        value = s.make(row.scalar, *values) if isinstance(row.scalar, str) else row.scalar(s, *values, **named)
    return s.cast(value, result).operand
