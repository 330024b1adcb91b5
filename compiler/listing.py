"""Programs in kernel form as text."""

from __future__ import annotations

from typing import Any

from ..tracer.dims import show_size
from ..tracer.types import SHORT
from .kernel import Call, If, Input, Kernel, Loop, Program, Statement


def show_program(program: Program) -> str:
    """Print a program, one statement a line."""
    inputs = ", ".join(map(_show_input, program.inputs))
    lines = [f"program {program.name}({inputs})"]
    lines += [f"  constant {name}: {_show_constant(value)}" for name, value in program.constants]
    inner: list[Program] = []
    _show_body(program.body, 1, lines, inner)
    lines.append(f"  return {', '.join(str(o.value) for o in program.outputs)}")
    return "\n\n".join(["\n".join(lines), *map(show_program, inner)])


def _show_input(item: Input) -> str:
    return f"{item.name}: {'~' if item.weak else ''}{SHORT[item.dtype.name]}[{','.join(':' * item.rank)}]"


def _show_constant(value: Any) -> str:
    array = value.array()
    return f"{SHORT[array.dtype.name]}[{', '.join(map(str, array.shape))}]"


def _show_body(body: tuple[Statement, ...], depth: int, lines: list[str], inner: list[Program]) -> None:
    pad = "  " * depth
    for item in body:
        match item:
            case Kernel(title, statements, locs):
                where = ", ".join(dict.fromkeys(str(loc) for loc in locs if loc.line))
                lines.append(f"{pad}kernel {title}" + (f"  # {where}" if where else ""))
                _show_body(statements, depth + 1, lines, inner)
            case Loop(name, extent, statements):
                lines.append(f"{pad}for {name} in {show_size(extent)}:")
                _show_body(statements, depth + 1, lines, inner)
            case If(condition, statements):
                lines.append(f"{pad}if {condition}:")
                _show_body(statements, depth + 1, lines, inner)
            case _:
                lines.append(pad + str(item))
                if isinstance(item, Call):
                    inner += [value for _, value in item.params if isinstance(value, Program)]
