"""LLVM IR of one function under construction: instructions, blocks, variables, and the loops' annotations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...kernel import Literal

Dtype = np.dtype[Any]

TYPES = {"float64": "double", "float32": "float", "bool": "i1"}
TYPES |= {f"{kind}{bits}": f"i{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}


def type_of(dtype: Dtype) -> str:
    """The type of a scalar in a register; a bool is an i1."""
    return TYPES[dtype.name]


def stored_type(dtype: Dtype) -> str:
    """The type of a scalar in memory; a bool is a byte."""
    return "i8" if dtype.kind == "b" else TYPES[dtype.name]


def constant(value: Literal) -> str:
    """The text of a constant. Floats are written by their bits, those of float32 as the float64 of the same value."""
    number, dtype = value.value, value.dtype
    if dtype.kind == "b":
        return "true" if number else "false"
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return f"0x{int(np.float64(number).view(np.uint64)):016X}"
    return str(int(number))


class Code:
    """The lines of a function. Variables are stack slots that LLVM turns into registers."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix  # of its registers, where two codes make one function
        self.variables: list[str] = []
        self.lines: list[str] = []
        self.here = "entry"
        self._count = 0

    def fresh(self, stem: str = "v") -> str:
        self._count += 1
        return f"{self.prefix}{stem}{self._count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def emit(self, text: str) -> str:
        """Append an instruction and return the register that holds its result."""
        name = f"%{self.fresh()}"
        self.lines.append(f"  {name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.here = name

    def jump(self, name: str) -> None:
        self.do(f"br label %{name}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def variable(self, kind: str, start: str | None = None) -> str:
        """A slot for values of an IR type, with what it holds from here on."""
        name = f"%{self.fresh('s')}"
        self.variables.append(f"  {name} = alloca {kind}")
        if start is not None:
            self.do(f"store {kind} {start}, ptr {name}")
        return name

    @contextmanager
    def loop(self, begin: str, end: str, note: Callable[[], str] = str) -> Iterator[str]:
        """Code inside runs for each number from `begin` to `end` - 1, which the register in hand holds.

        `note` gives the loop's annotation once its body is written, such as ``, !llvm.loop !3``.
        """
        head, body, following, done = (self.fresh(word) for word in ("head", "body", "next", "done"))
        index, step = f"%{self.fresh('i')}", f"%{self.fresh('n')}"
        before = self.here
        self.jump(head)
        self.label(head)
        self.do(f"{index} = phi i64 [{begin}, %{before}], [{step}, %{following}]")
        self.branch(self.emit(f"icmp slt i64 {index}, {end}"), body, done)
        self.label(body)
        yield index
        self.jump(following)
        self.label(following)
        self.do(f"{step} = add nsw i64 {index}, 1")
        self.do(f"br label %{head}{note()}")
        self.label(done)

    @contextmanager
    def blocks(self, end: str, size: int) -> Iterator[tuple[str, str]]:
        """Code inside runs for each block of `size` numbers below `end`; in hand are its first and its end."""
        head, body, done = (self.fresh(word) for word in ("blocks", "block", "through"))
        low, step = f"%{self.fresh('lo')}", f"%{self.fresh('hi')}"
        before, following = self.here, self.fresh("next")
        self.jump(head)
        self.label(head)
        self.do(f"{low} = phi i64 [0, %{before}], [{step}, %{following}]")
        self.branch(self.emit(f"icmp slt i64 {low}, {end}"), body, done)
        self.label(body)
        self.do(f"{step} = add nsw i64 {low}, {size}")
        short = self.emit(f"icmp slt i64 {step}, {end}")
        yield low, self.emit(f"select i1 {short}, i64 {step}, i64 {end}")
        self.jump(following)
        self.label(following)
        self.jump(head)
        self.label(done)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """Code inside runs where the condition holds."""
        inside, after = self.fresh("then"), self.fresh("after")
        self.branch(condition, inside, after)
        self.label(inside)
        yield
        self.jump(after)
        self.label(after)
