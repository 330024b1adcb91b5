"""From a fused graph to a :class:`Program`: names, buffers, checks, and the order of everything."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..tracer.dims import Dim, names
from ..tracer.graph import Graph, Loc
from .calls import write_call
from .fuse import fuse
from .kernel import (
    EMPTY,
    Alloc,
    Bind,
    Buffer,
    Check,
    Input,
    Kernel,
    Literal,
    Operand,
    OutputValue,
    Program,
    Statement,
    View,
)  # fmt: skip
from .lower import lower
from .memory import Memory
from .nests import LOOPS, Emitter
from .reuse import reuse
from .rows import join_rows
from .steps import Fusion, Nest, Step


def program_of(graph: Graph, reserved: Iterable[str] = (), name: str = "") -> Program:
    """Lower, fuse and plan a graph.

    `reserved` are words that the back end uses, and that nothing may be called; `name` is that of a graph inside of
    another.
    """
    return Planner(fuse(lower(graph)), reserved, name).program()


class Planner:
    """Writes the program of a fused graph."""

    def __init__(self, fusion: Fusion, reserved: Iterable[str] = (), name: str = "") -> None:
        self.fusion, self.graph = fusion, fusion.graph
        self.reserved = frozenset(reserved)
        self.used = {*keyword.kwlist, *self.reserved}
        self.name = self.unique(name or _identifier(fusion.graph.name))
        self.inside = 0
        self.memory = Memory(fusion)
        self.stems = [self.unique(_identifier(name)) for name in self.graph.names]
        self.loop_names = [self.unique(c) for c in LOOPS]
        self.body: list[Statement] = []
        self.pending: list[Statement] = []  # what goes before the kernel under construction
        self.scalars: dict[int, Operand] = {}
        self.buffers: dict[int, str] = {}
        self.results: dict[int, list[str]] = {}  # the buffers of nodes with several results
        self.constants: list[tuple[str, Any]] = []

    # ------------------------------------------------------------------------------------------------- names
    def unique(self, name: str) -> str:
        """`name`, or the first of name2, name3 … that is free."""
        out, number = name, 2
        while out in self.used:
            out, number = f"{name}{number}", number + 1
        self.used.add(out)
        return out

    def fresh(self, stem: str) -> str:
        """A name that begins with `stem`; t5_ becomes t5, then t5b, t5c …"""
        base = stem.rstrip("_")
        if base not in self.used and stem.endswith("_"):
            self.used.add(base)
            return base
        for number in range(1, 1_000_000):
            name = f"{base}{_letters(number)}" if stem.endswith("_") else f"{base}{number}"
            if name not in self.used:
                self.used.add(name)
                return name
        raise AssertionError(stem)

    def loop_name(self, depth: int) -> str:
        return self.loop_names[depth] if depth < len(self.loop_names) else f"{self.loop_names[-1]}{depth}"

    def prefix(self, name: str) -> str:
        """The name of a program inside of this one."""
        self.inside += 1
        return f"{self.name}_{_identifier(name)}{self.inside}"

    def stem(self, node: int) -> str:
        return self.stems[node]

    # ----------------------------------------------------------------------------------------------- sources
    def literal(self, node: int) -> Literal | None:
        """The value of a constant that is one number all over."""
        item = self.graph.nodes[node]
        if item.op != "const":
            return None
        array = item.param("value").array()
        if not array.size:
            return None
        first = array.reshape(-1)[:1]
        same = array.tobytes() == np.full(array.shape, first[0], array.dtype).tobytes()
        return Literal.of(first[0], array.dtype) if same else None

    def scalar(self, node: int) -> Operand:
        """A 0-d value that an input gives, or that was computed before."""
        return self.stems[node] if self.graph.nodes[node].op == "input" else self.scalars[node]

    def buffer(self, node: int) -> str:
        """The name of the memory in which a node lies."""
        if node not in self.buffers:
            item = self.graph.nodes[node]
            if item.op == "input":
                self.buffers[node] = self.stems[node]
            elif item.op == "const":
                name = self.unique(f"{self.name}_c{node}")
                self.constants.append((name, item.param("value")))
                self.buffers[node] = name
            elif item.op == "pick":
                self.buffers[node] = self.results[item.args[0]][item.param("index")]
            elif self.fusion.kinds[node] == "alias":
                source = self.buffer(item.args[0])
                self.emit(View(self.new(node), source))
            else:
                raise AssertionError(f"%{node} = {item.op} was not stored")
        return self.buffers[node]

    def new(self, node: int) -> Buffer:
        """A buffer for a node, under a new name."""
        type_ = self.graph.type(node)
        self.buffers[node] = self.unique(f"b{node}")
        return Buffer(self.buffers[node], type_.dtype, type_.shape)

    def allocate(self, node: int, fill: Literal | None = None) -> None:
        """Make room for a node, once."""
        if node not in self.buffers:
            self.pending.append(Alloc(self.new(node), fill))

    def written_buffer(self, node: int) -> str:
        """The buffer of a node that is written part by part."""
        op = self.graph.nodes[node].op
        self.allocate(node, Literal.of(0, self.graph.type(node).dtype) if op == "scatter_add" else None)
        return self.buffers[node]

    # ---------------------------------------------------------------------------------------------- statements
    def emit(self, *statements: Statement) -> None:
        self.body += [*self.pending, *statements]
        self.pending = []

    def check_extreme(self, extent: int | Dim, loc: Loc) -> None:
        self.pending.append(Check(extent, ">", 0, EMPTY, loc))

    def program(self) -> Program:
        graph = self.graph
        atoms = self._sizes()
        for number, guard in enumerate(graph.guards):
            if isinstance(guard.subject, Dim) and not names(guard.subject) & self.fusion.binders.keys():
                self._guard(number)
        for number, step in enumerate(self.fusion.steps):
            self._step(number, step)
        tail = Emitter(self, ())
        tail.compute(self.fusion.evaluated[-1], self.fusion.loaded[-1])
        self.emit(*tail.statements())
        outputs = self._outputs()
        inputs = []
        for index, name in enumerate(self.stems):
            type_ = graph.type(index)
            inputs.append(Input(name, type_.dtype, type_.rank, type_.weak))
        self.emit()
        results = {o.value for o in outputs if isinstance(o.value, str)}
        body = reuse(join_rows(tuple(self.body), results), results)
        return Program(self.name, tuple(inputs), atoms, tuple(self.constants), body, outputs)

    def _sizes(self) -> tuple[tuple[str, str, int | None, str], ...]:
        out: list[tuple[str, str, int | None, str]] = []
        for index, name in enumerate(self.graph.names):
            type_ = self.graph.type(index)
            stem = self.stems[index]
            out += [(f"{name}.{axis}", stem, axis, self.unique(f"{stem}_{axis}")) for axis in range(type_.rank)]
            if not type_.rank and type_.dtype.kind in "iu":
                out.append((name, stem, None, stem))
        return tuple(out)

    def _guard(self, number: int) -> None:
        guard = self.graph.guards[number]
        if isinstance(guard.subject, int):
            self.emit(Check(self.scalars[guard.subject], "is", guard.outcome, number + 1, guard.loc))
        else:
            relation = guard.relation if guard.outcome else NEGATED[guard.relation]
            self.emit(Check(guard.subject, relation, 0, number + 1, guard.loc))

    def _step(self, number: int, step: Nest | Step) -> None:
        evaluated, loaded = self.fusion.evaluated[number], self.fusion.loaded[number]
        if isinstance(step, Nest):
            self._nest(number, step)
            return
        emitter = Emitter(self, ())
        # what a step reads as a whole is not a load
        emitter.compute(evaluated, [r for r in loaded if len(r.index) == self.graph.type(r.node).rank])
        self.emit(*emitter.statements())
        if step.kind == "guard":
            subject = self.graph.guards[step.node].subject
            if isinstance(subject, int) or names(subject) & self.fusion.binders.keys():
                self._guard(step.node)
        elif step.kind == "bind":
            node = self.graph.nodes[step.node]
            value = self.scalars[node.args[0]]
            self.scalars[step.node] = value
            self.emit(Bind(node.param("count"), value, self.fresh("size")))
        elif step.kind == "copy":
            self._copy(step.node)
        else:
            write_call(self, step.node)

    def _nest(self, number: int, nest: Nest) -> None:
        emitter = Emitter(self, nest.space)
        emitter.prepare(nest)
        emitter.compute(self.fusion.evaluated[number], self.fusion.loaded[number])
        for root in nest.roots:
            emitter.finish(root, self.fusion.demands[root])
        statements = emitter.statements()
        title = ", ".join(dict.fromkeys(self.graph.nodes[root.node].op for root in nest.roots))
        self.emit(Kernel(title, tuple(statements), tuple(emitter.locs)))

    def _copy(self, node: int) -> None:
        base = self.graph.nodes[node].args[0]
        source, fill = self.buffer(base), self.literal(base)
        if node in self.memory.in_place:
            self.buffers[node] = source
        else:
            self.emit(Alloc(self.new(node), fill, None if fill is not None else source))

    def _outputs(self) -> tuple[OutputValue, ...]:
        out: list[OutputValue] = []
        taken: set[int] = set()
        for index in self.graph.outputs:
            type_ = self.graph.type(index)
            if not type_.rank:
                out.append(OutputValue(self.scalars[index], type_.dtype, 0, type_.weak))
                continue
            name, owner = self.buffer(index), self.memory.owner(index)
            if owner in taken or self.graph.nodes[owner].op in ("input", "const"):
                known = self.literal(index)
                copy = Buffer(self.unique(f"b{index}_copy"), type_.dtype, type_.shape)
                self.emit(Alloc(copy, known, None if known is not None else name))
                name = copy.name
            taken.add(owner)
            out.append(OutputValue(name, type_.dtype, type_.rank))
        return tuple(out)


NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}


def _identifier(name: str) -> str:
    text = re.sub(r"\W+", "_", name).strip("_") or "x"
    if keyword.iskeyword(text):
        return f"{text}_"
    return f"x{text}" if text[0].isdigit() else text


def _letters(number: int) -> str:
    out = ""
    while number:
        number, rest = divmod(number, 26)
        out = "abcdefghijklmnopqrstuvwxyz"[rest] + out
    return out
