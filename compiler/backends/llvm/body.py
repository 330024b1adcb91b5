"""Loops and what they come to as LLVM IR: cells, and sums in blocks that two-sum joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....tracer.plain import dataclass
from ...kernel import (
    Accumulate,
    Cell,
    Let,
    Load,
    Loop,
    Position,
    Result,
    Statement,
    Store,
    Update,
    Within,
)  # fmt: skip
from ...nests import start_of
from ...rows import defines, scalars_read
from .code import constant, type_of
from .scalars import STEPS
from .tiles import segments, write_tiles
from .writer import INTEGER, Names, Writer

Around = tuple[Callable[[str], None], Callable[[str], None]]
VECTORS = ("sum", "prod", "max", "min", "any", "all")  # cells whose loops LLVM turns into vectors
MANY = 15  # values in flight, from which the wider form loses more by spilling than it gains
BLOCK = 512  # terms that are added up plainly, before two-sum joins the blocks


def in_flight(body: tuple[Statement, ...]) -> int:
    """The most values that wait at one place of a straight body for what reads them."""
    last = {name: number for number, item in enumerate(body) for name in scalars_read(item)}
    waiting: set[str] = set()
    most = 0
    for number, item in enumerate(body):
        waiting = {name for name in waiting if last[name] > number}
        waiting.update(name for name in defines(item) if last.get(name, -1) > number)
        most = max(most, len(waiting))
    return most


def _is_call(s: Let) -> bool:
    """Whether a primitive calls a function that has no vector form: C's fmod for floats, a loop for integer powers."""
    return s.op in ("fmod", "remainder", "floordiv") if s.dtype.kind == "f" else s.op == "pow"


@dataclass
class Running:
    """A cell: the slots of its value, of what two-sum left over or the position, and of the block under way."""

    dtype: Any
    how: str
    value: str
    rest: str = ""
    part: str = ""


class Body(Writer):
    """Writes loops too."""

    def __init__(self, names: Names) -> None:
        super().__init__(names)
        self.cells: dict[str, Running] = {}

    def value(self, name: str) -> str:
        if name in self.cells and name not in self.values:
            cell = self.cells[name]
            return self.code.emit(f"load {type_of(cell.dtype)}, ptr {cell.value}")
        return super().value(name)

    def statement(self, item: Statement) -> None:
        match item:
            case Cell():
                self._cell(item)
            case Accumulate():
                self._accumulate(item)
            case Result():
                self._result(item)
            case Loop():
                self._loop(item)
            case _:
                super().statement(item)

    def _cell(self, item: Cell) -> None:
        start = item.start if item.how == "last" else start_of(item.how, item.dtype)
        assert start is not None
        self.names.dtypes[item.name] = item.dtype
        kind = type_of(item.dtype)
        cell = Running(item.dtype, item.how, self.code.variable(kind, constant(start)))
        if item.how == "sum" and item.dtype.kind == "f":
            cell.rest = self.code.variable(kind, "0.0")
        elif item.how.startswith("arg"):
            cell.rest = self.code.variable("i64", "0")
        self.cells[item.name] = cell

    def _accumulate(self, item: Accumulate) -> None:
        cell = self.cells[item.cell]
        value, kind, code = self.operand(item.value), type_of(cell.dtype), self.code
        if item.how == "last":
            code.do(f"store {kind} {value}, ptr {cell.value}")
        elif item.how.startswith("arg"):
            self._accumulate_position(item, cell, value)
        elif cell.part:
            before = code.emit(f"load {kind}, ptr {cell.part}")
            after = code.emit(f"fadd reassoc {kind} {before}, {value}")
            code.do(f"store {kind} {after}, ptr {cell.part}")
        elif cell.rest:
            self._two_sum(cell, value)
        else:
            before = code.emit(f"load {kind}, ptr {cell.value}")
            if cell.dtype.kind == "f" and item.how in ("max", "min"):
                # as an intrinsic the loop vectorises; nan wins in it too
                name = "maximum" if item.how == "max" else "minimum"
                after = self.scalars.intrinsic(name, cell.dtype, [before, value])
            else:
                after = self.scalars.primitive(STEPS[item.how], cell.dtype, cell.dtype, [before, value])
            code.do(f"store {kind} {after}, ptr {cell.value}")

    def _two_sum(self, cell: Running, b: str) -> None:
        """``value + b``, and the rest with what that sum rounds off (Knuth, TAOCP 2, 4.2.2)."""
        code, kind = self.code, type_of(cell.dtype)
        a = code.emit(f"load {kind}, ptr {cell.value}")
        new = code.emit(f"fadd {kind} {a}, {b}")
        back = code.emit(f"fsub {kind} {new}, {a}")
        kept = code.emit(f"fsub {kind} {a}, {code.emit(f'fsub {kind} {new}, {back}')}")
        error = code.emit(f"fadd {kind} {kept}, {code.emit(f'fsub {kind} {b}, {back}')}")
        rest = code.emit(f"load {kind}, ptr {cell.rest}")
        code.do(f"store {kind} {new}, ptr {cell.value}")
        code.do(f"store {kind} {code.emit(f'fadd {kind} {rest}, {error}')}, ptr {cell.rest}")

    def _accumulate_position(self, item: Accumulate, cell: Running, value: str) -> None:
        """The first largest or smallest value; nan, the only value that differs from itself, wins."""
        code, kind = self.code, type_of(cell.dtype)
        assert item.position is not None
        at = self.affine(item.position)
        best = code.emit(f"load {kind}, ptr {cell.value}")
        more = item.how == "argmax"
        letter = {"f": "o", "i": "s"}.get(cell.dtype.kind, "u")
        compare = "fcmp" if cell.dtype.kind == "f" else "icmp"
        better = code.emit(f"{compare} {letter}{'gt' if more else 'lt'} {kind} {value}, {best}")
        if cell.dtype.kind == "f":
            lost = code.emit(f"fcmp uno {kind} {value}, 0.0")
            fine = code.emit(f"fcmp ord {kind} {best}, 0.0")
            better = code.emit(f"or i1 {better}, {code.emit(f'and i1 {lost}, {fine}')}")
        place = code.emit(f"load i64, ptr {cell.rest}")
        code.do(f"store {kind} {code.emit(f'select i1 {better}, {kind} {value}, {kind} {best}')}, ptr {cell.value}")
        code.do(f"store i64 {code.emit(f'select i1 {better}, i64 {at}, i64 {place}')}, ptr {cell.rest}")

    def _result(self, item: Result) -> None:
        cell, code = self.cells[item.cell], self.code
        kind = type_of(item.dtype)
        if item.how.startswith("arg"):
            found = code.emit(f"load i64, ptr {cell.rest}")
        else:
            found = code.emit(f"load {kind}, ptr {cell.value}")
            if cell.rest:
                rest = code.emit(f"load {kind}, ptr {cell.rest}")
                lost = code.emit(f"fcmp uno {kind} {rest}, 0.0")  # an infinite total has left nan behind
                whole = code.emit(f"fadd {kind} {found}, {rest}")
                found = code.emit(f"select i1 {lost}, {kind} {found}, {kind} {whole}")
        self.define(item.name, item.dtype, found)

    def _loop(self, item: Loop) -> None:
        code, end = self.code, self.size(item.extent)
        found = segments(item, self.names.roots())
        if found:
            write_tiles(self, item, found, end)
            return
        inner = not any(isinstance(s, Loop) for s in item.body)
        if inner and self.write_in_pieces(item, end):
            return
        sums = self.sums_of(item) if inner else []
        if sums and not (isinstance(item.extent, int) and item.extent <= BLOCK):
            with code.blocks(end, BLOCK) as (low, high):
                self.turns(item, low, high, sums, inner)
        else:
            self.turns(item, "0", end, sums, inner)

    def write_in_pieces(self, item: Loop, end: str) -> bool:
        """Write a long loop piece by piece, where that can be."""
        return False

    def sums_of(self, item: Loop) -> list[Running]:
        """The sums of floats that a loop without loops inside adds to."""
        found = {s.cell: self.cells[s.cell] for s in item.body if isinstance(s, Accumulate) and s.how == "sum"}
        return [cell for cell in found.values() if cell.rest]

    def turns(
        self, item: Loop, low: str, high: str, sums: list[Running], inner: bool, around: Around | None = None
    ) -> None:
        """The loop from `low` to `high`. Sums get a plain part each, which two-sum adds at the end.

        `around` writes code before and after the body, for the index in hand.
        """
        code = self.code
        for cell in sums:
            cell.part = code.variable(type_of(cell.dtype), "0.0")
        called = len(self._called)
        with code.loop(low, high, self._note_of(item, called, inner)) as index:
            self.define(item.name, INTEGER, index)
            if around is not None:
                around[0](index)
            self.block(item.body)
            if around is not None:
                around[1](index)
        for cell in sums:
            self._two_sum(cell, code.emit(f"load {type_of(cell.dtype)}, ptr {cell.part}"))
            cell.part = ""

    def _vectorises(self, item: Loop) -> bool:
        """Whether LLVM finds no hindrance: where it finds one in a loop with a width, it writes so on stderr."""
        places: dict[str, set[Any]] = {}
        written: set[str] = set()
        for s in item.body:
            if isinstance(s, Accumulate):
                cell = self.cells[s.cell]
                if s.how not in VECTORS or (s.how == "prod" and cell.dtype.kind == "f"):
                    return False
            elif isinstance(s, Load | Store | Update):
                memory = self.names.root(s.buffer)
                places.setdefault(memory, set()).add((s.buffer, s.index))
                if not isinstance(s, Load):
                    written.add(memory)
                    if not any(name == item.name for a in s.index for name, _ in a.terms):
                        return False  # each turn writes to the same place
            elif not isinstance(s, Position | Within) and not (isinstance(s, Let) and not _is_call(s)):
                return False
        return all(len(places[memory]) == 1 for memory in written)

    def _note_of(self, item: Loop, called: int, inner: bool) -> Callable[[], str]:
        def note() -> str:
            math = set(self._called[called:])
            if not inner or not math or not self._vectorises(item):
                return ""
            widths = sorted(set.intersection(*(set(self.module.lanes[short]) for short in math)))
            return self.module.vector_note(widths[-1] if in_flight(item.body) <= MANY else widths[0])

        return note
