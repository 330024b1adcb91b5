"""The straight-line statements of a program as LLVM IR: sizes, scalars, indices, memory, checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....tracer.dims import Dim, atom
from ...kernel import (
    INDEX,
    Affine,
    Buffer,
    Check,
    If,
    Index,
    Let,
    Literal,
    Load,
    Operand,
    Position,
    Program,
    Size,
    Statement,
    Store,
    Update,
    Within,
    Wrap,
)  # fmt: skip
from .code import Code, constant, stored_type, type_of
from .module import Module
from .scalars import STEPS, Scalars

INTEGER = np.dtype("int64")
PAIR = ("sin", "cos")
RELATIONS = {"==": ("eq", "oeq"), "!=": ("ne", "une"), "<": ("slt", "olt"), "<=": ("sle", "ole"), ">": ("sgt", "ogt"),
             ">=": ("sge", "oge")}  # fmt: skip


class Names:
    """What the functions of one program share: its dtypes, and for each buffer its shape and the memory it lies in."""

    def __init__(self, program: Program, module: Module) -> None:
        self.program, self.module = program, module
        self.dtypes: dict[str, Any] = {i.name: i.dtype for i in program.inputs}
        self.shapes: dict[str, tuple[Size, ...]] = {}
        self.views: dict[str, str] = {}
        atoms = {(name, axis): a for a, name, axis, _ in program.sizes}
        for item in program.inputs:
            self.shapes[item.name] = tuple(atom(atoms[item.name, axis]) for axis in range(item.rank))
        for name, value in program.constants:
            array = value.array()
            self.dtypes[name], self.shapes[name] = array.dtype, array.shape

    def add(self, buffer: Buffer, source: str | None = None) -> None:
        self.dtypes[buffer.name], self.shapes[buffer.name] = buffer.dtype, buffer.shape
        if source is not None:
            self.views[buffer.name] = source

    def roots(self) -> dict[str, str]:
        """For each view the buffer whose memory it shows."""
        return {name: self.root(name) for name in self.views}

    def root(self, name: str) -> str:
        """The buffer whose memory a view shows."""
        while name in self.views:
            name = self.views[name]
        return name


def _both_of_a_circle(body: tuple[Statement, ...]) -> set[Operand]:
    """The values that statements take both the sine and the cosine of."""
    taken = [{s.args[0] for s in body if isinstance(s, Let) and s.op == op} for op in PAIR]
    return taken[0] & taken[1]


class Writer:
    """Writes statements into one function."""

    def __init__(self, names: Names) -> None:
        self.names, self.module = names, names.module
        self.code = Code()
        self.scalars = Scalars(self.code, self.module.math, self.module.externals, self._call_note)
        self.values: dict[str, str] = {}
        self._pairs: set[Operand] = set()  # what sin and cos are both taken of
        self._called: list[str] = []  # dtypes of the vector math called so far
        self._sizes: dict[Any, str] = {}

    def _call_note(self, name: str, short: str) -> str:
        self._called.append(short)
        return self.module.call_note(name, short)

    # ------------------------------------------------------------------ what a function finds outside of itself
    def outside(self, name: str) -> str:
        """The register of a scalar that was computed elsewhere."""
        raise NotImplementedError

    def pointer(self, buffer: str) -> str:
        """The register that holds the address of a buffer."""
        raise NotImplementedError

    def atom(self, name: str) -> str:
        """The register that holds an elementary size."""
        raise NotImplementedError

    def size_code(self) -> Code:
        """Where sizes are computed."""
        return self.code

    def leave(self, status: int | str) -> None:
        """End the function with a status."""
        raise NotImplementedError

    # -------------------------------------------------------------------------------------------------- sizes
    def size(self, size: Size) -> str:
        """The register of a size, or its number."""
        if isinstance(size, int):
            return str(size)
        known = self._sizes.get(size)
        if known is None:
            known = self._sizes[size] = self._size(size)
        return known

    def _size(self, size: Dim) -> str:
        out = ""
        for monomial, factor in sorted(size.terms, key=lambda t: t[0] == ()):
            parts = [self._atom(a) for a in monomial]
            code = self.size_code()
            term = str(factor) if not parts else parts[0]
            for part in parts[1:]:
                term = code.emit(f"mul i64 {term}, {part}")
            if parts and factor != 1:
                term = code.emit(f"mul i64 {term}, {factor}")
            out = code.emit(f"add i64 {out}, {term}") if out else term
        return out

    def _atom(self, a: Any) -> str:
        if isinstance(a, str):
            return self.atom(a)
        kind, left, right = a
        first, second = self.size(left), self.size(right)
        code = self.size_code()
        if kind == "floordiv":
            return Scalars(code, {}, {}, None).primitive("floordiv", INTEGER, INTEGER, [first, second])
        order = "sgt" if kind == "max" else "slt"
        return code.emit(f"select i1 {code.emit(f'icmp {order} i64 {first}, {second}')}, i64 {first}, i64 {second}")

    def affine(self, a: Affine) -> str:
        """The register of an index."""
        out = ""
        for name, factor in a.terms:
            term = self._whole(name)
            if not (isinstance(factor, int) and factor == 1):
                term = self.code.emit(f"mul nsw i64 {term}, {self.size(factor)}")
            out = self.code.emit(f"add nsw i64 {out}, {term}") if out else term
        if isinstance(a.offset, int) and a.offset == 0:
            return out or "0"
        offset = self.size(a.offset)
        return self.code.emit(f"add nsw i64 {out}, {offset}") if out else offset

    def _whole(self, name: str) -> str:
        dtype = self.names.dtypes.get(name, INTEGER)
        return self.scalars.cast(self.value(name), dtype, INTEGER)

    def address(self, buffer: str, index: Index) -> str:
        """The register of the address of an element."""
        base, kind = self.pointer(buffer), stored_type(self.names.dtypes[buffer])
        out = ""
        for place, extent in zip(index, self.names.shapes[buffer], strict=True):
            if out and out != "0":
                out = self.code.emit(f"mul nsw i64 {out}, {self.size(extent)}")
            step = self.affine(place)
            if out in ("", "0"):
                out = step
            elif step != "0":
                out = self.code.emit(f"add nsw i64 {out}, {step}")
        return base if out in ("", "0") else self.code.emit(f"getelementptr inbounds {kind}, ptr {base}, i64 {out}")

    # ------------------------------------------------------------------------------------------------- scalars
    def value(self, name: str) -> str:
        found = self.values.get(name)
        if found is not None:
            return found
        return self.outside(name)

    def operand(self, value: Operand) -> str:
        return constant(value) if isinstance(value, Literal) else self.value(value)

    def dtype_of(self, value: Operand) -> Any:
        return value.dtype if isinstance(value, Literal) else self.names.dtypes[value]

    def define(self, name: str, dtype: Any, register: str) -> None:
        self.names.dtypes[name] = dtype
        self.values[name] = register

    def read(self, dtype: Any, address: str) -> str:
        """The register of what lies at an address; a bool comes as an i1."""
        found = self.code.emit(f"load {stored_type(dtype)}, ptr {address}, align {dtype.itemsize}")
        return self.code.emit(f"icmp ne i8 {found}, 0") if dtype.kind == "b" else found

    def put(self, dtype: Any, register: str, address: str) -> None:
        if dtype.kind == "b":
            register = self.code.emit(f"zext i1 {register} to i8")
        self.code.do(f"store {stored_type(dtype)} {register}, ptr {address}, align {dtype.itemsize}")

    # ---------------------------------------------------------------------------------------------- statements
    def block(self, body: tuple[Statement, ...]) -> None:
        before = self._pairs, dict(self.scalars.circle)
        self._pairs = _both_of_a_circle(body)
        for item in body:
            self.statement(item)
        self._pairs, self.scalars.circle = before  # what was computed inside is not known outside

    def statement(self, item: Statement) -> None:
        match item:
            case Let(name, dtype, op, args):
                registers = [self.operand(a) for a in args]
                if op in PAIR and args[0] in self._pairs and dtype.kind == "f":
                    found = self.scalars.sine_and_cosine(dtype, registers[0])[PAIR.index(op)]
                else:
                    found = self.scalars.primitive(op, dtype, self.dtype_of(args[-1]), registers)
                self.define(name, dtype, found)
            case Position(name, index, step):
                place = self.affine(index)
                self.define(name, INTEGER, place if step == 1 else self.code.emit(f"sdiv i64 {place}, {step}"))
            case Load():
                self._load(item)
            case Within():
                self._within(item)
            case Wrap():
                self._wrap(item)
            case Store(buffer, index, value):
                register = self.operand(value)
                self.put(self.names.dtypes[buffer], register, self.address(buffer, index))
            case Update(buffer, index, how, value):
                dtype, address = self.names.dtypes[buffer], self.address(buffer, index)
                both = [self.read(dtype, address), self.operand(value)]
                self.put(dtype, self.scalars.primitive(STEPS[how], dtype, dtype, both), address)
            case If(condition, body):
                with self.code.when(self.value(condition)):
                    self.block(body)
            case Check():
                self._check(item)
            case _:
                raise AssertionError(f"no code for {item}")

    def _load(self, item: Load) -> None:
        if item.mask is None:
            self.define(item.name, item.dtype, self.read(item.dtype, self.address(item.buffer, item.index)))
            return
        code, kind = self.code, type_of(item.dtype)
        mask, inside, after = self.value(item.mask), code.fresh("load"), code.fresh("after")
        before = code.here
        code.branch(mask, inside, after)
        code.label(inside)
        found = self.read(item.dtype, self.address(item.buffer, item.index))
        code.jump(after)
        code.label(after)
        zero = constant(Literal.of(0, item.dtype))
        self.define(item.name, item.dtype, code.emit(f"phi {kind} [{found}, %{inside}], [{zero}, %{before}]"))

    def _within(self, item: Within) -> None:
        code, index = self.code, self.affine(item.index)
        limit = self._at_least_0(item.extent * item.step)
        tests = [code.emit(f"icmp ult i64 {index}, {limit}")]  # a negative index is a huge unsigned one
        if item.step != 1:
            rest = code.emit(f"srem i64 {index}, {item.step}")
            tests.append(code.emit(f"icmp eq i64 {rest}, 0"))
        if item.base:
            tests.append(self.value(item.base))
        out = tests[0]
        for test in tests[1:]:
            out = code.emit(f"and i1 {out}, {test}")
        self.define(item.name, np.dtype(bool), out)

    def _at_least_0(self, size: Size) -> str:
        if isinstance(size, int):
            return str(max(0, size))
        key = ("at least 0", size)
        if key not in self._sizes:
            found, code = self.size(size), self.size_code()
            below = code.emit(f"icmp slt i64 {found}, 0")
            self._sizes[key] = code.emit(f"select i1 {below}, i64 0, i64 {found}")
        return self._sizes[key]

    def _wrap(self, item: Wrap) -> None:
        code, extent = self.code, self.size(item.extent)
        value = self.scalars.cast(self.operand(item.value), self.dtype_of(item.value), INTEGER)
        low = code.emit(f"icmp slt i64 {value}, 0")
        moved = code.emit(f"add i64 {value}, {extent}")
        place = code.emit(f"select i1 {low}, i64 {moved}, i64 {value}")
        outside = code.emit(f"icmp uge i64 {place}, {extent}")
        if item.mask is not None:
            outside = code.emit(f"and i1 {self.value(item.mask)}, {outside}")
        self.leave_if(outside, INDEX)
        self.define(item.name, INTEGER, place)

    def leave_if(self, condition: str, status: int) -> None:
        """End the function with a status where a condition holds."""
        out, on = self.code.fresh("leave"), self.code.fresh("on")
        self.code.branch(condition, out, on)
        self.code.label(out)
        self.leave(status)
        self.code.label(on)

    def _check(self, item: Check) -> None:
        left, dtype = item.left, INTEGER
        if isinstance(left, int | Dim):
            found = self.size(left)
        else:
            found, dtype = self.operand(left), self.dtype_of(left)
        if item.relation == "is":
            self.leave_if(self.code.emit(f"xor i1 {found}, true") if item.right else found, item.status)
            return
        whole, real = RELATIONS[item.relation]
        if dtype.kind == "u" and whole.startswith("s"):
            whole = f"u{whole[1:]}"
        compare = f"fcmp {real}" if dtype.kind == "f" else f"icmp {whole}"
        holds = self.code.emit(f"{compare} {type_of(dtype)} {found}, {self._right(item.right, dtype)}")
        self.leave_if(self.code.emit(f"xor i1 {holds}, true"), item.status)

    def _right(self, right: Any, dtype: Any) -> str:
        if isinstance(right, Dim):
            return self.size(right)
        if isinstance(right, str | Literal):
            return self.operand(right)
        return constant(Literal.of(right, dtype))
