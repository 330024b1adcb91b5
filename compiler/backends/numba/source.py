"""From a program in kernel form to Python source: the kernel, and the function that makes room for its results.

The kernel takes the inputs and the arrays for its results, and returns ``(status, *others)``, where the others are
scalars and arrays whose sizes are found on the way. ``NAME_call(inputs)`` brings those arrays and returns
``(status, *outputs)``: Python runs it as it stands, numba compiles it for use in other compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....tracer.dims import names
from ...kernel import Alloc, Buffer, Call, Kernel, Literal, OutputValue, Program, Statement, View
from .body import Writer
from .templates import dtype_name, literal
from .uses import fails

HEAD = """import math

import numpy as np
from numba import njit
from numtape.compiler.backends.numba.helpers import *  # select, add, two_sum, u (np.uint64), f32 (np.float32) ...


"""


@dataclass(frozen=True)
class Source:
    """Generated text. `inner` are functions that the kernel calls in loops; `brought` counts arrays for results."""

    inner: tuple[str, ...]
    kernel: str
    entry: str
    brought: tuple[Buffer, ...]

    def __str__(self) -> str:
        return HEAD + "\n\n".join([*(f"@njit(error_model='numpy', nogil=True)\n{t}" for t in self.inner), self.kernel, self.entry])


def source_of(program: Program) -> Source:
    """The source of a program."""
    buffers, views = _buffers(program.body)
    known = {name for name, _, _ in program.sizes}
    given: dict[str, str] = {}
    brought: list[Buffer] = []
    for output in program.outputs:
        if not output.rank:
            continue
        assert isinstance(output.value, str)
        buffer, made = buffers[output.value], output.value
        while made in views:
            made = views[made]
        if made in buffers and all(names(size) <= known for size in buffer.shape):
            given[made] = buffer.name
            brought.append(buffer)
    inner: list[str] = []
    returned = [o for o in program.outputs if not o.rank or o.value not in given.values()]
    kernel = _function(program, inner, given, [b.name for b in brought], returned)
    return Source(tuple(inner), kernel, _entry(program, brought, returned), tuple(brought))


def inner_source(program: Program, inner: list[str]) -> str:
    """The source of a program inside of another: it makes room for its results itself."""
    return _function(program, inner, {}, [], list(program.outputs))


def _buffers(body: tuple[Statement, ...]) -> tuple[dict[str, Buffer], dict[str, str]]:
    """Every buffer that a program makes, and for each view the buffer that it shows."""
    buffers: dict[str, Buffer] = {}
    views: dict[str, str] = {}
    for item in body:
        match item:
            case Alloc(buffer):
                buffers[buffer.name] = buffer
            case View(buffer, source):
                buffers[buffer.name] = buffer
                views[buffer.name] = source
    return buffers, views


def _function(
    program: Program, inner: list[str], given: dict[str, str], arrays: list[str], returned: list[OutputValue]
) -> str:
    writer = Writer(program, inner, given)
    leaves = fails(program.body)
    if leaves:
        writer.line("status = 0")
        writer.line("while True:")
        writer.pad += 1
    writer.block(program.body)
    writer.line(f"return {_tuple(['0', *(writer.operand(o.value) for o in returned)])}")
    if leaves:
        writer.pad -= 1
        writer.line(f"return {_tuple(['status', *map(_placeholder, returned)])}")
    head = [f"def {program.name}({', '.join([*(i.name for i in program.inputs), *arrays])}):"]
    head += _size_lines(program, writer)
    return "\n".join([*head, *writer.lines]) + "\n"


def _entry(program: Program, brought: list[Buffer], returned: list[OutputValue]) -> str:
    writer = Writer(program, [], {})
    for buffer in brought:
        # a size may be negative where a guard is about to say that the inputs don't fit
        sizes = [writer.size(s) if isinstance(s, int) or _never_negative(s) else f"max(0, {writer.size(s)})" for s in buffer.shape]
        shape = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
        writer.line(f"{buffer.name} = np.empty({shape}, {dtype_name(buffer.dtype)})")
    inputs = ", ".join(i.name for i in program.inputs)
    values = [f"value{n}" for n in range(len(returned))]
    call = f"{program.name}({', '.join([i.name for i in program.inputs] + [b.name for b in brought])})"
    writer.line(f"{', '.join(['status', *values])}{'' if values else ','} = {call}")
    left = iter(values)
    outs = [o.value if o not in returned else next(left) for o in program.outputs]
    writer.line(f"return {_tuple(['status', *map(str, outs)])}")
    lines = [f"def {program.name}_call({inputs}):", *_size_lines(program, writer), *writer.lines]
    return "\n".join(lines) + "\n"


def _never_negative(size: object) -> bool:
    terms = getattr(size, "terms", ())
    return all(factor > 0 and all(isinstance(a, str) and "." in a for a in monomial) for monomial, factor in terms)


def _size_lines(program: Program, writer: Writer) -> list[str]:
    return [
        f"    {writer.sizes[name]} = {inner}.shape[{axis}]"
        for name, inner, axis in program.sizes
        if axis is not None and name in writer.used_sizes
    ]


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _placeholder(output: OutputValue) -> str:
    if not output.rank:
        return literal(Literal.of(0, output.dtype))
    return f"np.empty({_tuple(['0'] * output.rank)}, {dtype_name(output.dtype)})"


__all__ = ["Call", "HEAD", "Kernel", "Source", "inner_source", "source_of"]
