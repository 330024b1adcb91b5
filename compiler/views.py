"""Index maps: which element of its arguments a node reads, when it is evaluated at an index instead of stored.

An index is one :class:`Affine` per axis over the loops of a nest, which are numbered from the outermost, and over
integers found at run time (:class:`Data`, :class:`Quotient`). Reading may hang on conditions (:class:`Cond`): outside
of the slice that an ``unslice`` fills lies 0, and its source must not be touched there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..tracer.graph import Graph, Node
from ..tracer.ops import OPS
from ..tracer.plain import dataclass, replace
from .kernel import Affine, Size

ZERO = Affine()


@dataclass(frozen=True, slots=True)
class Cond:
    """``0 <= index < extent * step``, and `step` divides it."""

    index: Affine
    extent: Size
    step: int = 1


Mask = tuple[Cond, ...]
Index = tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Data:
    """The integer that a node has at an index, as a position on an axis of `extent`: wrapped and checked."""

    node: int
    index: Index
    mask: Mask
    extent: Size


@dataclass(frozen=True, slots=True)
class Quotient:
    """``index // step``, where `index` is a multiple of `step`."""

    index: Affine
    step: int


@dataclass(frozen=True, slots=True)
class Read:
    """A node evaluated at an index, under a mask."""

    node: int
    index: Index
    mask: Mask


def is_one(size: Size) -> bool:
    return type(size) is int and size == 1


def space_of(shape: Sequence[Size]) -> tuple[Size, ...]:
    """The iteration space of a shape: its axes but for those of length 1."""
    return tuple(size for size in shape if not is_one(size))


def is_point(shape: Sequence[Size]) -> bool:
    """Whether there is exactly one element, whatever the sizes: then it lives in a scalar."""
    return all(is_one(size) for size in shape)


def identity(shape: Sequence[Size]) -> Index:
    """The index of an array of `shape` in loops over its own space."""
    index, loop = [], 0
    for size in shape:
        if is_one(size):
            index.append(ZERO)
        else:
            index.append(Affine(((loop, 1),)))
            loop += 1
    return tuple(index)


def loops_in(index: Iterable[Affine], mask: Mask = ()) -> set[int]:
    """The loops that an index and its mask depend on."""
    found: set[int] = set()
    todo: list[Any] = [*index, *(c.index for c in mask)]
    while todo:
        item = todo.pop()
        if isinstance(item, Affine):
            todo += [name for name, _ in item.terms]
        elif isinstance(item, int):
            found.add(item)
        elif isinstance(item, Data):
            todo += [*item.index, *(c.index for c in item.mask)]
        else:
            todo.append(item.index)
    return found


def stretched(shape: Sequence[Size], wanted: Sequence[Size], index: Index) -> Index:
    """The index in an array of `shape` that was broadcast to `wanted`."""
    extra = len(wanted) - len(shape)
    if not extra and tuple(shape) == tuple(wanted):
        return index
    return tuple(ZERO if is_one(s) else index[extra + a] for a, s in enumerate(shape))


def split_axes(shape: Sequence[Size], wanted: Sequence[Size]) -> list[list[int]] | None:
    """For each axis of `shape`, the axes of `wanted` that it was split into; None when a reshape does more."""
    groups: list[list[int]] = []
    axis = 0
    for size in shape:
        group: list[int] = []
        total: Size = 1
        while axis < len(wanted) and (total != size or (is_one(wanted[axis]) and not is_one(size))):
            group.append(axis)
            total = total * wanted[axis]
            axis += 1
        if total != size:
            return None
        groups.append(group)
    if any(not is_one(size) for size in wanted[axis:]):
        return None
    return groups


def reshaped(shape: Sequence[Size], wanted: Sequence[Size], index: Index) -> Index | None:
    """The index in an array of `shape` that was reshaped to `wanted`, where each axis was only split."""
    groups = split_axes(shape, wanted)
    if groups is None:
        return None
    out = []
    for group in groups:
        total = ZERO
        for axis in group:
            if not is_one(wanted[axis]):
                total = total.scaled(wanted[axis], 0).plus(index[axis])
        out.append(total)
    return tuple(out)


def placed(node: Node, shape: Sequence[Size], index: Index, mask: Mask) -> tuple[Index, Mask]:
    """Where an element of ``unslice(x)`` lies in x, which has `shape`, and on which conditions."""
    inner, conds = [], list(mask)
    slices = zip(index, node.param("start"), node.param("step"), shape, node.param("shape"), strict=True)
    for position, first, stride, size, whole in slices:
        sign = 1 if stride > 0 else -1
        offset = position.scaled(sign, first * -sign)
        if not (abs(stride) == 1 and size == whole):  # an axis that is filled from end to end has no outside
            conds.append(Cond(offset, size, abs(stride)))
        if is_one(size):
            inner.append(ZERO)
        elif abs(stride) == 1:
            inner.append(offset)
        else:
            inner.append(Affine(((Quotient(offset, abs(stride)), 1),)))
    return tuple(inner), tuple(conds)


def inlinable(graph: Graph, node: Node) -> bool:
    """Whether a node can be evaluated at any index, without being stored."""
    row = OPS.get(node.op)
    if (row is not None and row.elementwise) or node.op in ("size", "iota"):
        return True
    if node.op == "reshape":
        shape = graph.type(node.args[0]).shape
        return split_axes(shape, node.param("shape")) is not None
    return node.op in INLINE


INLINE = (
    "transpose", "expand_dims", "squeeze", "broadcast_to", "slice", "unslice", "concatenate", "copy", "gather",
)  # fmt: skip


def reads(graph: Graph, number: int, index: Index, mask: Mask) -> list[Read]:
    """What evaluating a node at an index reads, one entry per argument."""
    node = graph.nodes[number]
    shapes = [graph.type(arg).shape for arg in node.args]
    whole = graph.type(number).shape
    match node.op:
        case "transpose":
            perm = node.param("perm")
            source = tuple(index[perm.index(axis)] for axis in range(len(perm)))
        case "expand_dims":
            source = tuple(i for axis, i in enumerate(index) if axis not in node.param("axes"))
        case "squeeze":
            left = iter(index)
            source = tuple(ZERO if axis in node.param("axes") else next(left) for axis in range(len(shapes[0])))
        case "reshape":
            found = reshaped(shapes[0], whole, index)
            assert found is not None
            source = found
        case "slice":
            source = tuple(
                i.scaled(step, start)
                for i, start, step in zip(index, node.param("start"), node.param("step"), strict=True)
            )
        case "unslice":
            source, mask = placed(node, shapes[0], index, mask)
        case "concatenate":
            return _reads_of_parts(node, shapes, index, mask)
        case "gather":
            return _reads_of_gather(node, shapes, index, mask)
        case _:
            pairs = zip(node.args, shapes, strict=True)
            return [Read(arg, stretched(shape, whole, index), mask) for arg, shape in pairs]
    return [Read(node.args[0], source, mask)]


def _reads_of_parts(node: Node, shapes: list[Any], index: Index, mask: Mask) -> list[Read]:
    axis, out = node.param("axis"), []
    offset: Size = 0
    for arg, shape in zip(node.args, shapes, strict=True):
        position = index[axis].scaled(1, offset * -1)
        inner = (*index[:axis], ZERO if is_one(shape[axis]) else position, *index[axis + 1 :])
        out.append(Read(arg, inner, (*mask, Cond(position, shape[axis]))))
        offset = offset + shape[axis]
    return out


def data_index(node: Node, shapes: list[Any], index: Index, mask: Mask) -> Index:
    """The index in the array that ``gather(x, *indices)`` reads at an index of its result."""
    axes, at = node.param("axes"), node.param("at")
    depth = len(shapes[1])
    picks = index[at : at + depth]
    rest = iter((*index[:at], *index[at + depth :]))
    by_axis = {
        axis: Affine(((Data(arg, picks, mask, shapes[0][axis]), 1),))
        for axis, arg in zip(axes, node.args[1:], strict=True)
    }
    return tuple(by_axis[axis] if axis in by_axis else next(rest) for axis in range(len(shapes[0])))


def _reads_of_gather(node: Node, shapes: list[Any], index: Index, mask: Mask) -> list[Read]:
    at, depth = node.param("at"), len(shapes[1])
    picks = index[at : at + depth]
    source = data_index(node, shapes, index, mask)
    return [Read(node.args[0], source, mask), *(Read(arg, picks, mask) for arg in node.args[1:])]


def write_index(graph: Graph, number: int, part: int, shape: Sequence[Size]) -> Index:
    """Where a part of a write, which has `shape`, lands in the whole, over loops over that shape."""
    node, here = graph.nodes[number], identity(shape)
    match node.op:
        case "concatenate":
            offset: Size = 0
            for arg in node.args[:part]:
                offset = offset + graph.type(arg).shape[node.param("axis")]
            return tuple(a.scaled(1, offset) if i == node.param("axis") else a for i, a in enumerate(here))
        case "set_slice" | "add_slice":
            slices = zip(here, node.param("start"), node.param("step"), strict=True)
            return tuple(a.scaled(step, start) for a, start, step in slices)
        case _:
            indices = node.args[-len(node.param("axes")) :]
            shapes = [graph.type(number).shape, *(graph.type(i).shape for i in indices)]
            return data_index(replace(node, args=(0, *indices)), shapes, here, ())
