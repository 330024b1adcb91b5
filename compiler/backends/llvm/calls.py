"""Library calls of the kernel form as LLVM IR: products of matrices, sorting, mapped programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernel import Call, Program, Size
from ...views import is_one
from .code import stored_type
from .gemm import gemm_text

if TYPE_CHECKING:
    from .functions import Core

GEMM = "declare void @nt_gemm_{0}(i1, i1, i64, i64, i64, ptr, ptr, ptr)"


def write_call(core: Core, call: Call) -> None:
    """Write the code of a call."""
    WRITERS[call.name](core, call)


def _product(core: Core, sizes: tuple[Size, ...], start: str = "1") -> str:
    out = start
    for size in sizes:
        out = core.code.emit(f"mul i64 {out}, {core.size(size)}")
    return out


def _matmul(core: Core, call: Call) -> None:
    """One product, or one for each index of the leading axes."""
    shape, shapes, turned = call.param("shape"), call.param("shapes"), call.param("turned")
    out = call.outs[0]
    dtype = core.names.dtypes[out]
    kind = stored_type(dtype)
    if dtype.kind == "f":
        name = f"nt_gemm_{'f64' if dtype.itemsize == 8 else 'f32'}"
        core.module.declare(GEMM.format(name[-3:]))
    else:
        name = f"gemm_{kind if dtype.kind != 'b' else 'bool'}"
        core.module.declare(gemm_text(name, kind, dtype.kind))
    rows, columns, inner = core.size(shape[-2]), core.size(shape[-1]), core.size(shapes[0][-1])
    batch = _product(core, shape[:-2])
    with core.code.loop("0", batch) as turn:
        places = _places(core, shape[:-2], turn)
        pointers = []
        for arg, own in zip(call.args, shapes, strict=True):
            assert isinstance(arg, str)
            pointers.append(_matrix(core, core.pointer(arg), kind, own, places))
        pointers.append(_matrix(core, core.pointer(out), kind, shape, places))
        flags = ", ".join(f"i1 {'true' if t else 'false'}" for t in turned)
        core.code.do(
            f"call void @{name}({flags}, i64 {rows}, i64 {columns}, i64 {inner}, "
            f"{', '.join(f'ptr {p}' for p in pointers)})"
        )


def _places(core: Core, sizes: tuple[Size, ...], turn: str) -> list[str]:
    """The index along each leading axis at a turn of the loop over all of them."""
    out: list[str] = []
    rest = turn
    for number, size in enumerate(reversed(sizes)):
        if number == len(sizes) - 1:
            out.insert(0, rest)
            break
        length = core.size(size)
        out.insert(0, core.code.emit(f"urem i64 {rest}, {length}"))
        rest = core.code.emit(f"udiv i64 {rest}, {length}")
    return out


def _matrix(core: Core, base: str, kind: str, shape: tuple[Size, ...], places: list[str]) -> str:
    """The address of the matrix that an operand has at a place; axes of length 1 stretch."""
    code, own = core.code, shape[:-2]
    offset = ""
    for size, place in zip(own, places[len(places) - len(own) :], strict=True):
        if offset:
            offset = code.emit(f"mul i64 {offset}, {core.size(size)}")
        if not is_one(size):
            offset = code.emit(f"add i64 {offset}, {place}") if offset else place
    if not offset:
        return base
    offset = _product(core, shape[-2:], offset)
    return code.emit(f"getelementptr {kind}, ptr {base}, i64 {offset}")


def _sort(core: Core, call: Call) -> None:
    """Row after row, by NumPy's own sort of the dtype; positions by its stable one."""
    code, source, out = core.code, str(call.args[0]), call.outs[0]
    dtype = core.names.dtypes[source]
    kind = stored_type(dtype)
    length, rows = core.size(call.param("length")), core.size(call.param("rows"))
    name = f"nt_{call.name}_{dtype.name}"
    given = "ptr, i64, ptr" if call.name == "sort" else "ptr, ptr, i64, ptr"
    core.module.declare(f"declare i32 @{name}({given})")
    if call.name == "sort":
        size = code.emit(f"mul i64 {code.emit(f'mul i64 {length}, {rows}')}, {dtype.itemsize}")
        core.copy(core.pointer(out), core.pointer(source), size)
    with code.loop("0", rows) as row:
        begin = code.emit(f"mul i64 {row}, {length}")
        base = core.pointer(out if call.name == "sort" else source)
        values = code.emit(f"getelementptr {kind}, ptr {base}, i64 {begin}")
        if call.name == "sort":
            status = code.emit(f"call i32 @{name}(ptr {values}, i64 {length}, ptr null)")
        else:
            places = code.emit(f"getelementptr i64, ptr {core.pointer(out)}, i64 {begin}")
            with code.loop("0", length) as index:
                code.do(f"store i64 {index}, ptr {code.emit(f'getelementptr i64, ptr {places}, i64 {index}')}")
            status = code.emit(f"call i32 @{name}(ptr {values}, ptr {places}, i64 {length}, ptr null)")
        core.leave_unless_0(code.emit(f"select i1 {code.emit(f'icmp eq i32 {status}, 0')}, i32 0, i32 -4"))


def _map(core: Core, call: Call) -> None:
    """The program inside runs once for each index; what it returns is copied to its place, and given back."""
    from .functions import write_program

    code, program = core.code, call.param("program")
    name = core.module.name("inner")
    write_program(program, core.module, name, "internal")
    slots = sum(1 + item.rank for item in program.inputs)
    given = _array(core, slots)
    taken = _array(core, sum(1 + output.rank for output in program.outputs))
    with code.loop("0", core.size(call.param("turns"))) as turn:
        _pass(core, call, program, given, turn)
        core.leave_unless_0(code.emit(f"call i32 @{name}(ptr {given}, ptr {taken})"))
        number = 0
        for out, output, shape in zip(call.outs, program.outputs, call.param("shapes"), strict=True):
            kind = stored_type(output.dtype)
            address = core.slot_address(taken, number)
            place = code.emit(f"getelementptr {kind}, ptr {core.pointer(out)}, i64 {_product(core, shape, turn)}")
            if output.rank:
                memory, size = code.emit(f"load ptr, ptr {address}"), core.bytes_of(shape, output.dtype)
                core.copy(place, memory, size)
                code.do(f"call void @nt_free(ptr {memory}, i64 {size})")
            else:
                code.do(f"store {kind} {code.emit(f'load {kind}, ptr {address}')}, ptr {place}")
            number += 1 + output.rank


def _array(core: Core, slots: int) -> str:
    return core.code.variable(f"[{max(1, slots)} x i64]")


def _pass(core: Core, call: Call, program: Program, given: str, turn: str) -> None:
    """Fill the slots of the program's inputs: those that are mapped with what they hold at this turn."""
    code, number = core.code, 0
    for arg, item, mapped in zip(call.args, program.inputs, call.param("mapped"), strict=True):
        address = core.slot_address(given, number)
        shape: tuple[Any, ...] = core.names.shapes.get(arg, ()) if isinstance(arg, str) else ()
        kind = stored_type(item.dtype)
        inner = shape[1:] if mapped else shape
        if not mapped and not item.rank:
            core.put(item.dtype, core.operand(arg), address)
        else:
            place = core.pointer(str(arg))
            if mapped:
                place = code.emit(f"getelementptr {kind}, ptr {place}, i64 {_product(core, inner, turn)}")
            if item.rank:
                code.do(f"store ptr {place}, ptr {address}")
            else:
                code.do(f"store {kind} {code.emit(f'load {kind}, ptr {place}')}, ptr {address}")
        for axis, size in enumerate(inner):
            code.do(f"store i64 {core.size(size)}, ptr {core.slot_address(given, number + 1 + axis)}")
        number += 1 + item.rank


WRITERS = {"matmul": _matmul, "sort": _sort, "argsort": _sort, "map": _map}
