"""The statements of a program as lines of Python: explicit loops, each kernel under the user's lines it came from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ....tracer.dims import Dim
from ...kernel import (
    Accumulate,
    Affine,
    Alloc,
    Bind,
    Call,
    Cell,
    Check,
    Fill,
    If,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Loop,
    Operand,
    Position,
    Program,
    Result,
    Statement,
    Store,
    Update,
    View,
    Within,
    Wrap,
)  # fmt: skip
from ...nests import start_of
from .library import write_call
from .templates import bare, cast, dtype_name, literal, spell, users_lines
from .uses import buffers_in, count_uses, fails, used_here, written_in

BLOCK = 512  # terms that are added up plainly, before two-sum joins the blocks
LONGEST = 110  # characters of an expression before its value gets a name
INTEGER = np.dtype("int64")


class Writer:
    """Writes lines. `given` names the buffers that the caller brings, by the name of what is allocated for them."""

    def __init__(self, program: Program, inner: list[str], given: dict[str, str]) -> None:
        self.program = program
        self.inner = inner  # sources of the programs inside of this one
        self.given = given
        self.lines: list[str] = []
        self.pad = 1
        self.ranks: dict[str, int] = {}
        self.dtypes: dict[str, Any] = {i.name: i.dtype for i in program.inputs}
        self.sizes = {atom: self._size_text(name, axis) for atom, _, axis, name in program.sizes}
        self.used_sizes: dict[str, None] = {}
        self.uses: Counter[str] = Counter()
        self.texts: dict[str, str] = {}  # expressions that stand where their name would
        self.cells: dict[str, tuple[str, bool]] = {}  # sums under way: the name to add to, and whether in blocks
        self.shifted: set[str] = set()  # loops that don't begin at 0
        self.extents: dict[str, Any] = {}
        count_uses(program.body, self.uses)
        self.touched = buffers_in(program)

    def _size_text(self, name: str, axis: int | None) -> str:
        return name if axis is not None or self.dtypes[name] == INTEGER else f"i64({name})"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.pad + text)

    # ----------------------------------------------------------------------------------------------- sizes
    def size(self, size: int | Dim) -> str:
        """The text of a size, in parentheses where it is a sum."""
        if isinstance(size, int):
            return str(size)
        out = ""
        for monomial, factor in sorted(size.terms, key=lambda t: t[0] == ()):
            factors = [self._atom(a) for a in monomial]
            if abs(factor) != 1 or not monomial:
                factors.insert(0, str(abs(factor)))
            text = " * ".join(factors)
            out = (f"-{text}" if factor < 0 else text) if not out else f"{out} {'-' if factor < 0 else '+'} {text}"
        return f"({out})" if len(size.terms) > 1 or out.startswith("-") else out

    def _atom(self, a: Any) -> str:
        if isinstance(a, str):
            self.used_sizes[a] = None
            return self.sizes[a]
        kind, left, right = a
        first, second = self.size(left), self.size(right)
        if kind != "floordiv":
            return f"{kind}({first}, {second})"
        return f"({first} // {second})" if isinstance(right, int) else f"int_floordiv({first}, {second})"

    def affine(self, a: Affine) -> str:
        """The text of an index."""
        out = ""
        parts = [(name, factor) for name, factor in a.terms]
        if type(a.offset) is not int or a.offset or not parts:
            parts.append(("", a.offset))
        for name, factor in parts:
            minus = (isinstance(factor, int) and factor < 0) or (
                isinstance(factor, Dim) and all(f < 0 for _, f in factor.terms)
            )
            size = factor * -1 if minus else factor
            text = (name if size == 1 else f"{self.size(size)} * {name}") if name else self.size(size)
            out = f"{out} {'-' if minus else '+'} {text}" if out else f"-{text}" if minus else text
        return out

    def index(self, index: Index) -> str:
        """Subscripts. What may not begin at 0 goes through `u`, an unsigned cast: numba would test it for negatives."""
        return ", ".join(self._subscript(a) for a in index)

    def _subscript(self, a: Affine) -> str:
        text = self.affine(a)
        if not a.terms:
            return text if isinstance(a.offset, int) else f"u({text})"
        plain = len(a.terms) == 1 and type(a.offset) is int and a.offset == 0 and a.terms[0][1] == 1
        if plain and a.terms[0][0] not in self.shifted and a.terms[0][0] in self.extents:
            return text
        return f"u({text})"

    def shape(self, shape: tuple[Any, ...]) -> str:
        inside = ", ".join(bare(self.size(s)) for s in shape)
        return f"({inside},)" if len(shape) == 1 else f"({inside})"

    # ---------------------------------------------------------------------------------------------- scalars
    def operand(self, value: Operand) -> str:
        if isinstance(value, Literal):
            return literal(value)
        return self.texts.get(value, value)

    def dtype_of(self, value: Operand) -> Any:
        return value.dtype if isinstance(value, Literal) else self.dtypes[value]

    def assign(self, name: str, dtype: Any, text: str, inline: bool) -> None:
        """Give an expression a name, or keep it for the one place that reads it."""
        self.dtypes[name] = dtype
        if inline and self.uses[name] == 1 and len(text) <= LONGEST:
            self.texts[name] = text
        else:
            self.line(f"{name} = {bare(text)}")

    # ------------------------------------------------------------------------------------------- statements
    def block(self, body: tuple[Statement, ...]) -> None:
        written = written_in(body)
        local = used_here(body)
        for item in body:
            self.statement(item, written, local)

    def statement(self, item: Statement, written: set[str], local: set[str]) -> None:
        match item:
            case Let(name, dtype, op, args):
                text = spell(op, dtype, self.dtype_of(args[-1]), [self.operand(a) for a in args])
                self.assign(name, dtype, text, name in local)
            case Position(name, index, step):
                text = self.affine(index) if step == 1 else f"({self.affine(index)}) // {step}"
                text = text if text.isidentifier() or text.isdigit() else f"({text})"
                self.assign(name, INTEGER, text, name in local and step == 1)
            case Load(name, dtype, buffer, index, mask):
                text = f"{buffer}[{self.index(index)}]"
                if mask is not None:
                    zero = literal(Literal.of(0, dtype))
                    text = f"({text} if {self.operand(mask)} else {zero})"
                self.assign(name, dtype, text, name in local and mask is None and buffer not in written)
            case Within():
                self.dtypes[item.name] = np.dtype(bool)
                self.line(f"{item.name} = {self._within(item)}")
            case Wrap():
                self._wrap(item)
            case Store(buffer, index, value):
                self.line(f"{buffer}[{self.index(index)}] = {bare(self.operand(value))}")
            case Update(buffer, index, how, value):
                self._update(buffer, index, how, value)
            case Cell():
                self._cell(item)
            case Accumulate():
                self._accumulate(item)
            case Result():
                self._result(item)
            case Loop():
                self._loop(item)
            case If(condition, body):
                self.line(f"if {self.operand(condition)}:")
                self.pad += 1
                self.block(body)
                self.pad -= 1
            case Check():
                self._check(item)
            case Bind(atom, value, name):
                self.sizes[atom] = name
                self.line(f"{self.sizes[atom]} = {cast(self.operand(value), self.dtype_of(value), INTEGER)}")
            case Alloc():
                self._alloc(item)
            case Fill(buffer, value):
                self.line(f"{buffer}.fill({literal(value)})")
            case View(buffer, source):
                self.dtypes[buffer.name], self.ranks[buffer.name] = buffer.dtype, len(buffer.shape)
                if buffer.name in self.given.values() or buffer.name not in self.touched:
                    return
                self.line(f"{buffer.name} = reshaped({source}, {self.shape(buffer.shape)})")
            case Call():
                self._call(item)
            case Kernel(title, body, locs):
                where = ", ".join(dict.fromkeys(str(loc) for loc in locs if loc.line))
                self.line(f"# {title}" + (f"  ({where})" if where else ""))
                for text in users_lines(locs):
                    self.line(f"#   {text}")
                self.block(body)

    def _within(self, item: Within) -> str:
        tests = [self.operand(item.base)] if item.base else []
        index, limit = item.index, item.extent * item.step
        text = self.affine(index)
        loop, factor = index.terms[0] if len(index.terms) == 1 else ("", 0)
        forward = loop in self.extents and factor == 1
        offset = index.offset if isinstance(index.offset, int) else None
        if not (forward and offset is not None and offset >= 0):
            tests.append(f"({loop} >= {-offset})" if forward and offset is not None else f"({text} >= 0)")
        if not (forward and item.step == 1 and self.extents[loop] + index.offset == limit):
            tests.append(f"({text} < {self.size(limit)})")
        if item.step != 1:
            tests.append(f"(({text}) % {item.step} == 0)")
        return bare(tests[0]) if len(tests) == 1 else " & ".join(tests) or "True"

    def _wrap(self, item: Wrap) -> None:
        self.dtypes[item.name] = INTEGER
        extent = self.size(item.extent)
        self.line(f"{item.name} = {bare(self.operand(item.value))}")
        self.line(f"{item.name} = select({item.name} < 0, {item.name} + {extent}, {item.name})")
        outside = f"({item.name} < 0) | ({item.name} >= {extent})"
        if item.mask is not None:
            outside = f"{self.operand(item.mask)} & ({outside})"
        self._leave(outside, -1)

    def _leave(self, condition: str, status: int) -> None:
        self.line(f"if {condition}:")
        self.line(f"    status = {status}")
        self.line("    break")

    def _check(self, item: Check) -> None:
        where = f" at {item.loc}" if item.loc.line else ""
        if item.status > 0:
            self.line(f"# guard {item.status - 1}{where}")
        left = self.size(item.left) if isinstance(item.left, int | Dim) else self.operand(item.left)
        if item.relation == "is":
            self._leave(f"not {left}" if item.right else left, item.status)
            return
        right = self.size(item.right) if isinstance(item.right, int | Dim) else self.operand(item.right)
        self._leave(f"{left} {OPPOSITE[item.relation]} {right}", item.status)

    def _update(self, buffer: str, index: Index, how: str, value: Operand) -> None:
        place, dtype = f"{buffer}[{self.index(index)}]", self.dtype_of(value)
        if how == "sum" and (dtype.kind == "f" or dtype.itemsize == 8):
            self.line(f"{place} += {bare(self.operand(value))}")
        else:
            self.line(f"{place} = {bare(spell(STEPS[how], dtype, dtype, [place, self.operand(value)]))}")

    # ---------------------------------------------------------------------------------------------- loops
    def _cell(self, item: Cell) -> None:
        self.dtypes[item.name] = item.dtype
        start = item.start if item.how == "last" else start_of(item.how, item.dtype)
        assert start is not None
        if item.how == "sum" and item.dtype.kind == "f":
            self.cells[item.name] = (item.name, False)
            self.line(f"{item.name} = {item.name}_rest = {literal(start)}")
            return
        self.line(f"{item.name} = {literal(start)}")
        if item.how.startswith("arg"):
            self.line(f"{item.name}_at = 0")

    def _accumulate(self, item: Accumulate) -> None:
        name, dtype = item.cell, self.dtypes[item.cell]
        value = self.operand(item.value)
        if item.how == "last":
            self.line(f"{name} = {bare(value)}")
        elif item.how.startswith("arg"):
            self._accumulate_position(item, value)
        elif name in self.cells:
            part, inside = self.cells[name]
            if inside:
                self.line(f"{part} = add({part}, {bare(value)})")
            else:  # once for a row
                self.line(f"{name}, {name}_rest = two_sum({name}, {name}_rest, {bare(value)})")
        else:
            self.line(f"{name} = {bare(spell(STEPS[item.how], dtype, dtype, [name, value]))}")

    def _accumulate_position(self, item: Accumulate, value: str) -> None:
        name, dtype = item.cell, self.dtypes[item.cell]
        assert item.position is not None
        self.line(f"{name}_new = {bare(value)}")
        first, second = (name, f"{name}_new") if item.how == "argmax" else (f"{name}_new", name)
        better = spell("lt", dtype, dtype, [first, second])
        if dtype.kind == "f":  # nan comes before all, the first one
            better = f"({better} | math.isnan({name}_new)) & (not math.isnan({name}))"
        self.line(f"if {bare(better)}:")
        self.line(f"    {name} = {name}_new")
        self.line(f"    {name}_at = {self.affine(item.position)}")

    def _result(self, item: Result) -> None:
        self.dtypes[item.name] = item.dtype
        if item.how.startswith("arg"):
            self.line(f"{item.name} = {item.cell}_at")
        elif item.cell in self.cells:
            self.line(f"{item.name} = settle({item.cell}, {item.cell}_rest)")
        else:
            self.line(f"{item.name} = {item.cell}")

    def _loop(self, item: Loop) -> None:
        name, extent = item.name, item.extent
        innermost = not any(isinstance(s, Loop) for s in item.body)
        sums = [s.cell for s in item.body if isinstance(s, Accumulate) and s.cell in self.cells] if innermost else []
        self.extents[name] = extent
        blocks = bool(sums) and not (isinstance(extent, int) and extent <= BLOCK)
        if blocks:
            self.line(f"for lo in range(0, {bare(self.size(extent))}, {BLOCK}):")
            self.pad += 1
        for cell in sums:
            self.cells[cell] = (f"{cell}_part", True)
            self.line(f"{cell}_part = {literal(Literal.of(0, self.dtypes[cell]))}")
        if blocks:
            self.shifted.add(name)
            self.line(f"for {name} in range(lo, min(lo + {BLOCK}, {bare(self.size(extent))})):")
        else:
            self.line(f"for {name} in range({bare(self.size(extent))}):")
        self.pad += 1
        self.block(item.body)
        self.pad -= 1
        leaves = fails(item.body)
        for cell in sums:
            self.line(f"{cell}, {cell}_rest = two_sum({cell}, {cell}_rest, {cell}_part)")
            self.cells[cell] = (cell, False)
        if blocks:
            self.shifted.discard(name)
            if leaves:
                self.leave_again()
            self.pad -= 1
        if leaves:
            self.leave_again()
        del self.extents[name]

    def leave_again(self) -> None:
        self.line("if status != 0:")
        self.line("    break")

    # --------------------------------------------------------------------------------------------- memory
    def _alloc(self, item: Alloc) -> None:
        buffer = item.buffer
        name, shape = buffer.name, self.shape(buffer.shape)
        self.dtypes[name], self.ranks[name] = buffer.dtype, len(buffer.shape)
        if name not in self.given:
            zeros = item.fill is not None and not any(item.fill.bits)
            self.line(f"{name} = np.{'zeros' if zeros else 'empty'}({shape}, {dtype_name(buffer.dtype)})")
            if zeros:
                return
        elif self.given[name] != name:
            self.line(f"{name} = reshaped({self.given[name]}, {shape})")
        if item.source is not None:
            self.line(f"copy_into({name}, {item.source})")
        elif item.fill is not None:
            self.line(f"{name}.fill({literal(item.fill)})")

    def _call(self, item: Call) -> None:
        write_call(self, item)


STEPS = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "or_", "all": "and_"}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", "<=": ">", ">": "<="}
