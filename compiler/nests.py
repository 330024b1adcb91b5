"""From a nest of fuse.py to statements: every value at the outermost loop that it can stand in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tracer.graph import Loc, Node
from ..tracer.ops import OPS
from ..tracer.types import BOOL, INT64, ArrayType
from .cost import compose
from .kernel import (
    POWER,
    Accumulate,
    Affine,
    Cell,
    Check,
    Index,
    Let,
    Literal,
    Load,
    Loop,
    Operand,
    Position,
    Result,
    Statement,
    Store,
    Update,
    Within,
    Wrap,
)  # fmt: skip
from .scalar import Scalars
from .steps import Nest, Root
from .views import ZERO, Cond, Data, Mask, Quotient, Read, identity, is_point, loops_in, reads, write_index

if TYPE_CHECKING:
    from .plan import Planner

LOOPS = "ijklmnpq"
IDENTITY: dict[str, Any] = {"sum": 0, "prod": 1, "any": False, "all": True}


def start_of(how: str, dtype: np.dtype[Any]) -> Literal:
    """What a reduction begins with."""
    if how in IDENTITY:
        return Literal.of(IDENTITY[how], dtype)
    largest = how in ("min", "argmin")
    if dtype.kind == "f":
        return Literal.of(np.inf if largest else -np.inf, dtype)
    if dtype.kind == "b":
        return Literal.of(largest, dtype)
    return Literal.of(np.iinfo(dtype).max if largest else np.iinfo(dtype).min, dtype)


FOLDED: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "neg": np.negative, "eq": np.equal, "ne": np.not_equal,
    "lt": np.less, "le": np.less_equal, "not_": np.logical_not, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip


def fold(name: str, dtype: np.dtype[Any], args: tuple[Any, ...]) -> Operand | None:
    """The result of a primitive where constants decide it."""
    if name == "select" and isinstance(args[0], Literal):
        return args[1] if args[0].value else args[2]
    if name == "cotangent" and isinstance(args[0], Literal) and args[0].value == 0:
        return args[0]
    if name == "mul" and dtype.kind == "f":
        for one, other in (args, args[::-1]):
            if isinstance(one, Literal) and one.value == 1:
                return other
    if not all(isinstance(a, Literal) for a in args) or (name not in FOLDED and name != "cast"):
        return None
    with np.errstate(all="ignore"):
        if name == "cast":
            return Literal.of(args[0].value, dtype)
        return (
            Literal.of(FOLDED[name](*(a.value for a in args)), dtype) if dtype.kind != "b" or name in BOOLEAN else None
        )


BOOLEAN = ("eq", "ne", "lt", "le", "not_", "maximum", "minimum")


class Emitter:
    """Writes the statements of one nest (or, without loops, of values between nests)."""

    def __init__(self, planner: Planner, space: tuple[Any, ...]) -> None:
        self.planner = planner
        self.graph = planner.graph
        self.space = space
        self.depth = len(space)
        self.loops = tuple(planner.loop_name(d) for d in range(self.depth))
        # statements before, after, and (sinks) at the end of the body of each level
        self.before: list[list[Statement]] = [[] for _ in range(self.depth + 1)]
        self.after: list[list[Statement]] = [[] for _ in range(self.depth + 1)]
        self.sinks: list[Statement] = []
        self.values: dict[Read, Operand] = {}
        self.positions: dict[Any, str] = {}
        self.conds: dict[tuple[Mask, int], str] = {}
        self.locs: dict[Loc, None] = {}
        self.scans: dict[int, Root] = {}
        self.waiting: dict[Read, bool] = {}
        self.made: dict[Any, str] = {}
        self.loc = planner.graph.loc(0) if planner.graph.nodes else Loc("", 0)

    # ------------------------------------------------------------------------------------------------ values
    def compute(self, evaluated: Iterable[Read], loaded: Iterable[Read]) -> None:
        """Write everything that a nest loads and evaluates, from the first node to the last."""
        self.waiting = dict.fromkeys(loaded, False) | dict.fromkeys(evaluated, True)
        for read in sorted(self.waiting, key=lambda r: r.node):
            self._compute(read)

    def _compute(self, read: Read) -> None:
        evaluated = self.waiting.pop(read, None)
        if evaluated is None:
            return
        before, self.loc = self.loc, self.graph.loc(read.node)
        if self.loc.line and evaluated:
            self.locs[self.loc] = None
        value = self._evaluated(read) if evaluated else self.load(read)
        self.loc = before
        if is_point(self.graph.type(read.node).shape):
            self.planner.scalars[read.node] = value
        else:
            self.values[read] = value

    def value(self, read: Read) -> Operand:
        """The operand of a value."""
        shape = self.graph.type(read.node).shape
        point = is_point(shape)
        if point:
            read = Read(read.node, (ZERO,) * len(shape), ())
        # the index of a gather may be a later node than what is gathered from
        self._compute(read)
        return self.planner.scalars[read.node] if point else self.values[read]

    def level(self, loops: Iterable[int]) -> list[Statement]:
        return self.before[max(loops, default=-1) + 1]

    def load(self, read: Read) -> Operand:
        node, type_ = self.graph.nodes[read.node], self.graph.type(read.node)
        known = self.planner.literal(read.node)
        if known is not None and not read.mask:
            return known
        if not type_.rank:
            return self.planner.scalar(read.node)
        name = self.planner.fresh(f"{self.planner.stem(read.node)}_" if node.op == "input" else f"t{read.node}_")
        loops = loops_in(read.index, read.mask)
        index, mask = self.index(read.index), self.mask(read.mask)
        self.level(loops).append(Load(name, type_.dtype, self.planner.buffer(read.node), index, mask))
        return name

    def index(self, index: Index) -> Index:
        """An index in the names of loops and scalars."""
        return tuple(self.affine(a) for a in index)

    def affine(self, a: Affine) -> Affine:
        if not a.terms:
            return a
        return Affine(tuple((self._name(name), factor) for name, factor in a.terms), a.offset)

    def _name(self, item: Any) -> str:
        if isinstance(item, int):
            return self.loops[item]
        if item in self.positions:
            return self.positions[item]
        name = self.planner.fresh("at")
        if isinstance(item, Quotient):
            self.level(loops_in((item.index,))).append(Position(name, self.affine(item.index), item.step))
        else:
            assert isinstance(item, Data)
            inner = Read(item.node, item.index, item.mask)
            loops = loops_in(item.index, item.mask)
            mask = self.mask(item.mask)
            value = self.cast(self.value(inner), self.graph.type(item.node).dtype, INT64, self.level(loops))
            self.level(loops).append(Wrap(name, value, item.extent, mask, self.loc))
        self.positions[item] = name
        return name

    def mask(self, mask: Mask) -> str | None:
        """The name of the truth of all conditions."""
        name: str | None = None
        for end in range(1, len(mask) + 1):
            loops = loops_in((), mask[:end])
            key = (mask[:end], max(loops, default=-1))
            if key not in self.conds:
                cond: Cond = mask[end - 1]
                self.conds[key] = self.planner.fresh("in")
                index = self.affine(cond.index)
                self.level(loops).append(Within(self.conds[key], index, cond.extent, cond.step, name))
            name = self.conds[key]
        return name

    def cast(self, value: Operand, source: np.dtype[Any], target: np.dtype[Any], where: list[Statement]) -> Operand:
        if source == target:
            return value
        if isinstance(value, Literal):
            with np.errstate(all="ignore"):
                return Literal.of(value.value, target)
        name = self.planner.fresh("c")
        where.append(Let(name, target, "cast", (value,), self.loc))
        return name

    def _evaluated(self, read: Read) -> Operand:
        node = self.graph.nodes[read.node]
        where = self.level(loops_in(read.index, read.mask))
        if node.op == "size":
            name = self.planner.fresh("n")
            where.append(Position(name, Affine((), node.param("size"))))
            return name
        if node.op == "iota":
            name = self.planner.fresh("p")
            where.append(Position(name, self.affine(read.index[0])))
            return self.cast(name, INT64, self.graph.type(read.node).dtype, where)
        if read.node in self.scans:
            return self._scanned(read, node)
        sources = reads(self.graph, read.node, read.index, read.mask)
        if OPS[node.op].elementwise:
            return self._elementwise(read, node, [self.value(s) for s in sources], where)
        if node.op == "concatenate":
            return self._chosen(read, sources, where)
        value = self.value(sources[0])
        if node.op != "unslice":
            return value
        mask = self.mask(sources[0].mask)
        return value if mask is None else self._let("select", read.node, (mask, value, self._zero(read.node)), where)

    def _zero(self, node: int) -> Literal:
        return Literal.of(0, self.graph.type(node).dtype)

    def _let(self, op: str, node: int, args: tuple[Operand, ...], where: list[Statement]) -> str:
        name = self.planner.fresh(f"t{node}_")
        where.append(Let(name, self.graph.type(node).dtype, op, args, self.loc))
        return name

    def _chosen(self, read: Read, sources: list[Read], where: list[Statement]) -> Operand:
        """A part of a concatenation: the last part that holds the index."""
        dtype = self.graph.type(read.node).dtype
        values = [self.cast(self.value(s), self.graph.type(s.node).dtype, dtype, where) for s in sources]
        chosen = values[-1]
        for source, value in zip(sources[-2::-1], values[-2::-1], strict=True):
            if value == chosen:
                continue
            mask = self.mask(source.mask)
            assert mask is not None
            chosen = self._let("select", read.node, (mask, value, chosen), where)
        return chosen

    def _elementwise(self, read: Read, node: Node, operands: list[Operand], where: list[Statement]) -> Operand:
        def emit(name: str, dtype: np.dtype[Any], args: tuple[Any, ...]) -> Operand:
            if name == "cotangent" and isinstance(args[0], Literal) and args[0].value != 0:
                name = "mul"
            folded = fold(name, dtype, args)
            if folded is not None:
                return folded
            key = (name, dtype, args, id(where))
            if key in self.made:
                return self.made[key]
            if name == "pow" and dtype.kind == "i" and not (isinstance(args[1], Literal) and args[1].value >= 0):
                where.append(Check(args[1], ">=", 0, POWER, self.loc))
            out = self.planner.fresh(f"t{read.node}_")
            where.append(Let(out, dtype, name, args, self.loc))
            self.made[key] = out
            return out

        types = tuple(self.graph.type(a) for a in node.args)
        return compose(node.op, types, node.params, Scalars(emit, Literal.of), list(operands))

    # ------------------------------------------------------------------------------------------------ roots
    def prepare(self, nest: Nest) -> None:
        self.scans = {r.node: r for r in nest.roots if r.kind == "scan"}

    def finish(self, root: Root, demanded: list[Read]) -> None:
        """Write what a root leaves behind."""
        self.loc = self.graph.loc(root.node)
        if self.loc.line:
            self.locs[self.loc] = None
        match root.kind:
            case "reduce":
                self._reduce(root.node, demanded[0])
            case "write":
                self._write(root, demanded)
            case _:
                target, value = root.node, self.value(demanded[0])
                if isinstance(value, Literal) and root.kind != "scan":
                    self.planner.allocate(target, fill=value)
                    return
                self.planner.allocate(target)
                index = self.index(identity(self.graph.type(target).shape))
                source, dtype = self.graph.type(demanded[0].node).dtype, self.graph.type(target).dtype
                self.sinks.append(
                    Store(self.planner.buffer(target), index, self.cast(value, source, dtype, self.before[-1]))
                )

    def _write(self, root: Root, demanded: list[Read]) -> None:
        node, type_ = self.graph.nodes[root.node], self.graph.type(root.node)
        buffer = self.planner.written_buffer(root.node)
        read = demanded[0]
        shape = self.graph.type(read.node).shape
        value = self.cast(self.value(read), self.graph.type(read.node).dtype, type_.dtype, self.before[-1])
        index = self.index(write_index(self.graph, root.node, root.part, shape))
        if node.op in ("scatter_add", "add_slice", "add_scatter"):
            how = "any" if type_.dtype.kind == "b" else "sum"
            self.sinks.append(Update(buffer, index, how, value))
        else:
            self.sinks.append(Store(buffer, index, value))

    def _scanned(self, read: Read, node: Node) -> Operand:
        """The running value of a scan at this place of its axis."""
        type_ = self.graph.type(read.node)
        assert isinstance(type_, ArrayType)
        axis = node.param("axis")
        (loop,) = loops_in((read.index[axis],))
        here = self.before[-1]
        sources = [Read(a, read.index, ()) for a in node.args]
        values = [self.cast(self.value(s), self.graph.type(s.node).dtype, type_.dtype, here) for s in sources]
        one = "mul" if node.op == "cumprod" else "add"
        if type_.dtype.kind == "b":
            one = "and_" if one == "mul" else "or_"
        inner = loop == self.depth - 1
        start = Literal.of({"mul": 1, "and_": True, "or_": False}.get(one, -0.0), type_.dtype)
        if inner:
            previous: Operand = self.planner.fresh(f"run{read.node}_")
            self.before[loop].append(Cell(str(previous), type_.dtype, "last", start))
        if not inner or node.op == "linrec":
            back = tuple(a.scaled(1, -1) if i == axis else a for i, a in enumerate(read.index))
            mask = self.mask((Cond(back[axis], type_.shape[axis]),))
        if not inner:
            self.planner.allocate(read.node)
            previous = self.planner.fresh(f"run{read.node}_")
            here.append(Load(previous, type_.dtype, self.planner.buffer(read.node), self.index(back), mask))
        if node.op == "linrec":
            grown = self._let("mul", read.node, (values[0], previous), here)
            grown = self._let("add", read.node, (grown, values[1]), here)
            result = self._let("select", read.node, (str(mask), grown, values[1]), here)
        else:
            result = self._let(one, read.node, (previous, values[0]), here)
            if not inner:
                result = self._let("select", read.node, (str(mask), result, values[0]), here)
        if inner:
            here.append(Accumulate(str(previous), "last", result))
        return result

    def _reduce(self, target: int, read: Read) -> None:
        node, type_ = self.graph.nodes[target], self.graph.type(target)
        source = self.graph.type(read.node)
        how = node.op
        axes = (node.param("axis"),) if how.startswith("arg") else node.param("axes")
        reduced = loops_in([read.index[a] for a in axes])
        dtype = BOOL if how in ("any", "all") else source.dtype if how.startswith("arg") else type_.dtype
        if how in ("max", "min", "argmax", "argmin"):
            extent: Any = 1
            for axis in axes:
                extent = extent * source.shape[axis]
            if not isinstance(extent, int) or extent == 0:
                self.planner.check_extreme(extent, self.loc)
        value = self.cast(self.value(read), source.dtype, dtype, self.before[-1])
        inner = self.depth
        while inner and inner - 1 in reduced:
            inner -= 1
        outer = any(loop < inner for loop in reduced)
        if inner < self.depth:
            cell = self.planner.fresh(f"{how}{target}_")
            self.before[inner].append(Cell(cell, dtype, how))
            position = self.affine(read.index[axes[0]]) if how.startswith("arg") else None
            self.sinks.append(Accumulate(cell, how, value, position))
            value = self.planner.fresh(f"t{target}_")
            self.after[inner].append(Result(str(value), type_.dtype, cell, how))
        if not type_.rank:
            self.planner.scalars[target] = value
            return
        kept = iter(i for a, i in enumerate(read.index) if a not in axes)
        index = self.index(tuple(kept))
        self.planner.allocate(target, fill=start_of(how, dtype) if outer else None)
        buffer = self.planner.buffer(target)
        out: Statement = Update(buffer, index, how, value) if outer else Store(buffer, index, value)
        (self.after[inner] if inner < self.depth else self.sinks).append(out)

    # ------------------------------------------------------------------------------------------------ assembly
    def statements(self) -> list[Statement]:
        """Nest the levels into loops; loops that leave nothing behind are dropped."""
        body: list[Statement] = [*self.before[-1], *self.sinks, *self.after[-1]]
        if not self.sinks and not any(self.after):
            return self.before[0]
        for level in range(self.depth - 1, -1, -1):
            loop = Loop(self.loops[level], self.space[level], tuple(body))
            body = [*self.before[level], loop, *self.after[level]]
        return body
