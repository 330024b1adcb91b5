"""Forward mode: ``jvp(graph, wrt) -> Graph``, from the same rules as reverse mode.

Element by element, a tangent meets the same partials as a cotangent. An op that is linear in some inputs is applied to
their tangents. For every other op forward mode is reverse mode turned round: the op's vjp is linear in its cotangent,
so differentiating *that* once more in reverse gives the map that takes tangents to tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..tracer.graph import NOWHERE, Builder, Expr, Graph, Loc, Node, copy_into, live_nodes, verify
from ..tracer.ops import OPS
from ..tracer.plain import replace
from ..tracer.reach import connected, flows, subgraph
from ..tracer.types import FLOAT64, ArrayType
from .gradient import (
    as_parts,
    backward,
    cast_to,
    check_wrt,
    fit,
    fresh,
    moved_guards,
    refuse,
    results_of,
    start,
    weigh,
    zeros,
)

Tangents = list["Expr | None"]


def jvp(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The graph of the values and of the tangents that tangents of the inputs push forward.

    Inputs: those of `graph`, then one tangent for each input in `wrt`, named ``t_<name>``. Outputs: those of `graph`,
    then one tangent for each of them; an output of integers or truth values has zeros (float64).
    """
    check_wrt(graph, wrt)
    builder, inputs = start(graph)
    taken = set(graph.names)
    tangents: dict[int, Expr] = {}
    for index in wrt:
        builder.loc = graph.loc(index)
        tangent = builder.input(fresh(f"t_{graph.names[index]}", taken), graph.type(index))
        tangents[index] = tangents[index] + tangent if index in tangents else tangent
    exprs = copy_into(builder, graph, inputs)
    push(builder, graph, exprs, tangents)
    builder.loc = NOWHERE
    found = []
    for out in graph.outputs:
        type_ = graph.type(out)
        still = zeros(builder, type_ if type_.inexact else type_.with_dtype(FLOAT64))
        found.append(tangents.get(out, still))
    guards = moved_guards(graph.guards, [e.index for e in exprs])
    return verify(builder.build([*(exprs[out] for out in graph.outputs), *found], guards))


def push(builder: Builder, graph: Graph, exprs: Sequence[Expr], tangents: dict[int, Expr]) -> None:
    """Fill in the tangent of every node that one reaches, from those given for some nodes.

    A tangent has its node's shape and dtype; a node without an entry stands still.
    """
    several: dict[int, Tangents] = {}
    reached = connected(graph.nodes, list(tangents))
    for index, node in enumerate(graph.nodes):
        if not reached[index] or not node.args or index in tangents:
            continue
        builder.loc = graph.loc(index)
        if node.op == "pick":
            tangent = several[node.args[0]][node.param("index")]
            if tangent is not None:
                tangents[index] = tangent
            continue
        inputs = [exprs[arg] for arg in node.args]
        incoming = [tangents.get(arg) for arg in node.args]
        if OPS[node.op].elementwise:
            results: Tangents = [_elementwise(node, exprs[index], inputs, incoming)]
        elif (inner := subgraph(node)) is not None:
            results = _through_subgraph(node, inner, inputs, incoming)
        else:
            results = _structural(node, exprs[index], inputs, incoming)
        if isinstance(node.type, tuple):
            several[index] = results
        elif results[0] is not None:
            tangents[index] = results[0]


def _elementwise(node: Node, y: Expr, inputs: list[Expr], tangents: Tangents) -> Expr | None:
    total: Expr | None = None
    for position, tangent in enumerate(tangents):
        part = None if tangent is None else weigh(node, position, tangent, y, inputs)
        if part is not None:
            total = part if total is None else total + part
    if total is None:
        return None
    total = total if total.shape == y.shape else total.op("broadcast_to", shape=y.shape)
    return cast_to(total, y.type)


def _structural(node: Node, y: Expr, inputs: list[Expr], tangents: Tangents) -> Tangents:
    row = OPS[node.op]
    moving = [p for p, t in enumerate(tangents) if t is not None and row.carries(p)]
    if not moving:
        return [None] * (len(node.type) if isinstance(node.type, tuple) else 1)
    if isinstance(node.type, ArrayType) and all(p in row.linear for p in moving):
        total: Expr | None = None
        for position, tangent in enumerate(tangents):
            if tangent is not None and position in moving:
                operands = (*inputs[:position], tangent, *inputs[position + 1 :])
                part = y.builder.op(node.op, *operands, **dict(node.params))
                total = part if total is None else total + part
        return [total]
    return _transposed(node, y, inputs, tangents)


def _transposed(node: Node, y: Expr, inputs: list[Expr], tangents: Tangents) -> Tangents:
    """The tangents of a node's results, by transposing its vjp.

    The vjp is written on a builder of its own, for a cotangent that never gets a value: nothing that is linear in it
    still holds it after it has been differentiated.
    """
    row = OPS[node.op]
    refuse(row.vjp, node.op, y.builder.loc)
    assert callable(row.vjp), f"{node.op}: derivatives come here, and its row has no rule"
    scratch = Builder(node.op)
    scratch.loc = y.builder.loc
    outer: list[Expr | None] = []

    def stand_in(expr: Expr) -> Expr:
        outer.append(expr)
        return scratch.input(f"v{len(outer)}", expr.builder.nodes[expr.index].type)  # type: ignore[arg-type]

    def unknown(type_: ArrayType) -> Expr:
        outer.append(None)
        return scratch.input(f"v{len(outer)}", type_)

    types = node.type if isinstance(node.type, tuple) else (node.type,)
    cts = [unknown(type_) for type_ in types]
    pushed = [None if t is None else stand_in(t) for t in tangents]
    copies = [stand_in(e) for e in inputs]
    whole = tuple(cts) if isinstance(node.type, tuple) else cts[0]
    pulled = row.vjp(whole, stand_in(y), *copies, **dict(node.params))
    weights: dict[int, Expr] = {}
    for contribution, x, tangent in zip(as_parts(pulled), copies, pushed, strict=True):
        if contribution is not None and tangent is not None:
            at = fit(contribution, x.type).index
            weights[at] = weights[at] + tangent if at in weights else tangent
    nodes = tuple(scratch.nodes)
    exprs = [Expr(scratch, i) for i in range(len(nodes))]
    reached = connected(nodes, [ct.index for ct in cts])
    found = backward(scratch, nodes, exprs, weights, reached, scratch.locs[: len(nodes)])
    return [_carry_out(y.builder, scratch, outer, found.get(ct.index)) for ct in cts]


def _carry_out(builder: Builder, scratch: Builder, outer: list[Expr | None], result: Expr | None) -> Expr | None:
    if result is None:
        return None
    graph = scratch.build([result])
    moved: list[Expr | None] = [*outer]
    live = live_nodes(graph)
    for index in range(len(outer), len(graph.nodes)):
        moved.append(None)
        if live[index]:
            args = [arg.index for a in graph.nodes[index].args if (arg := moved[a]) is not None]
            assert len(args) == len(graph.nodes[index].args), f"{graph.name}: its vjp isn't linear in the cotangent"
            moved[index] = builder.copy(graph, index, args)
    return moved[result.index]


def _through_subgraph(node: Node, inner: Graph, inputs: list[Expr], tangents: Tangents) -> Tangents:
    """Tangents through `call` and `map`: the same op on the sub-graph's own graph of tangents."""
    entering = flows(inner)
    moving = [p for p, t in enumerate(tangents) if t is not None and any(p in doors for doors in entering)]
    outputs = tuple(k for k, doors in enumerate(entering) if not doors.isdisjoint(moving))
    results: Tangents = [None] * len(entering)
    if not outputs:
        return results
    pushed = _memo(inner, tuple(moving), outputs, inner.locs)
    operands = (*inputs, *(t for p in moving if (t := tangents[p]) is not None))
    if node.op == "call":
        made = inputs[0].builder.op("call", *operands, **{**dict(node.params), "graph": pushed})
    else:
        mapped = node.param("mapped")
        made = inputs[0].builder.op("map", *operands, body=pushed, mapped=(*mapped, *(mapped[p] for p in moving)))
    for k, result in zip(outputs, results_of(made), strict=True):
        results[k] = result
    return results


@lru_cache(256)
def _memo(graph: Graph, wrt: tuple[int, ...], outputs: tuple[int, ...], locs: tuple[Loc, ...]) -> Graph:
    """The tangents of some outputs alone. `locs` is a key of its own: equal graphs may stem from different lines."""
    whole = jvp(graph, wrt)
    return replace(whole, outputs=tuple(whole.outputs[len(graph.outputs) + k] for k in outputs))
