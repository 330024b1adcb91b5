"""From a tape's records to graphs: the slice between sources and targets, and its backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..compiler.gradient import backward, cast_to, zeros
from ..tracer.context import loc_of
from ..tracer.graph import Builder, Expr, Graph, Node
from ..tracer.reach import connected
from ..tracer.tape import Record, Tape
from ..tracer.types import ArrayType
from ..tracer.values import Value, facts


@dataclass
class Slice:
    """The part of a tape between sources and targets as a graph under construction."""

    builder: Builder
    inputs: list[Value]
    exprs: list[Expr]
    nodes: list[Node]
    values: dict[int, Value]  # what was computed for a node of the builder
    position: dict[Value, int]  # where a value stands in `exprs`


def cut_out(
    tape: Tape, targets: list[Value], groups: list[list[Value]]
) -> tuple[Slice, dict[int, int], list[list[int]]]:
    """The records between sources and targets, where each target that was reached stands, and each source."""
    sources = {v for group in groups for v in group if v in tape._known}
    reached = set(sources)
    forward: list[Record] = []
    for record in tape._records:
        if any([v in reached for v in record[1]]):
            forward.append(record)
            reached.update([o for o in record[3] if o in tape._known])
    needed = {t for t in targets if t in reached}
    kept: list[Record] = []
    for record in reversed(forward):
        if any([o in needed for o in record[3]]):
            kept.append(record)
            needed.update(record[1])
    kept.reverse()
    part = build_slice("tape", kept, [*sources, *[t for t in targets if t in reached]])
    ends = {k: part.position[t] for k, t in enumerate(targets) if t in part.position and t in reached}
    starts = [[part.position[v] for v in group if v in part.position and v in sources] for group in groups]
    live = connected(part.nodes, [s for group in starts for s in group])
    ends = {k: e for k, e in ends.items() if live[e]}
    for k, group in enumerate(starts):
        own = connected(part.nodes, group)
        if not any(own[e] for e in ends.values()):
            starts[k] = []
    return part, ends, starts


def type_now(value: Value) -> ArrayType:
    where = facts()
    type_ = value.type
    return ArrayType(type_.dtype, tuple([where.canonical(s) for s in type_.shape]), type_.weak)


def build_slice(name: str, records: Sequence[Record], roots: Sequence[Value]) -> Slice:
    made = {out for record in records for out in record[3]}
    inputs: dict[Value, int] = {}
    for value in [v for record in records for v in record[1]] + list(roots):
        if value not in made and value not in inputs and not _literal(value):
            inputs[value] = len(inputs)
    builder = Builder(name)
    part = Slice(builder, list(inputs), [], [], {}, {})

    def add(expr: Expr, value: Value | None) -> None:
        node = builder.nodes[expr.index]
        local.setdefault(expr.index, len(part.nodes))
        if value is not None:
            part.position.setdefault(value, len(part.nodes))
            part.values.setdefault(expr.index, value)
        part.exprs.append(expr)
        part.nodes.append(Node(node.op, tuple([local[a] for a in node.args]), node.params, node.type))

    local: dict[int, int] = {}  # node of the builder -> where it stands in the slice
    for value, position in inputs.items():
        add(builder.input(f"x{position}", type_now(value)), value)
    for row, values, given, outs, where in records:
        args = []
        for value in values:
            if value not in part.position:
                add(builder.const(value.array), value)
            args.append(part.exprs[part.position[value]])
        builder.loc = loc_of(where)
        types = tuple([type_now(o) for o in outs])
        several = len(types) > 1 or row.name == "nonzero"
        indices = tuple([a.index for a in args])
        params = tuple(sorted(given.items()))
        node = builder.raw(row.name, indices, params, types if several else types[0])
        if not several:
            add(node, outs[0])
            continue
        add(node, None)
        for index, out in enumerate(outs):
            add(builder.raw("pick", (node.index,), (("index", index),), types[index]), out)
    return part


def _literal(value: Value) -> bool:
    """A Python number of the user's code, not a runtime scalar of a recording."""
    return value.weak and value.trace is None


def backward_graph(
    part: Slice, ends: list[int], starts: list[list[int]], seeds: list[Value | None]
) -> tuple[list[int], Graph]:
    """The graph of the gradients, and which source groups it has one for.

    Inputs: those of the slice, then a weight for each target whose seed is given.
    """
    builder = Builder(part.builder.name)
    exprs = [builder.input(name, part.nodes[i].type) for i, name in enumerate(part.builder.names)]  # type: ignore[arg-type]
    given = [None if s is None else builder.input(f"ct{k}", type_now(s)) for k, s in enumerate(seeds)]
    for index in range(len(part.inputs), len(part.nodes)):
        node = part.nodes[index]
        builder.loc = part.builder.locs[part.exprs[index].index]
        exprs.append(builder.raw(node.op, tuple([exprs[a].index for a in node.args]), node.params, node.type))
    cotangents: dict[int, Expr] = {}
    for end, weight in zip(ends, given, strict=True):
        type_ = exprs[end].type
        seed = weight if weight is not None else _ones(builder, type_)
        cotangents[end] = cotangents[end] + seed if end in cotangents else seed
    live = connected(part.nodes, [s for group in starts for s in group])
    found = backward(builder, part.nodes, exprs, cotangents, live, [builder.locs[e.index] for e in exprs])
    present, outs = [], []
    for k, group in enumerate(starts):
        parts = [found[s] for s in group if s in found]
        if not group:
            continue
        total = parts[0] if parts else zeros(builder, exprs[group[0]].type)
        for other in parts[1:]:
            total = total + other
        present.append(k)
        outs.append(cast_to(total, exprs[group[0]].type))
    return present, builder.build(outs)


def _ones(builder: Builder, type_: ArrayType) -> Expr:
    one = builder.const(1.0, like=type_)
    return one if not type_.rank else builder.op("broadcast_to", one, shape=type_.shape)


def shifted(index: int, inputs: int, more: int) -> int:
    return index if index < inputs else index + more
