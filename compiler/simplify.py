"""The rewrite driver: a pass that copies a graph and applies the rules to each node as it is written."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache
from math import copysign
from typing import Any

import numpy as np

from ..tracer.graph import Builder, Const, Expr, Graph, Node, live_nodes, verify
from ..tracer.ops import OPS
from ..tracer.plain import dataclass
from ..tracer.record import prune
from ..tracer.types import FLOAT64, ArrayType
from .gradient import moved_guards
from .inline import inline
from .rules import RULES, Rule

DEEPEST = 16  # rewrites within a rewrite: a pair of rules that undo each other ends here


def simplify(graph: Graph, *, allow_inexact: bool = False) -> Graph:
    """The graph with calls inlined, the rules applied, constants folded, repetitions and dead nodes gone.

    Values keep their bits unless `allow_inexact` is set.
    """
    return verify(prune(rewrite(inline(graph), allow_inexact)))


def rewrite(graph: Graph, allow_inexact: bool = False) -> Graph:
    """Write each live node anew through the rules.

    Nodes are written in order, so a node's arguments are in their final form when it is matched, and what a rule
    writes goes through the rules as well: one linear pass is the fixed point.
    """
    builder = Rewriter(graph.name, _table(allow_inexact))
    live = live_nodes(graph)
    moved: list[int] = []
    for index, node in enumerate(graph.nodes):
        builder.loc = graph.loc(index)
        if node.op == "input":
            moved.append(builder.input(graph.names[index], graph.type(index)).index)
        elif not live[index]:
            moved.append(-1)
        else:
            params = node.params
            if node.op == "map":
                body: Graph = node.param("body")
                params = (("body", _body(body, body.locs, allow_inexact)), ("mapped", node.param("mapped")))
            moved.append(builder.raw(node.op, tuple(moved[a] for a in node.args), params, node.type).index)
    return builder.build([Expr(builder, moved[out]) for out in graph.outputs], moved_guards(graph.guards, moved))


@lru_cache(256)
def _body(body: Graph, locs: tuple[Any, ...], allow_inexact: bool) -> Graph:
    return simplify(body, allow_inexact=allow_inexact)


class Rewriter(Builder):
    """A builder that tries the rules on each new node, and writes what they say instead."""

    def __init__(self, name: str, table: dict[str, list[Compiled]]) -> None:
        super().__init__(name)
        self._table = table
        self._depth = 0

    def _append(self, node: Node, key: tuple[Any, ...] | None = None) -> Expr:
        if key is not None and node.args and self._depth < DEEPEST and isinstance(node.type, ArrayType):
            self._depth += 1
            better = self._fold(node, node.type) or self._rewrite(node)
            self._depth -= 1
            if better is not None:
                self._memo[key] = better.index
                return better
        return super()._append(node, key)

    def _rewrite(self, node: Node) -> Expr | None:
        for rule in self._table.get(node.op, ()):
            found = rule.match(self.nodes, node) if rule.may_match(self.nodes, node) else None
            if found is not None:
                exprs = [Expr(self, i) for i in found[0]]
                better = rule.replacement(*exprs, **found[1])
                if better is not None and better.type == node.type:
                    return better
        return None

    def _fold(self, node: Node, type_: ArrayType) -> Expr | None:
        """The constant that an elementwise op of 0-d constants comes to, by the op's own reference."""
        row = OPS[node.op]
        if type_.shape or not row.elementwise or any(self.nodes[a].op != "const" for a in node.args):
            return None
        values = [_value(self.nodes[a]) for a in node.args]
        try:
            with np.errstate(all="ignore"):
                result = np.asarray(row.reference(*values, **dict(node.params)))
        except (ValueError, ArithmeticError):
            return None  # 2 ** -1 of integers: NumPy refuses it, and so will the run
        if result.shape or (result.dtype != type_.dtype and not type_.weak):
            return None
        return self.raw("const", (), (("value", Const.of(result.astype(type_.dtype))),), type_)


def _value(node: Node) -> Any:
    value = node.param("value").array()[()]
    return value.item() if isinstance(node.type, ArrayType) and node.type.weak else value


# A pattern is an op with sub-patterns and parameters; a leaf is a number, or the position of a variable.
@dataclass(frozen=True)
class Pattern:
    op: str
    parts: tuple[Pattern | float | _Variable, ...]
    params: tuple[tuple[str, Any], ...]


class _Variable(int):
    """A place that any value fits; the same variable twice is the same value twice."""


@dataclass(frozen=True)
class _Hole:
    """A parameter that a rule binds by name."""

    name: str


@dataclass(frozen=True)
class Compiled:
    """A rule made ready for matching."""

    pattern: Pattern
    replacement: Any
    count: int
    needs: tuple[tuple[int, str], ...]

    def may_match(self, nodes: Sequence[Node], node: Node) -> bool:
        """Whether the ops of the arguments are those of the pattern: what most rules fail at, so it is asked first."""
        for position, op in self.needs:
            if position >= len(node.args) or nodes[node.args[position]].op != op:
                return False
        return True

    def match(self, nodes: Sequence[Node], node: Node) -> tuple[list[int], dict[str, Any]] | None:
        """The values and parameters that make the pattern this node; None where it doesn't fit."""
        values: list[int | None] = [None] * self.count
        holes: dict[str, Any] = {}
        open_: list[tuple[Any, Node, int]] = [(self.pattern, node, -1)]
        while open_:
            part, candidate, index = open_.pop()
            if isinstance(part, _Variable):
                if values[part] not in (None, index):
                    return None
                values[part] = index
            elif isinstance(part, Pattern):
                if candidate.op != part.op or len(candidate.args) != len(part.parts):
                    return None
                if len(part.params) != len(candidate.params):  # the sinc of another order
                    return None
                for (_, wish), (_, value) in zip(part.params, candidate.params, strict=True):
                    if isinstance(wish, _Hole):
                        holes[wish.name] = value
                    elif wish != value:
                        return None
                open_.extend((p, nodes[a], a) for p, a in zip(part.parts, candidate.args, strict=True))
            elif not _is_number(candidate, part):
                return None
        return [v for v in values if v is not None], holes


def _is_number(node: Node, number: float) -> bool:
    if node.op != "const" or not isinstance(node.type, ArrayType) or node.type.shape:
        return False
    value = node.param("value").array().item()
    return not isinstance(value, complex) and value == number and copysign(1, value) == copysign(1, number)


class _Sketch(Builder):
    """A builder for patterns: it asks no row about types, since variables have none."""

    def op(self, name: str, *args: Expr | float, **params: Any) -> Expr:
        exprs = [a if isinstance(a, Expr) else self.const(a) for a in args]
        indices, ordered = tuple(e.index for e in exprs), tuple(sorted(params.items()))
        return self._append(Node(name, indices, ordered, ArrayType(FLOAT64)))


def compile_rule(rule: Rule) -> Compiled:
    """Trace the left side of a rule to the pattern that it is."""
    parameters = inspect.signature(rule.pattern).parameters.values()
    variables = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    holes = {p.name: _Hole(p.name) for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    sketch = _Sketch(rule.name)
    inputs = [sketch.input(name, ArrayType(FLOAT64)) for name in variables]
    root = rule.pattern(*inputs, **holes)
    parts: list[Any] = []
    for index, node in enumerate(sketch.nodes):
        if node.op == "input":
            parts.append(_Variable(index))
        elif node.op == "const":
            parts.append(node.param("value").array().item())
        else:
            parts.append(Pattern(node.op, tuple(parts[a] for a in node.args), node.params))
    pattern: Pattern = parts[root.index]
    needs = [
        (position, part.op if isinstance(part, Pattern) else "const")
        for position, part in enumerate(pattern.parts)
        if not isinstance(part, _Variable)
    ]
    return Compiled(pattern, rule.replacement, len(inputs), tuple(needs))


@lru_cache(2)
def _table(allow_inexact: bool) -> dict[str, list[Compiled]]:
    table: dict[str, list[Compiled]] = {}
    for rule in RULES:
        if rule.exact or allow_inexact:
            compiled = compile_rule(rule)
            table.setdefault(compiled.pattern.op, []).append(compiled)
    return table
