"""Run a graph through recorded operations, so that whatever records here sees every node of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .context import Place, context, place
from .dims import Dim, atom
from .graph import BINDING, Graph, substitute_sizes
from .ops import OPS
from .values import Value, apply, number


def replay(
    graph: Graph,
    inputs: Sequence[Value],
    known: Mapping[int, Value] | None = None,
    roots: Sequence[int] | None = None,
) -> list[Value]:
    """The values of `roots` (default: the outputs) of a graph on given input values.

    `known` gives values of inner nodes that were computed before; only what they leave open is computed.
    """
    roots = graph.outputs if roots is None else roots
    where = place()
    sizes = _input_sizes(graph, inputs)
    values: dict[int, Any] = dict(known or {})
    values.update(enumerate(inputs))
    needed = _open_nodes(graph, roots, values)
    # a derivative's intermediate may well be inf where the zero-cotangent product then drops it
    with np.errstate(all="ignore"):
        _fill(graph, values, needed, sizes, where)
    return [values[r] for r in roots]


def _fill(graph: Graph, values: dict[int, Any], needed: list[bool], sizes: dict[str, int | Dim], where: Place) -> None:
    for index, node in enumerate(graph.nodes):
        if not needed[index] or index in values:
            continue
        if node.op == "const":
            array = node.param("value").array()
            type_ = graph.type(index)
            item = array.item() if type_.weak else (array if array.ndim else array[()])
            if context.trace is not None and not type_.weak:
                values[index] = context.trace.constant(item)
            else:
                values[index] = Value(item, (), True) if type_.weak else Value(item)
            continue
        if node.op == "pick":
            values[index] = values[node.args[0]][node.param("index")]
            continue
        params = {k: substitute_sizes(v, sizes) for k, v in node.params}
        if node.op in BINDING:
            name = params["count"]
            if context.trace is not None:
                params["count"] = context.trace.fresh(name[0])
                sizes[name] = atom(params["count"])
        values[index] = apply(OPS[node.op], tuple([values[a] for a in node.args]), params, where)
        if node.op in BINDING and context.trace is None:
            out = values[index]
            sizes[name] = len(out[0].array) if isinstance(out, tuple) else int(out.array)


def _open_nodes(graph: Graph, roots: Sequence[int], values: Mapping[int, Any]) -> list[bool]:
    needed = [False] * len(graph.nodes)
    for root in roots:
        needed[root] = True
    named = [i for i, n in enumerate(graph.nodes) if n.op in BINDING]
    for index in named:
        needed[index] = True  # a size may be mentioned in types alone; counting twice costs little
    for index in range(len(graph.nodes) - 1, -1, -1):
        if needed[index] and index not in values:
            for arg in graph.nodes[index].args:
                needed[arg] = True
    return needed


def _input_sizes(graph: Graph, inputs: Sequence[Value]) -> dict[str, int | Dim]:
    """What the graph's named sizes are for these inputs."""
    sizes: dict[str, int | Dim] = {}
    for name, type_, value in zip(graph.names, map(graph.type, graph.inputs), inputs, strict=True):
        if type_.weak and type_.dtype.kind == "i":
            sizes[name] = number(value.array) if isinstance(value.array, int) else int(value.array)
        for axis, size in enumerate(value.sizes):
            sizes[f"{name}.{axis}"] = size
    return sizes
