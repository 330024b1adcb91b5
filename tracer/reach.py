"""Which values derivatives reach: one answer for graphs, tapes and sub-graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from .graph import Graph, Node
from .op import Output
from .ops import OPS
from .types import ArrayType


def connected(nodes: Sequence[Node], sources: Iterable[int]) -> list[bool]:
    """For each node whether derivatives reach it from one of `sources`."""
    return [mask != 0 for mask in _reach(nodes, dict.fromkeys(sources, 1))]


@lru_cache(1024)
def flows(graph: Graph) -> tuple[frozenset[int], ...]:
    """For each output of a graph the positions of the inputs that derivatives reach it from."""
    masks = _reach(graph.nodes, {i: 1 << i for i in graph.inputs})
    return tuple(frozenset(i for i in graph.inputs if masks[out] >> i & 1) for out in graph.outputs)


def subgraph(node: Node) -> Graph | None:
    """The graph that a node runs (once, or for each row), or None."""
    if node.op == "call":
        return node.param("graph")
    return node.param("body") if node.op == "map" else None


def _reach(nodes: Sequence[Node], sources: dict[int, int]) -> list[int]:
    masks = [0] * len(nodes)
    for index, node in enumerate(nodes):
        mask = sources.get(index, 0)
        if any(masks[arg] for arg in node.args):
            mask |= _through(nodes, node, masks)
        if mask and inexact(node.type):
            masks[index] = mask
    return masks


def _through(nodes: Sequence[Node], node: Node, masks: list[int]) -> int:
    """The sources that reach a result of `node` from its arguments."""
    doors: Iterable[int]  # the positions through which derivatives enter
    if node.op == "pick":
        (maker,) = node.args
        inner = subgraph(nodes[maker])
        if inner is None:
            return masks[maker]
        doors = flows(inner)[node.param("index")]
        node = nodes[maker]
    elif (inner := subgraph(node)) is not None:
        doors = frozenset().union(*flows(inner))
    else:
        row = OPS[node.op]
        doors = (position for position in range(len(node.args)) if row.carries(position))
    reached = 0
    for position in doors:
        reached |= masks[node.args[position]]
    return reached


def inexact(type_: Output) -> bool:
    """Whether a value of this type, or one of several, can carry a derivative."""
    return type_.inexact if isinstance(type_, ArrayType) else any(map(inexact, type_))
