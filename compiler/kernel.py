"""The kernel form: what fusion makes of a graph and every back end takes. Plain data, with a printer.

A :class:`Program` is a list of statements: allocations, checks, library calls and loop nests, grouped into kernels.
Scalars are assigned once, each with its dtype; loops run from 0; memory is read and written at affine indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tracer.dims import Dim, show_size
from ..tracer.graph import NOWHERE, Loc
from ..tracer.plain import dataclass, field
from ..tracer.types import SHORT

Size = int | Dim
INDEX, EMPTY, POWER = -1, -2, -3  # statuses: an index out of range, an extreme of nothing, a negative integer power
Dtype = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Affine:
    """An index along one axis: ``offset + sum(factor * name)`` over loops and integer scalars."""

    terms: tuple[tuple[Any, Size], ...] = ()
    offset: Size = 0

    def scaled(self, factor: Size, offset: Size) -> Affine:
        """``factor * self + offset``."""
        if type(factor) is int and factor == 1 and type(offset) is int and offset == 0:
            return self
        return Affine(tuple((name, f * factor) for name, f in self.terms), self.offset * factor + offset)

    def plus(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for name, factor in other.terms:
            terms[name] = terms.get(name, 0) + factor
        return Affine(tuple(terms.items()), self.offset + other.offset)

    def __str__(self) -> str:
        parts = []
        for name, factor in self.terms:
            one = type(factor) is int and factor == 1
            parts.append(f"{name}" if one else f"{_wrap(factor)}*{name}")
        if not parts or self.offset != 0:
            parts.append(show_size(self.offset))
        return " + ".join(parts).replace("+ -", "- ")


def _wrap(size: Size) -> str:
    text = show_size(size)
    return f"({text})" if " " in text else text


Index = tuple[Affine, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant scalar; its value is a NumPy scalar of its dtype, compared by its bits."""

    bits: bytes
    dtype: Dtype

    @staticmethod
    def of(value: Any, dtype: Dtype) -> Literal:
        return Literal(np.asarray(value).astype(dtype).tobytes(), dtype)

    @property
    def value(self) -> Any:
        return np.frombuffer(self.bits, self.dtype)[0]

    def __str__(self) -> str:
        return repr(self.value.item())


Operand = str | Literal


@dataclass(frozen=True, slots=True)
class Let:
    """``name = op(args)`` with a primitive of scalar.py."""

    name: str
    dtype: Dtype
    op: str
    args: tuple[Operand, ...]
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        return f"{self.name}: {SHORT[self.dtype.name]} = {self.op} {' '.join(map(str, self.args))}"


@dataclass(frozen=True, slots=True)
class Position:
    """``name = index // step``: an index, or a size, as an int64; `step` divides it where the value matters."""

    name: str
    index: Affine
    step: int = 1

    def __str__(self) -> str:
        return f"{self.name}: i64 = {self.index}" + (f" over {self.step}" if self.step != 1 else "")


@dataclass(frozen=True, slots=True)
class Load:
    """``name = buffer[index]``; where `mask` is false, 0 without touching memory."""

    name: str
    dtype: Dtype
    buffer: str
    index: Index
    mask: str | None = None

    def __str__(self) -> str:
        mask = f" if {self.mask}" if self.mask else ""
        return f"{self.name}: {SHORT[self.dtype.name]} = {self.buffer}{show_index(self.index)}{mask}"


@dataclass(frozen=True, slots=True)
class Within:
    """``name = base and (0 <= index < extent * step and index % step == 0)``: whether a slice holds an index."""

    name: str
    index: Affine
    extent: Size
    step: int = 1
    base: str | None = None

    def __str__(self) -> str:
        base = f"{self.base} and " if self.base else ""
        every = f" by {self.step}" if self.step != 1 else ""
        return f"{self.name}: bool = {base}{self.index} within {show_size(self.extent)}{every}"


@dataclass(frozen=True, slots=True)
class Wrap:
    """``name = value`` as a position on an axis of `extent`: negative ones count from the end; leave when outside."""

    name: str
    value: Operand
    extent: Size
    mask: str | None = None
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        mask = f" if {self.mask}" if self.mask else ""
        return f"{self.name}: i64 = wrap {self.value} in {show_size(self.extent)}{mask}"


@dataclass(frozen=True, slots=True)
class Store:
    """``buffer[index] = value``."""

    buffer: str
    index: Index
    value: Operand

    def __str__(self) -> str:
        return f"{self.buffer}{show_index(self.index)} = {self.value}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A running result, of `how`: sum, prod, max, min, any, all, argmax, argmin; or "last", that is, replaced.

    The order of a sum is the back end's choice, as long as the result is at least as accurate as pairwise summation.
    A "last" cell begins with `start` and may be read, by its name, inside of the loops that replace it.
    """

    name: str
    dtype: Dtype
    how: str
    start: Literal | None = None

    def __str__(self) -> str:
        start = f" from {self.start}" if self.start is not None else ""
        return f"cell {self.name}: {SHORT[self.dtype.name]} {self.how}{start}"


@dataclass(frozen=True, slots=True)
class Accumulate:
    """Take `value` into a cell; `position` is its place where `how` is argmax or argmin."""

    cell: str
    how: str
    value: Operand
    position: Affine | None = None

    def __str__(self) -> str:
        at = f" at {self.position}" if self.position is not None else ""
        return f"{self.cell} {self.how}= {self.value}{at}"


@dataclass(frozen=True, slots=True)
class Result:
    """``name = `` what a cell has come to, once the loops that feed it are over."""

    name: str
    dtype: Dtype
    cell: str
    how: str

    def __str__(self) -> str:
        return f"{self.name}: {SHORT[self.dtype.name]} = result {self.cell}"


@dataclass(frozen=True, slots=True)
class Update:
    """``buffer[index] how= value``: a reduction whose results lie in memory, or a scatter."""

    buffer: str
    index: Index
    how: str
    value: Operand

    def __str__(self) -> str:
        return f"{self.buffer}{show_index(self.index)} {self.how}= {self.value}"


@dataclass(frozen=True, slots=True)
class Loop:
    """`body` for each value of `name` from 0 to `extent` - 1, in this order."""

    name: str
    extent: Size
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If:
    condition: str
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Leave with `status` unless ``left relation right`` (relation "is": the truth of `left` is `right`)."""

    left: Operand | Size
    relation: str
    right: Any
    status: int
    loc: Loc = field(default=NOWHERE, compare=False)

    def __str__(self) -> str:
        left = show_size(self.left) if isinstance(self.left, int | Dim) else str(self.left)
        right = show_size(self.right) if isinstance(self.right, Dim) else str(self.right)
        return f"check {left} {self.relation} {right} else {self.status}"


@dataclass(frozen=True, slots=True)
class Bind:
    """Give a size (an atom such as "#0") the number that a scalar has; `name` is what it is called from then on."""

    atom: str
    value: Operand
    name: str

    def __str__(self) -> str:
        return f"size {self.atom} = {self.value}"


@dataclass(frozen=True, slots=True)
class Buffer:
    name: str
    dtype: Dtype
    shape: tuple[Size, ...]

    def __str__(self) -> str:
        return f"{self.name}: {SHORT[self.dtype.name]}[{', '.join(map(show_size, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Alloc:
    """A new buffer: with any content, filled with one value, or a copy of `source`."""

    buffer: Buffer
    fill: Literal | None = None
    source: str | None = None

    def __str__(self) -> str:
        fill = f" = {self.fill}" if self.fill is not None else f" = copy {self.source}" if self.source else ""
        return f"new {self.buffer}{fill}"


@dataclass(frozen=True, slots=True)
class Fill:
    """One value for every element of a buffer."""

    buffer: str
    value: Literal

    def __str__(self) -> str:
        return f"{self.buffer} = fill {self.value}"


@dataclass(frozen=True, slots=True)
class View:
    """The memory of `source` in another shape, or under another name."""

    buffer: Buffer
    source: str

    def __str__(self) -> str:
        return f"view {self.buffer} = {self.source}"


@dataclass(frozen=True, slots=True)
class Call:
    """A library call: `name` is matmul, sort, argsort or map; `args` and `outs` name buffers and scalars."""

    name: str
    outs: tuple[str, ...]
    args: tuple[Operand, ...]
    params: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        params = "".join(f" {k}={v}" for k, v in self.params if not isinstance(v, Program))
        return f"{', '.join(self.outs)} = {self.name} {' '.join(map(str, self.args))}{params}"

    def param(self, name: str) -> Any:
        return dict(self.params)[name]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One loop nest or library call, with the lines of the user's code that it comes from."""

    title: str
    body: tuple[Statement, ...]
    locs: tuple[Loc, ...] = field(default=(), compare=False)


Statement = (
    Let | Position | Load | Within | Wrap | Store | Cell | Accumulate | Result | Update | Loop | If | Check | Bind
    | Alloc | Fill | View | Call | Kernel
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    dtype: Dtype
    rank: int
    weak: bool = False


@dataclass(frozen=True, slots=True)
class OutputValue:
    """A result: the name of a buffer or scalar, or a literal."""

    value: Operand
    dtype: Dtype
    rank: int
    weak: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A graph before any back end. `sizes` lists an atom, its input, its axis (None: the value itself), its name."""

    name: str
    inputs: tuple[Input, ...]
    sizes: tuple[tuple[str, str, int | None, str], ...]
    constants: tuple[tuple[str, Any], ...]
    body: tuple[Statement, ...]
    outputs: tuple[OutputValue, ...]

    def __str__(self) -> str:
        from .listing import show_program

        return show_program(self)


def show_index(index: Index) -> str:
    return f"[{', '.join(map(str, index))}]" if index else ""
