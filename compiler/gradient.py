"""Reverse mode: ``vjp(graph, wrt) -> Graph``, and the backward sweep that a tape shares with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from ..tracer.errors import GradError, layout
from ..tracer.graph import NOWHERE, Builder, Expr, Graph, Guard, Loc, Node, copy_into, verify
from ..tracer.op import ZERO, Undefined
from ..tracer.ops import OPS
from ..tracer.ops.words import chain, number
from ..tracer.plain import replace
from ..tracer.reach import connected, flows, inexact, subgraph
from ..tracer.types import SHORT, ArrayType

Cotangents = list["Expr | None"]


def backward(
    builder: Builder,
    nodes: Sequence[Node],
    exprs: Sequence[Expr],
    cotangents: Mapping[int, Expr],
    reached: Sequence[bool],
    locs: Sequence[Loc] = (),
) -> dict[int, Expr]:
    """Sweep backward over `nodes`; returns the cotangent of each node that one arrives at.

    `exprs` holds each node's value in `builder`; `reached` says to which nodes derivatives come from the sources
    (:func:`connected`). A cotangent always has its node's shape and dtype. Contributions are added in the order of
    the sweep, so equal graphs give equal bits.
    """
    found = dict(cotangents)
    several: dict[int, Cotangents] = {}  # cotangents of nodes with several results, one for each
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        if not reached[index] or not node.args:
            continue
        builder.loc = locs[index] if locs else NOWHERE
        ct = several.pop(index, None) if isinstance(node.type, tuple) else found.get(index)
        if ct is None:
            continue
        if node.op == "pick":
            (maker,) = node.args
            parts = several.setdefault(maker, [None] * len(cast(tuple[ArrayType, ...], nodes[maker].type)))
            which = node.param("index")
            parts[which] = ct if (other := parts[which]) is None else other + ct
            continue
        inputs = [exprs[arg] for arg in node.args]
        wanted = [reached[arg] for arg in node.args]
        for arg, contribution in zip(node.args, _contributions(node, ct, exprs[index], inputs, wanted), strict=True):
            if contribution is not None and reached[arg]:
                contribution = fit(contribution, exprs[arg].type)
                found[arg] = found[arg] + contribution if arg in found else contribution
    return found


def _contributions(node: Node, ct: Any, y: Expr, inputs: list[Expr], wanted: list[bool]) -> Iterable[Expr | None]:
    row = OPS[node.op]
    if row.partials is not None:
        return (weigh(node, p, ct, y, inputs) if wanted[p] else None for p in range(len(inputs)))
    if (inner := subgraph(node)) is not None:
        return _through_subgraph(node, inner, ct, inputs, wanted)
    refuse(row.vjp, node.op, y.builder.loc)
    assert callable(row.vjp), f"{node.op}: derivatives come here, and its row has no rule"
    return as_parts(row.vjp(tuple(ct) if isinstance(ct, list) else ct, y, *inputs, **dict(node.params)))


def as_parts(pulled: Any) -> Sequence[Expr | None]:
    """What a rule returned, as one cotangent per input."""
    return pulled if isinstance(pulled, tuple | list) else (pulled,)


def weigh(node: Node, position: int, ct: Expr, y: Expr, inputs: Sequence[Expr]) -> Expr | None:
    """A cotangent (or tangent) times the partial derivative of an elementwise node by the input at a position.

    None where the partial derivative is the constant 0.
    """
    row = OPS[node.op]
    assert row.partials is not None
    partial = row.partials[min(position, len(row.partials) - 1)]
    if partial is ZERO:
        return None
    refuse(partial, node.op, y.builder.loc)
    assert callable(partial)
    factor = partial(y, *inputs, **dict(node.params))
    factor = factor if isinstance(factor, Expr) else y.builder.const(factor)
    return None if number(factor) == 0 else chain(ct, factor, row.products[position] if row.products else "cotangent")


def refuse(rule: object, name: str, loc: Loc) -> None:
    """Raise where a rule says that there is no derivative."""
    if isinstance(rule, Undefined):
        what = f"{name} has no derivative: {rule.reason}"
        fix = "To treat it as a constant, use stop_gradient(...)."
        raise GradError(layout(what, str(loc) if loc.line else "", fix=fix), op=name, reason=rule.reason, loc=loc)


def fit(ct: Expr, type_: ArrayType) -> Expr:
    """Bring a contribution to its value's shape and dtype: undo broadcasting, then cast."""
    extra = ct.rank - type_.rank
    assert extra >= 0, f"a cotangent of rank {ct.rank} for a value of rank {type_.rank}"
    kept = tuple(
        axis
        for axis, size in enumerate(type_.shape)
        if type(size) is int and size == 1 and not (type(other := ct.shape[extra + axis]) is int and other == 1)
    )
    if extra or kept:
        ct = ct.op("sum", axes=(*range(extra), *(extra + axis for axis in kept)))
        ct = ct.op("expand_dims", axes=kept) if kept else ct
    return cast_to(ct, type_)


def cast_to(x: Expr, type_: ArrayType) -> Expr:
    """`x` in the dtype of a type, and no weaker: a weak float64 times a float32 would be rounded to float32."""
    same = x.dtype == type_.dtype and (type_.weak or not x.type.weak)
    return x if same else x.op("astype", dtype=SHORT[type_.dtype.name])


def results_of(expr: Expr) -> list[Expr]:
    """The results of a node, one or several."""
    builder, types = expr.builder, expr.builder.nodes[expr.index].type
    if isinstance(types, ArrayType):
        return [expr]
    return [builder.raw("pick", (expr.index,), (("index", i),), type_) for i, type_ in enumerate(types)]


def zeros(builder: Builder, type_: ArrayType) -> Expr:
    """Zeros of a type: the derivative of what doesn't depend on the input."""
    zero = builder.const(0.0, like=type_)
    return zero.op("broadcast_to", shape=type_.shape) if type_.shape else zero


def _through_subgraph(node: Node, inner: Graph, ct: Any, inputs: list[Expr], wanted: list[bool]) -> Cotangents:
    """Cotangents through `call` and `map`: the same op on the sub-graph's own gradient graph."""
    builder = inputs[0].builder
    cts: Cotangents = ct if isinstance(ct, list) else [ct]
    entering = frozenset().union(*(doors for doors, c in zip(flows(inner), cts, strict=True) if c is not None))
    wrt = tuple(p for p in range(len(inputs)) if wanted[p] and p in entering)
    outputs = tuple(k for k, c in enumerate(cts) if c is not None and inner.type(inner.outputs[k]).inexact)
    if not wrt or not outputs:
        return [None] * len(inputs)
    gradient = _memo(inner, wrt, outputs, inner.locs)
    operands = (*inputs, *(c for k in outputs if (c := cts[k]) is not None))
    if node.op == "call":
        made = builder.op("call", *operands, **{**dict(node.params), "graph": gradient})
        mapped: tuple[bool, ...] = ()
    else:
        mapped = node.param("mapped")
        made = builder.op("map", *operands, body=gradient, mapped=(*mapped, *(True for _ in outputs)))
    found: Cotangents = [None] * len(inputs)
    for position, result in zip(wrt, results_of(made), strict=True):
        # an input that every turn sees whole gets the contributions of all turns
        found[position] = result if not mapped or mapped[position] else result.op("sum", axes=(0,))
    return found


@lru_cache(256)
def _memo(graph: Graph, wrt: tuple[int, ...], outputs: tuple[int, ...], locs: tuple[Loc, ...]) -> Graph:
    """The gradients alone. `locs` is a key of its own: equal graphs may stem from different lines."""
    whole = vjp(graph, wrt, outputs=outputs)
    return replace(whole, outputs=whole.outputs[len(graph.outputs) :])


def vjp(graph: Graph, wrt: Sequence[int], *, outputs: Sequence[int] | None = None) -> Graph:
    """The graph of the values and of the gradients that cotangents of the outputs pull back.

    Inputs: those of `graph`, then one cotangent for each of `outputs` (positions; default: all of floating dtype),
    named ct0, ct1, ... Outputs: those of `graph`, then one gradient for each input in `wrt`, in its shape and dtype.
    Raises GradError where the way leads through an op without a derivative.
    """
    check_wrt(graph, wrt)
    if outputs is None:
        outputs = [k for k, out in enumerate(graph.outputs) if graph.type(out).inexact]
    ends = [graph.outputs[k] for k in outputs]
    builder, inputs = start(graph)
    taken = set(graph.names)
    seeds = [builder.input(fresh(f"ct{n}", taken), graph.type(end)) for n, end in enumerate(ends)]
    exprs = copy_into(builder, graph, inputs)
    return _finish(builder, graph, exprs, wrt, list(zip(ends, seeds, strict=True)))


def value_and_grad(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The graph of the values and of the gradients of the first output, which must be a floating-point scalar."""
    check_wrt(graph, wrt)
    out = graph.outputs[0]
    type_ = graph.type(out)
    if type_.rank or not type_.inexact:
        loc = graph.loc(out)
        raise GradError(
            layout(
                f"the gradient of {graph.name} does not exist",
                str(loc) if loc.line else "",
                "one scalar of a floating dtype as its result",
                str(type_).removeprefix("~"),
                "Reduce it first (np.sum, np.mean), or ask for vjp or jacobian.",
            ),
            type=type_,
            loc=loc,
        )
    builder, inputs = start(graph)
    exprs = copy_into(builder, graph, inputs)
    builder.loc = graph.loc(out)
    return _finish(builder, graph, exprs, wrt, [(out, builder.const(1.0, like=type_))])


def _finish(
    builder: Builder, graph: Graph, exprs: list[Expr], wrt: Sequence[int], seeds: list[tuple[int, Expr]]
) -> Graph:
    cotangents: dict[int, Expr] = {}
    for out, seed in seeds:
        cotangents[out] = cotangents[out] + seed if out in cotangents else seed
    found = backward(builder, graph.nodes, exprs, cotangents, connected(graph.nodes, wrt), graph.locs)
    builder.loc = NOWHERE
    gradients = [found[i] if i in found else zeros(builder, graph.type(i)) for i in wrt]
    guards = moved_guards(graph.guards, [e.index for e in exprs])
    return verify(builder.build([*(exprs[out] for out in graph.outputs), *gradients], guards))


def start(graph: Graph) -> tuple[Builder, list[Expr]]:
    """A builder with the inputs of a graph."""
    builder = Builder(graph.name)
    inputs = []
    for index, name in enumerate(graph.names):
        builder.loc = graph.loc(index)
        inputs.append(builder.input(name, graph.type(index)))
    return builder, inputs


def fresh(name: str, taken: set[str]) -> str:
    """A name that isn't taken yet; it is from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def moved_guards(guards: Iterable[Guard], indices: Sequence[int]) -> tuple[Guard, ...]:
    """Guards after their graph's nodes went to `indices`, with their place in program order."""
    ends = [0]  # ends[n]: how many new nodes the first n old ones take
    for index in indices:
        ends.append(max(ends[-1], index + 1))
    return tuple(
        replace(g, subject=indices[g.subject] if isinstance(g.subject, int) else g.subject, at=ends[g.at])
        for g in guards
    )


def check_wrt(graph: Graph, wrt: Sequence[int]) -> None:
    """Refuse to differentiate by an input that isn't a floating-point number."""
    for index in wrt:
        if not inexact(graph.type(index)):
            name = graph.names[index]
            raise GradError(
                layout(
                    f"{graph.name} has no derivative with respect to `{name}`",
                    expected="floating-point values",
                    got=str(graph.type(index)).removeprefix("~"),
                    fix=f"Pass `{name}` as floats, or differentiate with respect to other arguments.",
                ),
                argument=name,
                type=graph.type(index),
            )
