"""The functions of a program: the core, which makes room, checks and calls, and one for each kernel that has loops.

The core is ``i32 @NAME(ptr in, ptr out)``. `in` has a slot of 8 bytes for each number among the inputs, and for each
array its address and its lengths; `out` likewise, with addresses of new memory that belongs to the caller. It returns
0, or k + 1 where guard k fails, or a negative status; then it has given back all that it took.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...kernel import (
    Alloc,
    Bind,
    Buffer,
    Call,
    Fill,
    Kernel,
    Literal,
    Loop,
    OutputValue,
    Program,
    Size,
    Statement,
    Store,
    Update,
    View,
)  # fmt: skip
from ...reuse import mentioned
from ...rows import defines, scalars_read, within
from .body import Body
from .code import Code, constant, stored_type, type_of
from .module import Module
from .pieces import pieces_of, write_pieces
from .writer import INTEGER, Names

MEMORY, NOTHING = -4, -5  # the statuses where no memory could be had, and where an array has no elements
PLAUSIBLE = "0x42F0000000000000"  # 2^48: more bytes than any machine has

RELEASE = """define internal void @release(ptr %slots, i64 %count) noinline cold {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%n, %next]
  %go = icmp slt i64 %i, %count
  br i1 %go, label %body, label %done
body:
  %slot = getelementptr {ptr, i64}, ptr %slots, i64 %i
  %memory = load ptr, ptr %slot
  %bytes.at = getelementptr {ptr, i64}, ptr %slots, i64 %i, i32 1
  %bytes = load i64, ptr %bytes.at
  %held = icmp ne ptr %memory, null
  br i1 %held, label %free, label %next
free:
  call void @nt_free(ptr %memory, i64 %bytes)
  br label %next
next:
  %n = add i64 %i, 1
  br label %head
done:
  ret void
}"""


def write_program(
    program: Program, module: Module, name: str, linkage: str = "", refuses_nothing: bool = False
) -> None:
    """Write the functions of a program into a module; the core is called `name`.

    Where it `refuses_nothing`, it leaves with the status NOTHING if an array among the inputs has no elements.
    """
    module.declare("declare noalias ptr @nt_alloc(i64)")
    module.declare("declare void @nt_free(ptr, i64)")
    Core(program, module, name, linkage, refuses_nothing).build()


class Part(Body):
    """A kernel in a function of its own. What it finds outside becomes a parameter when it is first asked for."""

    def __init__(self, core: Core | Part, kernel: Kernel) -> None:
        super().__init__(core.names)
        self.core, self.kernel = core, kernel
        self.prologue = Code("p")
        self.parameters: list[tuple[str, str]] = []  # declarations, and what the caller passes
        self.pointers: dict[str, str] = {}
        self.atoms: dict[str, str] = {}
        self.written = {self.names.root(s.buffer) for s in within(kernel.body) if isinstance(s, Store | Update)}
        self.fails = False

    def size_code(self) -> Code:
        return self.prologue

    def parameter(self, kind: str, given: str) -> str:
        """A new parameter, and what the caller passes for it."""
        name = f"%a{len(self.parameters) + 1}"
        self.parameters.append((f"{kind} {name}", f"{kind.split()[0]} {given}"))
        return name

    def outside(self, name: str) -> str:
        self.values[name] = self.parameter(type_of(self.names.dtypes[name]), self.core.value(name))
        return self.values[name]

    def pointer(self, buffer: str) -> str:
        root = self.names.root(buffer)
        if root not in self.pointers:
            given = self.core.pointer(root)
            kind = "ptr noalias" if root in self.written else "ptr noalias readonly"
            self.pointers[root] = given if given.startswith("@") else self.parameter(kind, given)
        return self.pointers[root]

    def atom(self, name: str) -> str:
        if name not in self.atoms:
            self.atoms[name] = self.parameter("i64", self.core.atom(name))
        return self.atoms[name]

    def write_in_pieces(self, item: Loop, end: str) -> bool:
        pieces = pieces_of(item, self)
        if pieces:
            write_pieces(self, item, pieces, end)
        return bool(pieces)

    def leave(self, status: int | str) -> None:
        self.fails = True
        self.code.do(f"ret i32 {status}")

    def build(self, returned: list[str]) -> tuple[str, dict[str, str]]:
        """Write the function; returns the text of a call, and the core's variables of the scalars that come back."""
        self.block(self.kernel.body)
        slots: dict[str, str] = {}
        for name in returned:
            kind, register = type_of(self.names.dtypes[name]), self.values[name]
            slots[name] = self.core.code.variable(kind)
            self.code.do(f"store {kind} {register}, ptr {self.parameter('ptr noalias', slots[name])}")
        return self.text("kernel"), slots

    def text(self, stem: str) -> str:
        """End the function and hand it to the module; returns the text of a call."""
        self.code.do("ret i32 0")
        name = self.module.name(stem)
        # the stack is aligned for whole vectors: what waits there while vector math is called is read back at once
        given = ", ".join(declaration for declaration, _ in self.parameters)
        head = f'define internal i32 @{name}({given}) noinline nounwind "stackrealign" {{'
        lines = [head, "entry:", *self.code.variables, *self.prologue.lines, *self.code.lines, "}"]
        self.module.functions.append("\n".join(lines))
        return f"call i32 @{name}({', '.join(given for _, given in self.parameters)})"


class Core(Body):
    """The function of a whole program."""

    def __init__(self, program: Program, module: Module, name: str, linkage: str, refuses_nothing: bool) -> None:
        super().__init__(Names(program, module))
        self.program, self.name, self.linkage = program, name, linkage
        self.refuses_nothing = refuses_nothing
        self.pointers: dict[str, str] = {}
        self.atoms: dict[str, str] = {}
        self.slots: dict[str, tuple[int, str]] = {}  # of memory that the core holds: its slot and its bytes
        self.held = 0
        self.reads: Counter[str] = Counter(name for s in within(program.body) for name in scalars_read(s))
        self.reads.update(o.value for o in program.outputs if isinstance(o.value, str))

    def outside(self, name: str) -> str:
        raise AssertionError(f"{name} has no value yet")

    def pointer(self, buffer: str) -> str:
        return self.pointers[self.names.root(buffer)]

    def atom(self, name: str) -> str:
        return self.atoms[name]

    def leave(self, status: int | str) -> None:
        self.code.do(f"store i32 {status}, ptr %status")
        self.code.jump("fail")

    # ------------------------------------------------------------------------------------------------ the whole
    def build(self) -> None:
        """Write the core and, as they come, its kernels."""
        self._inputs()
        for name, value in self.program.constants:
            self.pointers[name] = self.module.constant(value)
        results = {self.names.root(str(o.value)) for o in self.program.outputs if o.rank}
        ends: dict[int, list[str]] = {}
        views = {s.buffer.name: s.source for s in self.program.body if isinstance(s, View)}
        last: dict[str, int] = {}
        for number, item in enumerate(self.program.body):
            for buffer in mentioned(item):
                while buffer in views:
                    buffer = views[buffer]
                last[buffer] = number
        for buffer, number in last.items():
            ends.setdefault(number, []).append(buffer)
        results = {_root(name, views) for name in results}
        for number, item in enumerate(self.program.body):
            self.statement(item)
            for buffer in ends.get(number, []):
                if buffer in self.slots and buffer not in results:
                    self._free(buffer)
        self._outputs()
        self._text()

    def _text(self) -> None:
        self.code.do("ret i32 0")
        self.code.label("fail")
        if self.held:
            self.module.declare(RELEASE)
            self.code.do(f"call void @release(ptr %slots, i64 {self.held})")
        status = self.code.emit("load i32, ptr %status")
        self.code.do(f"ret i32 {status}")
        linkage = f"{self.linkage} " if self.linkage else ""
        head = f"define {linkage}i32 @{self.name}(ptr noalias %in, ptr noalias %out) nounwind {{"
        lines = [head, "entry:", "  %status = alloca i32", *self.code.variables]
        if self.held:
            lines.append(f"  %slots = alloca [{self.held} x {{ptr, i64}}]")
            lines.append(f"  call void @llvm.memset.p0.i64(ptr %slots, i8 0, i64 {16 * self.held}, i1 false)")
            self.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        self.module.functions.append("\n".join([*lines, *self.code.lines, "}"]))

    def slot_address(self, base: str, number: int) -> str:
        return self.code.emit(f"getelementptr i64, ptr {base}, i64 {number}") if number else base

    def _inputs(self) -> None:
        number = 0
        atoms = {(name, axis): a for a, name, axis, _ in self.program.sizes}
        for item in self.program.inputs:
            if not item.rank:
                self.define(item.name, item.dtype, self.read(item.dtype, self.slot_address("%in", number)))
                if (item.name, None) in atoms:
                    self.atoms[atoms[item.name, None]] = self._whole(item.name)
            else:
                self.pointers[item.name] = self.code.emit(f"load ptr, ptr {self.slot_address('%in', number)}")
                for axis in range(item.rank):
                    address = self.slot_address("%in", number + 1 + axis)
                    self.atoms[atoms[item.name, axis]] = length = self.code.emit(f"load i64, ptr {address}")
                    if self.refuses_nothing:
                        self.leave_if(self.code.emit(f"icmp eq i64 {length}, 0"), NOTHING)
            number += 1 + item.rank

    def _outputs(self) -> None:
        number = 0
        for output in self.program.outputs:
            if not output.rank:
                self.put(output.dtype, self._result_of(output), self.slot_address("%out", number))
            else:
                name = str(output.value)
                self.code.do(f"store ptr {self.pointer(name)}, ptr {self.slot_address('%out', number)}")
                for axis, size in enumerate(self.names.shapes[name]):
                    address = self.slot_address("%out", number + 1 + axis)
                    self.code.do(f"store i64 {self.size(size)}, ptr {address}")
            number += 1 + output.rank

    def _result_of(self, output: OutputValue) -> str:
        return self.scalars.cast(self.operand(output.value), self.dtype_of(output.value), output.dtype)

    # ----------------------------------------------------------------------------------------------- statements
    def statement(self, item: Statement) -> None:
        match item:
            case Kernel(body=body):
                if any(isinstance(s, Loop) for s in body):
                    self._kernel(item)
                else:
                    self.block(body)
            case Alloc(buffer, fill, source):
                self.allocate(buffer)
                if source is not None:
                    self.copy(self.pointer(buffer.name), self.pointer(source), self.slots[buffer.name][1])
                elif fill is not None:
                    self.fill(buffer.name, fill)
            case Fill(buffer, value):
                self.fill(buffer, value)
            case View(buffer, source):
                self.names.add(buffer, source)
            case Bind(atom, value, _):
                self.atoms[atom] = self.scalars.cast(self.operand(value), self.dtype_of(value), INTEGER)
            case Call():
                from .calls import write_call

                write_call(self, item)
            case _:
                super().statement(item)

    def _kernel(self, kernel: Kernel) -> None:
        inside = Counter(name for s in within(kernel.body) for name in scalars_read(s))
        defined = [name for s in kernel.body for name in defines(s)]
        returned = [name for name in dict.fromkeys(defined) if self.reads[name] > inside[name]]
        part = Part(self, kernel)
        call, slots = part.build(returned)
        if part.fails:
            self.leave_unless_0(self.code.emit(call))
        else:
            self.code.do(call)
        for name, slot in slots.items():
            self.values[name] = self.code.emit(f"load {type_of(self.names.dtypes[name])}, ptr {slot}")

    def leave_unless_0(self, status: str) -> None:
        failed, out, on = self.code.emit(f"icmp ne i32 {status}, 0"), self.code.fresh("leave"), self.code.fresh("on")
        self.code.branch(failed, out, on)
        self.code.label(out)
        self.leave(status)
        self.code.label(on)

    # --------------------------------------------------------------------------------------------------- memory
    def bytes_of(self, shape: tuple[Size, ...], dtype: Any) -> str:
        """The register of the bytes that an array takes."""
        sizes = [self.size(s) for s in shape]
        # what is no length of an array that exists, or three lengths multiplied, may not fit in 64 bits
        if sum(not isinstance(s, int) for s in shape) > 2 or not all(map(_is_length, shape)):
            large = "1.0"
            for size in sizes:
                large = self.code.emit(f"fmul double {large}, {self.code.emit(f'sitofp i64 {size} to double')}")
            self.leave_if(self.code.emit(f"fcmp ogt double {large}, {PLAUSIBLE}"), MEMORY)
        out = str(dtype.itemsize)
        for size in sizes:
            out = self.code.emit(f"mul i64 {out}, {size}")
        return out

    def allocate(self, buffer: Buffer) -> None:
        """New memory, noted in a slot so that it is given back where the core leaves early."""
        code, size = self.code, self.bytes_of(buffer.shape, buffer.dtype)
        memory = code.emit(f"call ptr @nt_alloc(i64 {size})")
        self.leave_if(code.emit(f"icmp eq ptr {memory}, null"), MEMORY)
        code.do(f"store ptr {memory}, ptr {self.slot_address('%slots', 2 * self.held)}")
        code.do(f"store i64 {size}, ptr {self.slot_address('%slots', 2 * self.held + 1)}")
        self.names.add(buffer)
        self.pointers[buffer.name] = memory
        self.slots[buffer.name] = (self.held, size)
        self.held += 1

    def _free(self, buffer: str) -> None:
        number, size = self.slots.pop(buffer)
        self.code.do(f"call void @nt_free(ptr {self.pointers[buffer]}, i64 {size})")
        self.code.do(f"store ptr null, ptr {self.slot_address('%slots', 2 * number)}")

    def copy(self, target: str, source: str, size: str) -> None:
        """Copy bytes between memory that doesn't overlap."""
        self.module.declare("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        self.code.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size}, i1 false)")

    def fill(self, buffer: str, value: Literal) -> None:
        """One value for every element."""
        shape, dtype = self.names.shapes[buffer], value.dtype
        if not any(value.bits):
            size = self.bytes_of(shape, dtype)
            self.module.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            self.code.do(f"call void @llvm.memset.p0.i64(ptr {self.pointer(buffer)}, i8 0, i64 {size}, i1 false)")
            return
        count = "1"
        for length in shape:
            count = self.code.emit(f"mul i64 {count}, {self.size(length)}")
        with self.code.loop("0", count) as index:
            kind = stored_type(dtype)
            address = self.code.emit(f"getelementptr {kind}, ptr {self.pointer(buffer)}, i64 {index}")
            self.put(dtype, constant(value), address)


def _is_length(size: Size) -> bool:
    """Whether a size is a number, or the length of an input along one axis."""
    if isinstance(size, int):
        return True
    (monomial, factor), *rest = size.terms
    return not rest and factor == 1 and len(monomial) == 1 and isinstance(monomial[0], str) and "." in monomial[0]


def _root(name: str, views: dict[str, str]) -> str:
    while name in views:
        name = views[name]
    return name
