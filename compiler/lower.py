"""The last rewriting before fusion: calls are inlined, ops without a loop of their own become some that have one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..tracer.graph import Builder, Expr, Graph, Node, live_nodes
from ..tracer.plain import replace
from ..tracer.types import SHORT, ArrayType
from .gradient import start
from .inline import inline
from .order import readers_first
from .views import is_one, space_of

SMALL = 16  # inner sizes up to this make loops rather than a library call


def lower(graph: Graph) -> Graph:
    """The same function in ops that fusion knows, without dead nodes."""
    graph = inline(graph)
    builder, inputs = start(graph)
    live = live_nodes(graph)
    lowering = _Lowering(builder, _used_once(graph, live))
    env: list[Expr | None] = list(inputs)
    for index in range(len(inputs), len(graph.nodes)):
        node = graph.nodes[index]
        builder.loc = graph.loc(index)
        lowering.here = index
        env.append(lowering.node(node, [env[a] for a in node.args]) if live[index] else None)  # type: ignore[misc]
    guards = [
        replace(g, subject=env[g.subject].index) if isinstance(g.subject, int) else g  # type: ignore[union-attr]
        for g in graph.guards
    ]
    return readers_first(_without_dead(builder.build([env[o] for o in graph.outputs], guards)))  # type: ignore[misc]


def _used_once(graph: Graph, live: Sequence[bool]) -> set[int]:
    """The nodes that one other node reads, and nothing else."""
    uses = Counter(arg for index, node in enumerate(graph.nodes) if live[index] for arg in node.args)
    uses.update(graph.outputs)
    uses.update(g.subject for g in graph.guards if isinstance(g.subject, int))
    return {index for index, count in uses.items() if count == 1}


def _without_dead(graph: Graph) -> Graph:
    live = live_nodes(graph)
    moved: dict[int, int] = {}
    for index in range(len(graph.nodes)):
        if live[index] or index < len(graph.names):
            moved[index] = len(moved)
    nodes = tuple(replace(graph.nodes[i], args=tuple(moved[a] for a in graph.nodes[i].args)) for i in moved)
    guards = tuple(replace(g, subject=moved[g.subject]) if isinstance(g.subject, int) else g for g in graph.guards)
    outputs = tuple(moved[o] for o in graph.outputs)
    return Graph(graph.name, nodes, outputs, graph.names, guards, tuple(graph.loc(i) for i in moved))


class _Lowering:
    """Copies nodes into a builder."""

    def __init__(self, builder: Builder, once: set[int]) -> None:
        self.builder = builder
        self.once = once
        self.here = 0  # the node that is copied
        self.passing: set[int] = set()  # scatters in the new graph that the next node alone will read

    def node(self, node: Node, args: list[Expr]) -> Expr:
        made = self._node(node, args)
        if self.here in self.once and self.builder.nodes[made.index].op in ("scatter_add", "add_scatter"):
            self.passing.add(made.index)
        return made

    def _node(self, node: Node, args: list[Expr]) -> Expr:
        match node.op:
            case "matmul":
                return self._matmul(node, *args)
            case "add":
                return self._add(node, *args)
            case "argmax" | "argmin" | "argsort" | "sort" | "cumsum" | "cumprod" | "linrec":
                return self._along(node, args)
            case "sum" | "prod" | "max" | "min" | "any" | "all":
                return self._reduction(node, args[0])
        return self.builder.raw(node.op, tuple(a.index for a in args), node.params, node.type)

    def _add(self, node: Node, a: Expr, b: Expr) -> Expr:
        """A sum with zeros that hold a row, one element or scattered ones: these are added into the other array.

        A derivative by many elements of one array is a sum of many such; each would else cost as much as all.
        """
        for base, other in ((a, b), (b, a)):
            zeros = self.builder.nodes[other.index]
            if other.index in self.passing and base.type == other.type == node.type and node.type.inexact:
                if zeros.op == "add_scatter":  # the scatter goes last, so that the arrays are added in one loop
                    base = self._add(node, base, Expr(self.builder, zeros.args[0]))
                    args = zeros.args[1:]
                else:
                    args = zeros.args
                params = tuple((k, v) for k, v in zeros.params if k != "shape")
                return self.builder.raw("add_scatter", (base.index, *args), params, node.type)
            if zeros.op == "unslice" and base.type == other.type:
                value = Expr(self.builder, zeros.args[0])
                if len(space_of(value.shape)) < len(space_of(base.shape)):
                    params = tuple((k, v) for k, v in zeros.params if k != "shape")
                    return self.builder.raw("add_slice", (base.index, value.index), params, node.type)
        return self.builder.raw(node.op, (a.index, b.index), node.params, node.type)

    def _matmul(self, node: Node, a: Expr, b: Expr) -> Expr:
        """A product with a vector, of vectors, of integers, or of small known sizes, as a sum of products."""
        assert isinstance(node.type, ArrayType)
        dtype = node.type.dtype
        (rows, inner), columns = a.shape[-2:], b.shape[-1]
        small = all(type(s) is int and s <= SMALL for s in (rows, inner, columns))
        thin = is_one(rows) or is_one(columns) or is_one(inner)
        if dtype.kind == "f" and dtype.itemsize > 2 and not (thin or small):
            return self._cast_factors(node, a, b, dtype)
        rank = len(node.type.shape)
        left, right = self._cast(a, dtype), self._cast(b, dtype)
        if is_one(inner):
            return left * right if dtype.kind != "b" else left.op("logical_and", right)
        if is_one(columns):
            source = self._turned(left)
            if source is not None:  # x.T @ v goes along the rows of x: x[k, i] * v[k], summed over k
                return self._sum(node, self._times(source, right), rank - 2).op("expand_dims", axes=(rank - 1,))
            return self._sum(node, self._times(left, self._turn(right)), rank - 1).op("expand_dims", axes=(rank - 1,))
        if is_one(rows):
            source = self._turned(right)
            if source is not None:
                return self._sum(node, self._times(source, left), rank - 1).op("expand_dims", axes=(rank - 2,))
            return self._sum(node, self._times(self._turn(left), right), rank - 2).op("expand_dims", axes=(rank - 2,))
        left = left.op("expand_dims", axes=(a.rank,))
        right = right.op("expand_dims", axes=(b.rank - 2,))
        return self._sum(node, self._times(left, right), rank - 1)

    def _turn(self, x: Expr) -> Expr:
        return x.op("transpose", perm=(*range(x.rank - 2), x.rank - 1, x.rank - 2))

    def _turned(self, x: Expr) -> Expr | None:
        """What `x` is the transpose of."""
        made = self.builder.nodes[x.index]
        if made.op == "transpose" and made.param("perm") == (*range(x.rank - 2), x.rank - 1, x.rank - 2):
            return Expr(self.builder, made.args[0])
        return None

    def _cast_factors(self, node: Node, a: Expr, b: Expr, dtype: np.dtype[Any]) -> Expr:
        left, right = self._cast(a, dtype), self._cast(b, dtype)
        return self.builder.raw("matmul", (left.index, right.index), (), node.type)

    def _cast(self, x: Expr, dtype: np.dtype[Any]) -> Expr:
        return x if x.dtype == dtype else x.op("astype", dtype=SHORT[dtype.name])

    def _times(self, a: Expr, b: Expr) -> Expr:
        return a.op("logical_and" if a.dtype.kind == "b" else "multiply", b)

    def _sum(self, node: Node, terms: Expr, axis: int) -> Expr:
        assert isinstance(node.type, ArrayType)
        if terms.dtype.kind == "b":
            return terms.op("any", axes=(axis,))
        # np.sum widens small integers, a product of matrices wraps in its own dtype
        return self._cast(terms.op("sum", axes=(axis,)), node.type.dtype)

    def _along(self, node: Node, args: list[Expr]) -> Expr:
        """An op along one axis: no op where that has length 1, and along the last axis where only that has loops."""
        assert isinstance(node.type, ArrayType)
        axis, x = node.param("axis"), args[-1]
        if is_one(x.shape[axis]):
            if node.op in ("cumsum", "cumprod", "linrec", "sort"):
                return self._cast(x, node.type.dtype) if x.dtype != node.type.dtype else x.op("copy")
            zero = self.builder.const(np.int64(0))
            return zero.op("broadcast_to", shape=node.type.shape) if node.type.shape else zero
        if node.op in ("cumsum", "cumprod", "linrec") or axis == x.rank - 1:
            return self.builder.raw(node.op, tuple(a.index for a in args), node.params, node.type)
        last = (*(a for a in range(x.rank) if a != axis), axis)
        turned = x.op("transpose", perm=last)
        shape = node.type.shape if node.op.startswith("argm") else turned.shape
        found = self.builder.raw(node.op, (turned.index,), (("axis", x.rank - 1),), node.type.with_shape(shape))
        back = tuple(sorted(range(x.rank), key=last.__getitem__))
        return found if node.op.startswith("argm") else found.op("transpose", perm=back)

    def _reduction(self, node: Node, x: Expr) -> Expr:
        """A reduction without its axes of length 1; nothing but a cast when none is left."""
        assert isinstance(node.type, ArrayType)
        axes = node.param("axes")
        long = tuple(a for a in axes if not is_one(x.shape[a]))
        if len(long) == len(axes) and axes:
            return self.builder.raw(node.op, (x.index,), node.params, node.type)
        short = tuple(a for a in axes if a not in long)
        rest = x.op("squeeze", axes=short) if short else x
        if not long:
            return self._cast(rest, node.type.dtype) if rest.dtype != node.type.dtype else rest.op("copy")
        left = tuple(a - sum(s < a for s in short) for a in long)
        return self.builder.raw(node.op, (rest.index,), (("axes", left),), node.type)
