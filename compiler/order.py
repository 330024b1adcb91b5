"""The order of nodes before fusion: what reads an array goes before what writes into it."""

from __future__ import annotations

from heapq import heappop, heappush

from ..tracer.graph import Graph
from ..tracer.plain import replace
from .views import space_of

OVERWRITING = (
    "set_slice",
    "scatter_set",
    "add_slice",
    "add_scatter",
)  # their first argument may be written where it stands
FAR = 64  # nodes that are looked at before a reader counts as dependent on the write


def small_slice(graph: Graph, index: int) -> bool:
    """Whether a node is a slice that drops an axis, such as a row of a matrix."""
    node = graph.nodes[index]
    if node.op != "slice":
        return False
    return len(space_of(graph.type(index).shape)) < len(space_of(graph.type(node.args[0]).shape))


def users_of(graph: Graph) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in graph.nodes]
    for index, node in enumerate(graph.nodes):
        for arg in dict.fromkeys(node.args):
            users[arg].append(index)
    return users


def readers_first(graph: Graph) -> Graph:
    """The graph in an order in which other readers of an array come before a write into it, where that can be."""
    if not any(node.op in OVERWRITING for node in graph.nodes):
        return graph
    users = users_of(graph)
    after: list[list[int]] = [[] for _ in graph.nodes]  # edges beside those of the arguments
    missing = [len(set(node.args)) for node in graph.nodes]
    for index, node in enumerate(graph.nodes):
        if node.op in OVERWRITING:
            for reader in users[node.args[0]]:
                if reader > index and graph.nodes[reader].op not in OVERWRITING and not _depends(graph, reader, index):
                    after[reader].append(index)
                    missing[index] += 1
    heap = [index for index, count in enumerate(missing) if not count]
    order: list[int] = []
    while heap:
        index = heappop(heap)
        order.append(index)
        for follower in (*users[index], *after[index]):
            missing[follower] -= 1
            if not missing[follower]:
                heappush(heap, follower)
    assert len(order) == len(graph.nodes)
    moved = {old: new for new, old in enumerate(order)}
    nodes = tuple(replace(graph.nodes[i], args=tuple(moved[a] for a in graph.nodes[i].args)) for i in order)
    guards = tuple(replace(g, subject=moved[g.subject]) if isinstance(g.subject, int) else g for g in graph.guards)
    outputs = tuple(moved[o] for o in graph.outputs)
    return Graph(graph.name, nodes, outputs, graph.names, guards, tuple(graph.loc(i) for i in order))


def _depends(graph: Graph, reader: int, write: int) -> bool:
    """Whether a node needs another; True also where that would take long to find out."""
    todo, seen = [reader], {reader}
    while todo:
        for arg in graph.nodes[todo.pop()].args:
            if arg == write or len(seen) > FAR:
                return True
            if arg > write and arg not in seen:
                seen.add(arg)
                todo.append(arg)
    return False
