"""Calls of sub-graphs replaced by what the sub-graphs hold."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any

from ..tracer.dims import Dim, atom, names
from ..tracer.graph import BINDING, Builder, Expr, Graph, Guard, Node, substitute_sizes
from ..tracer.plain import replace
from .gradient import results_of, start

Sizes = dict[str, "int | Dim"]


def inline(graph: Graph) -> Graph:
    """The graph without `call` nodes: their nodes and guards stand in their place, in the caller's sizes."""
    if not any(node.op == "call" for node in graph.nodes):
        return graph
    builder, inputs = start(graph)
    inliner = _Inliner(builder, graph)
    values = inliner.splice(graph, inputs, {})
    guards = sorted(inliner.guards, key=lambda guard: guard.at)
    return builder.build([values[out][0] for out in graph.outputs], guards)


class _Inliner:
    def __init__(self, builder: Builder, graph: Graph) -> None:
        self.builder = builder
        self.guards: list[Guard] = []
        taken = {node.param("count") for node in graph.nodes if node.op in BINDING}
        self.fresh = (f"call{n}" for n in count() if not {f"#call{n}", f"@call{n}"} & taken)

    def splice(self, graph: Graph, inputs: Iterable[Expr], sizes: Sizes, called: bool = False) -> list[list[Expr]]:
        """Write the nodes of a graph and note its guards; returns the results of each node."""
        values = [[expr] for expr in inputs]
        ends = [0] * (len(values) + 1)
        for index in range(len(values), len(graph.nodes)):
            node = graph.nodes[index]
            self.builder.loc = graph.loc(index)
            params = substitute_sizes(node.params, sizes)
            if called and node.op in BINDING:
                inner = node.param("count")
                outer = inner[0] + next(self.fresh)
                sizes[inner] = atom(outer)
                params = tuple((name, outer if name == "count" else value) for name, value in params)
            if node.op == "pick":
                values.append([values[node.args[0]][node.param("index")]])
            elif node.op == "call":
                values.append(self._call(dict(params), [values[arg][0] for arg in node.args]))
            else:
                args = tuple(values[arg][0].index for arg in node.args)
                made = self.builder.raw(node.op, args, params, substitute_sizes(node.type, sizes))
                values.append(results_of(made) if isinstance(node.type, tuple) else [made])
            ends.append(len(self.builder.nodes))
        for guard in graph.guards:
            if isinstance(guard.subject, int):
                subject: Any = values[guard.subject][0].index
            else:
                subject = substitute_sizes(guard.subject, sizes)
            if isinstance(guard.subject, int) or isinstance(subject, Dim):  # a number held when this was recorded
                self.guards.append(replace(guard, subject=subject, at=ends[guard.at]))
        return values

    def _call(self, params: dict[str, Any], inputs: list[Expr]) -> list[Expr]:
        inner: Graph = params["graph"]
        sizes: Sizes = dict(params.get("sizes", ()))
        for name, expr in zip(inner.names, inputs, strict=True):
            sizes.update({f"{name}.{axis}": size for axis, size in enumerate(expr.shape)})
        mentioned = names_in(inner.nodes)
        for name, expr in zip(inner.names, inputs, strict=True):
            if name in mentioned and name not in sizes:
                sizes[name] = self._size_of(expr)
        values = self.splice(inner, inputs, sizes, called=True)
        return [values[out][0] for out in inner.outputs]

    def _size_of(self, expr: Expr) -> int | Dim:
        """The size that an integer value is."""
        node = self.builder.nodes[expr.index]
        if node.op == "size":
            return node.param("size")
        if node.op == "const":
            return int(node.param("value").array())
        if node.op in ("input", "integer"):
            return atom(node.param("name" if node.op == "input" else "count"))
        name = "@" + next(self.fresh)
        self.builder.op("integer", expr, count=name)
        return atom(name)


def names_in(nodes: Iterable[Node]) -> set[str]:
    """Names of all sizes in the types and parameters of nodes."""
    found: set[str] = set()
    for node in nodes:
        types = node.type if isinstance(node.type, tuple) else (node.type,)
        stack: list[Any] = [size for type_ in types for size in type_.shape]
        stack += [value for _, value in node.params]
        while stack:
            item = stack.pop()
            if isinstance(item, Dim):
                found |= names(item)
            elif type(item) is tuple:
                stack += item
    return found
