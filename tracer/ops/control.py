"""Ops that hold a graph: call it once, or once per element of a leading axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dims import Dim, evaluate_size, names, substitute
from ..errors import DtypeError, ShapeError
from ..op import Op, Output, Types
from ..types import ArrayType, Facts, Shape
from .shape import require_shape

if TYPE_CHECKING:
    from ..graph import Graph

Params = Mapping[str, Any]


def _sizes_inside(graph: Graph, shapes: Sequence[Shape]) -> dict[str, int | Dim]:
    """What the sizes of a sub-graph's inputs are called outside of it."""
    return {
        f"{name}.{axis}": size
        for name, shape in zip(graph.names, shapes, strict=True)
        for axis, size in enumerate(shape)
    }


def _results(facts: Facts, op: str, graph: Graph, types: Types, given: Mapping[str, int | Dim]) -> Types:
    """The types of a sub-graph's outputs for inputs of these types."""
    if len(types) != len(graph.names):
        raise ShapeError(f"{op}: {graph.name} takes {len(graph.names)} inputs, not {len(types)}")
    values = {**given, **_sizes_inside(graph, [t.shape for t in types])}

    def outside(shape: Shape) -> Shape:
        unknown = sorted({name for size in shape for name in names(size)} - values.keys())
        if unknown:
            raise ShapeError(f"{op}: the size {unknown[0]} is known inside of {graph.name} only: name it in `sizes`")
        return tuple(substitute(size, values) for size in shape)

    for index, (name, got) in enumerate(zip(graph.names, types, strict=True)):
        declared = graph.type(index)
        if (got.dtype, got.rank, got.weak) != (declared.dtype, declared.rank, declared.weak):
            raise DtypeError(f"{op}: input {name} of {graph.name} is {declared}, not {got}")
        require_shape(facts, f"{op}: input {name} of {graph.name}", got.shape, outside(declared.shape))
    out = (graph.type(index) for index in graph.outputs)
    return tuple(ArrayType(t.dtype, outside(t.shape), t.weak) for t in out)


def _call_type(facts: Facts, types: Types, params: Params) -> Output:
    results = _results(facts, "call", params["graph"], types, dict(params.get("sizes", ())))
    return results[0] if len(results) == 1 else results


def _call(*inputs: Any, graph: Graph, sizes: tuple[tuple[str, int], ...] = ()) -> Any:
    from ..evaluate import evaluate

    results = evaluate(graph, inputs, dict(sizes))
    return results[0] if len(results) == 1 else results


def _map_type(facts: Facts, types: Types, params: Params) -> Output:
    mapped = params["mapped"]
    leading: int | Dim | None = None
    for position, type_ in enumerate(types):
        if not mapped[position]:
            continue
        if not type_.rank:
            raise ShapeError(f"map: input {position} has no axis to loop over")
        size = type_.shape[0] if leading is None else facts.same(leading, type_.shape[0])
        if size is None:
            raise ShapeError(f"map: leading sizes differ, {leading} against {type_.shape[0]}")
        leading = size
    if leading is None:
        raise ShapeError("map: no input to loop over")
    inner = tuple(t.with_shape(t.shape[1:]) if m else t for t, m in zip(types, mapped, strict=True))
    results = tuple(ArrayType(t.dtype, (leading, *t.shape)) for t in _results(facts, "map", params["body"], inner, {}))
    return results[0] if len(results) == 1 else results


def _map(*inputs: Any, body: Graph, mapped: tuple[bool, ...]) -> Any:
    from ..evaluate import evaluate

    turns = next(len(x) for x, m in zip(inputs, mapped, strict=True) if m)
    rows = [evaluate(body, [x[i] if m else x for x, m in zip(inputs, mapped, strict=True)]) for i in range(turns)]
    inner = [np.shape(x)[1:] if m else np.shape(x) for x, m in zip(inputs, mapped, strict=True)]
    sizes = _sizes_inside(body, inner)
    results = []
    for position, index in enumerate(body.outputs):
        type_ = body.type(index)
        # no turn at all leaves no value to look at, yet the result has a shape
        shape = tuple(evaluate_size(size, sizes) for size in type_.shape)  # type: ignore[arg-type]
        out = np.empty((turns, *shape), type_.dtype)
        for turn, row in enumerate(rows):
            out[turn] = row[position]
        results.append(out)
    return results[0] if len(results) == 1 else tuple(results)


# their derivatives are those of their graphs: compiler/gradient.py takes them
TABLE = (
    Op("call", _call_type, _call, lower="call"),
    Op("map", _map_type, _map, lower="map"),
)
