"""Source of the library calls of the kernel form: products of matrices, sorting, mapped programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Call
from ...views import is_one
from .templates import bare

if TYPE_CHECKING:
    from .source import Writer


def write_call(writer: Writer, call: Call) -> None:
    """Write the lines of a call."""
    WRITERS[call.name](writer, call)


def _indent(writer: Writer, lines: list[str]) -> None:
    for line in lines:
        writer.line("    " + line)


def _matmul(writer: Writer, call: Call) -> None:
    """One product, or one for each index of the leading axes. BLAS complains of empty matrices."""
    shape, shapes = call.param("shape"), call.param("shapes")
    needed = [*shape, shapes[0][-1]]
    tests = [f"{writer.size(s)} > 0" for s in dict.fromkeys(needed) if not (isinstance(s, int) and s > 0)]
    out = call.outs[0]
    if tests:
        writer.line(f"if {' and '.join(tests)}:")
        writer.pad += 1
    before = writer.pad
    names = []
    for axis, size in enumerate(shape[:-2]):
        names.append(f"{out}_{axis}")
        writer.line(f"for {names[-1]} in range({bare(writer.size(size))}):")
        writer.pad += 1
    texts = []
    for arg, inner, turned in zip(call.args, shapes, call.param("turned"), strict=True):
        batch = len(inner) - 2
        own = names[len(names) - batch :]
        index = ["0" if is_one(s) else name for s, name in zip(inner[:batch], own, strict=True)]
        texts.append((f"{arg}[{', '.join(index)}]" if index else str(arg)) + (".T" if turned else ""))
    target = f"{out}[{', '.join(names)}]" if names else out
    writer.line(f"np.dot({', '.join([*texts, target])})")
    writer.pad = before
    if tests:
        writer.pad -= 1
        writer.line("else:")
        writer.line(f"    {out}[...] = 0")


def _sort(writer: Writer, call: Call) -> None:
    rows, length = (bare(writer.size(call.param(name))) for name in ("rows", "length"))
    arrays = [str(call.args[0]), call.outs[0]]
    views = arrays if call.param("rank") == 2 else [f"reshaped({a}, ({rows}, {length}))" for a in arrays]
    writer.line(f"{call.name}_rows({', '.join(views)})")


def _map(writer: Writer, call: Call) -> None:
    from .source import inner_source

    program = call.param("program")
    writer.inner.append(inner_source(program, writer.inner))
    turn, result = f"{call.outs[0]}_turn", f"{call.outs[0]}_results"
    args = [f"{a}[{turn}]" if m else writer.operand(a) for a, m in zip(call.args, call.param("mapped"), strict=True)]
    writer.line(f"for {turn} in range({bare(writer.size(call.param('turns')))}):")
    lines = [f"{result} = {program.name}({', '.join(args)})"]
    if fails_inside(program):
        lines += [f"if {result}[0] != 0:", f"    status = {result}[0]", "    break"]
    for number, (out, shape) in enumerate(zip(call.outs, call.param("shapes"), strict=True)):
        names = [f"{out}_{axis}" for axis in range(len(shape))]
        pad = ""
        for name, size in zip(names, shape, strict=True):
            lines.append(f"{pad}for {name} in range({bare(writer.size(size))}):")
            pad += "    "
        where = f"[{', '.join(names)}]" if names else ""
        lines.append(f"{pad}{out}[{', '.join([turn, *names])}] = {result}[{number + 1}]{where}")
    _indent(writer, lines)
    if fails_inside(program):
        writer.leave_again()


def fails_inside(program: object) -> bool:
    from .uses import fails

    return fails(program.body)  # type: ignore[attr-defined]


WRITERS = {"matmul": _matmul, "sort": _sort, "argsort": _sort, "map": _map}
