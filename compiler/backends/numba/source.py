"""From a program in kernel form to Python source: the kernel, and the function that makes room for its results.

The kernel takes the inputs and arrays for its results and temporaries, and returns ``(status, *others)``, where the
others are scalars and arrays whose sizes are found on the way. ``NAME_call(inputs)`` brings those arrays and returns
``(status, *outputs)``: Python runs it as it stands, numba compiles it for use in other compiled code.
"""

from __future__ import annotations

import builtins
import re

from ....tracer.dims import names
from ....tracer.graph import Const, Graph
from ....tracer.plain import dataclass
from ...kernel import Alloc, Buffer, Literal, OutputValue, Program, Statement, View
from ...plan import program_of
from .body import INTEGER, Writer
from .helpers import helper_names
from .parts import cut, link
from .templates import dtype_name, literal
from .uses import fails

# words of the source that nothing of the user's may be called
RESERVED = (
    "np", "math", "njit", "range", "min", "max", "abs", "status", "lo", *helper_names(), *vars(builtins)
)  # fmt: skip
DECORATOR = '@njit(error_model="numpy", nogil=True)'
SPARE = 8  # temporary arrays up to this number come from the caller too
SHOWN = 50  # elements of a constant array that are written out


@dataclass(frozen=True)
class Source:
    """Generated text. `inner` are functions that the kernel calls in loops; `brought` counts arrays for results."""

    inner: tuple[str, ...]
    kernel: str
    entry: str
    brought: tuple[Buffer, ...]
    constants: tuple[tuple[str, Const], ...]

    def __str__(self) -> str:
        compiled = "\n\n".join(f"{DECORATOR}\n{text}" for text in (*self.inner, self.kernel))
        body = f"{compiled}\n\n{self.entry}"
        words = re.findall(r"[a-z_0-9]+", body)
        helpers = ", ".join(sorted({*words} & {*helper_names()}))
        lines = ["import math", "", "import numpy as np", "from numba import njit"]
        if helpers:
            lines.append(f"from numtape.compiler.backends.numba.helpers import {helpers}")
        lines += [""] + [_constant(name, value) for name, value in self.constants]
        return "\n".join(lines).rstrip() + f"\n\n\n{body}"


def _constant(name: str, value: Const) -> str:
    array = value.array()
    if array.size > SHOWN:
        return f"{name} = ...  # {array.dtype.name}, shape {array.shape}: a constant of the program"
    return f"{name} = np.array({array.tolist()!r}, np.{array.dtype.name}).reshape({array.shape})"


def constants_in(program: Program) -> tuple[tuple[str, Const], ...]:
    """The constant arrays of a program and of those inside of it."""
    out = list(program.constants)
    for item in program.body:
        for call in getattr(item, "body", ()):
            for _, value in getattr(call, "params", ()):
                if isinstance(value, Program):
                    out += constants_in(value)
    return tuple(out)


def readable(graph: Graph) -> str:
    """The source of a graph for people to read: numba itself is not needed to write it."""
    return str(source_of(program_of(graph, RESERVED)))


def source_of(program: Program) -> Source:
    """The source of a program."""
    buffers, views = _buffers(program.body)
    known = {atom for atom, _, _, _ in program.sizes}
    given: dict[str, str] = {}
    brought: list[Buffer] = []
    names_of_results: dict[str, str] = {}
    for output in program.outputs:
        if not output.rank:
            continue
        assert isinstance(output.value, str)
        buffer, made = buffers[output.value], output.value
        while made in views:
            made = views[made]
        if made in buffers and _is_known(buffer, known):
            brought.append(buffers[made] if buffers[made].shape == buffer.shape else buffer)
            given[made] = names_of_results[output.value] = brought[-1].name
    spare = [
        item.buffer
        for item in program.body
        if isinstance(item, Alloc) and item.buffer.name not in given and _is_known(item.buffer, known)
    ]
    if len(spare) <= SPARE:  # NumPy asks for huge pages, which large arrays are cheaper to fill on
        brought += spare
        given |= {buffer.name: buffer.name for buffer in spare}
    inner: list[str] = []
    returned = [o for o in program.outputs if not o.rank or o.value not in names_of_results]
    kernel = _function(program, inner, given, [b.name for b in brought], returned)
    return Source(
        tuple(inner),
        kernel,
        _entry(program, brought, returned, names_of_results),
        tuple(brought),
        constants_in(program),
    )


def _is_known(buffer: Buffer, known: set[str]) -> bool:
    """Whether the shape of a buffer follows from the shapes of the inputs."""
    return all(names(size) <= known for size in buffer.shape)


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
    parts = cut(program.body)
    leaves = [fails(part) for part in parts]
    texts: list[list[str]] = []
    for part in parts:
        writer.lines = []
        writer.block(part)
        texts.append(writer.lines)
    values = [writer.operand(o.value) for o in returned]
    sizes = _size_lines(program, writer)
    names_given = [*(i.name for i in program.inputs), *arrays, *(line.split()[0] for line in sizes)]
    functions, calls = link(texts, names_given, values, program.name, leaves, lambda name: _empty(writer, name))
    inner += functions
    lines = [*(f"    {call}" for call in calls), *texts[-1], f"    return {_tuple(['0', *values])}"]
    if any(leaves):
        lines = ["    status = 0", "    while True:", *(f"    {line}" for line in lines)]
        lines.append(f"    return {_tuple(['status', *map(_placeholder, returned)])}")
    head = f"def {program.name}({', '.join([*(i.name for i in program.inputs), *arrays])}):"
    return "\n".join([head, *sizes, *lines]) + "\n"


def _empty(writer: Writer, name: str) -> str:
    """What stands for a value of that name when a part leaves early."""
    dtype, rank = writer.dtypes.get(name, INTEGER), writer.ranks.get(name, 0)
    return _placeholder(OutputValue(name, dtype, rank))


def _entry(program: Program, brought: list[Buffer], returned: list[OutputValue], arrays: dict[str, str]) -> str:
    writer = Writer(program, [], {})
    for buffer in brought:
        # a size may be negative where a guard is about to say that the inputs don't fit
        sizes = [
            writer.size(s) if isinstance(s, int) or _never_negative(s) else f"max(0, {writer.size(s)})"
            for s in buffer.shape
        ]
        shape = f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"
        writer.line(f"{buffer.name} = np.empty({shape}, {dtype_name(buffer.dtype)})")
    inputs = ", ".join(i.name for i in program.inputs)
    taken = {i.name for i in program.inputs}
    values = [next(v for v in (f"value{n}", f"value{n}_") if v not in taken) for n in range(len(returned))]
    call = f"{program.name}({', '.join([i.name for i in program.inputs] + [b.name for b in brought])})"
    writer.line(f"{', '.join(['status', *values])}{'' if values else ','} = {call}")
    left = iter(values)
    outs = [next(left) if o in returned else arrays[str(o.value)] for o in program.outputs]
    writer.line(f"return {_tuple(['status', *outs])}")
    lines = [f"def {program.name}_call({inputs}):", *_size_lines(program, writer), *writer.lines]
    return "\n".join(lines) + "\n"


def _never_negative(size: object) -> bool:
    terms = getattr(size, "terms", ())
    return all(factor > 0 and all(isinstance(a, str) and "." in a for a in monomial) for monomial, factor in terms)


def _size_lines(program: Program, writer: Writer) -> list[str]:
    return [
        f"    {name} = {inner}.shape[{axis}]"
        for atom, inner, axis, name in program.sizes
        if axis is not None and atom in writer.used_sizes
    ]


def _tuple(items: list[str]) -> str:
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _placeholder(output: OutputValue) -> str:
    if not output.rank:
        return literal(Literal.of(0, output.dtype))
    return f"np.empty({_tuple(['0'] * output.rank)}, {dtype_name(output.dtype)})"
