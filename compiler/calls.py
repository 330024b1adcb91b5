"""Steps that are no nest of their own: products of matrices, sorting, positions of a mask, mapped graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tracer.dims import atom
from ..tracer.types import BOOL, INT64, ArrayType
from .kernel import (
    Accumulate,
    Affine,
    Alloc,
    Bind,
    Buffer,
    Call,
    Cell,
    If,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Operand,
    Position,
    Result,
    Statement,
    Store,
)  # fmt: skip
from .steps import is_turned

if TYPE_CHECKING:
    from .plan import Planner


def write_call(planner: Planner, index: int) -> None:
    """Write the statements of a node that is computed by a call."""
    WRITERS[planner.graph.nodes[index].op](planner, index)


def _kernel(planner: Planner, index: int, *body: Statement) -> None:
    planner.emit(Kernel(planner.graph.nodes[index].op, body, (planner.graph.loc(index),)))


def _matmul(planner: Planner, index: int) -> None:
    graph = planner.graph
    node = graph.nodes[index]
    turned = tuple(is_turned(graph, arg) for arg in node.args)
    args = tuple(
        planner.buffer(graph.nodes[arg].args[0] if turn else arg) for arg, turn in zip(node.args, turned, strict=True)
    )
    planner.allocate(index)
    shapes = tuple(graph.type(arg).shape for arg in node.args)
    params = (("turned", turned), ("shapes", shapes), ("shape", graph.type(index).shape))
    _kernel(planner, index, Call("matmul", (planner.buffers[index],), args, params))


def _sort(planner: Planner, index: int) -> None:
    node, type_ = planner.graph.nodes[index], planner.graph.type(index)
    source = planner.buffer(node.args[0])
    planner.allocate(index)
    rows: Any = 1
    for size in type_.shape[:-1]:
        rows = rows * size
    params = (("rows", rows), ("length", type_.shape[-1]), ("rank", type_.rank))
    _kernel(planner, index, Call(node.op, (planner.buffers[index],), (source,), params))


def _nonzero(planner: Planner, index: int) -> None:
    """Count, make room, fill."""
    node = planner.graph.nodes[index]
    type_ = planner.graph.type(node.args[0])
    mask, count = planner.buffer(node.args[0]), node.param("count")
    names = [planner.loop_name(depth) for depth in range(type_.rank)]
    place = tuple(Affine(((name, 1),)) for name in names)

    def hit() -> tuple[str, list[Statement]]:
        value = planner.fresh("hit")
        body: list[Statement] = [Load(value, type_.dtype, mask, place)]
        if type_.dtype != BOOL:
            truth = planner.fresh("hit")
            body.append(Let(truth, BOOL, "cast", (value,)))
            value = truth
        return value, body

    def loops(body: list[Statement]) -> Statement:
        for name, size in zip(names[::-1], type_.shape[::-1], strict=True):
            body = [Loop(name, size, tuple(body))]
        return body[0]

    value, body = hit()
    cell, number, total = planner.fresh("hits"), planner.fresh("c"), planner.fresh("found")
    body += [Let(number, INT64, "cast", (value,)), Accumulate(cell, "sum", number)]
    _kernel(planner, index, Cell(cell, INT64, "sum"), loops(body), Result(total, INT64, cell, "sum"))
    planner.emit(Bind(count, total, planner.fresh("size")))
    outs = [Buffer(planner.unique(f"b{index}_{axis}"), INT64, (atom(count),)) for axis in range(type_.rank)]
    planner.results[index] = [b.name for b in outs]
    planner.emit(*(Alloc(b) for b in outs))
    value, body = hit()
    cell, following = planner.fresh("place"), planner.fresh("c")
    fill: list[Statement] = []
    for axis, buffer in enumerate(outs):
        position = planner.fresh("p")
        fill += [position_of(position, names[axis]), Store(buffer.name, (Affine(((cell, 1),)),), position)]
    one: Operand = Literal.of(1, INT64)
    fill += [Let(following, INT64, "add", (cell, one)), Accumulate(cell, "last", following)]
    body.append(If(value, tuple(fill)))
    _kernel(planner, index, Cell(cell, INT64, "last", Literal.of(0, INT64)), loops(body))


def position_of(name: str, loop: str) -> Statement:
    return Position(name, Affine(((loop, 1),)))


def _map(planner: Planner, index: int) -> None:
    from .plan import program_of

    node = planner.graph.nodes[index]
    program = program_of(node.param("body"), planner.reserved, planner.prefix(node.param("body").name))
    types = node.type if isinstance(node.type, tuple) else (node.type,)
    outs = []
    for number, type_ in enumerate(types):
        assert isinstance(type_, ArrayType)
        outs.append(
            Buffer(planner.unique(f"b{index}_{number}" if len(types) > 1 else f"b{index}"), type_.dtype, type_.shape)
        )
    if isinstance(node.type, tuple):
        planner.results[index] = [b.name for b in outs]
    else:
        planner.buffers[index] = outs[0].name
    args = [planner.buffer(arg) if planner.graph.type(arg).rank else planner.scalar(arg) for arg in node.args]
    planner.emit(*(Alloc(b) for b in outs))
    params = (
        ("program", program), ("mapped", node.param("mapped")), ("turns", types[0].shape[0]),
        ("shapes", tuple(t.shape[1:] for t in types)),
    )  # fmt: skip
    _kernel(planner, index, Call("map", tuple(b.name for b in outs), tuple(args), params))


WRITERS = {"matmul": _matmul, "sort": _sort, "argsort": _sort, "nonzero": _nonzero, "map": _map}
