"""Types of values: dtype, symbolic shape and weakness; promotion and broadcasting as pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from .dims import Dim, at_most_one, show_size
from .errors import ShapeError
from .plain import dataclass

Shape = tuple["int | Dim", ...]

SHORT = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool", "complex64": "c64", "complex128": "c128",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
}  # fmt: skip
LONG = {short: np.dtype(long) for long, short in SHORT.items()}
BOOL, INT64, FLOAT32, FLOAT64 = (np.dtype(name) for name in ("bool", "int64", "float32", "float64"))
WEAK_DTYPES: dict[type, np.dtype[Any]] = {bool: BOOL, int: INT64, float: FLOAT64}
_WEAK: dict[str, type] = {"i": int, "u": int, "f": float, "c": complex, "b": bool}


@dataclass(frozen=True, slots=True)
class ArrayType:
    """What is known of a value before any call: ``f64[x.0, 3]``. `weak` marks a Python scalar (NEP 50)."""

    dtype: np.dtype[Any]
    shape: Shape = ()
    weak: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def inexact(self) -> bool:
        """Whether derivatives can reach a value of this type."""
        return self.dtype.kind in "fc"

    def with_shape(self, shape: Shape) -> ArrayType:
        return ArrayType(self.dtype, shape, self.weak and not shape)

    def with_dtype(self, dtype: np.dtype[Any]) -> ArrayType:
        return ArrayType(dtype, self.shape)

    def __str__(self) -> str:
        return f"{'~' if self.weak else ''}{SHORT[self.dtype.name]}[{', '.join(map(show_size, self.shape))}]"


class Facts(Protocol):
    """Who decides what a type rule can't: a recording guards the answer, a pass trusts the recording's."""

    def same(self, a: int | Dim, b: int | Dim) -> int | Dim | None:
        """One size for two that must be equal; None when they differ."""

    def is_one(self, a: int | Dim) -> bool:
        """Whether the size is 1 (so that it stretches)."""

    def sign(self, a: int | Dim) -> int:
        """-1, 0 or 1."""

    def bounds(self) -> dict[Any, int]:
        """Known lower bounds of atoms."""


class Trust:
    """The facts of a finished graph: whatever it assumed was guarded when it was recorded."""

    def same(self, a: int | Dim, b: int | Dim) -> int | Dim | None:
        if isinstance(a, int) and isinstance(b, int):
            return a if a == b else None
        return a if isinstance(a, int) or not isinstance(b, int) else b

    def is_one(self, a: int | Dim) -> bool:
        return type(a) is int and a == 1

    def sign(self, a: int | Dim) -> int:
        if isinstance(a, int):
            return (a > 0) - (a < 0)
        return 1

    def bounds(self) -> dict[Any, int]:
        return {}


TRUST = Trust()


def broadcast(facts: Facts, *shapes: Shape) -> Shape:
    """The shape that `shapes` stretch to, right-aligned. Raises ShapeError where they don't fit."""
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    rank = max(map(len, shapes))
    out: list[int | Dim] = []
    for axis in range(-rank, 0):
        size: int | Dim = 1
        for shape in shapes:
            if len(shape) < -axis:
                continue
            other = shape[axis]
            if other == size or (type(other) is int and other == 1):
                continue
            if type(size) is int and size == 1:
                size = other
                continue
            # x[-1:] of one element stretches: a guard that it has one is weaker than one of equal sizes
            if at_most_one(other) and facts.is_one(other):
                continue
            if at_most_one(size) and facts.is_one(size):
                size = other
                continue
            merged = facts.same(size, other)
            if merged is not None:
                size = merged
            elif facts.is_one(other):
                continue
            elif facts.is_one(size):
                size = other
            else:
                texts = " and ".join(f"({', '.join(map(show_size, s))})" for s in shapes)
                raise ShapeError(f"shapes {texts} can't be broadcast together")
        out.append(size)
    return tuple(out)


def weak_kind(type_: ArrayType) -> Any:
    """What stands for a value in promotion: its dtype, or the Python type of a weak scalar."""
    return _WEAK[type_.dtype.kind] if type_.weak and type_.dtype.kind != "b" else type_.dtype


@lru_cache(4096)
def loop_dtypes(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """The dtypes in which NumPy computes `ufunc` for these inputs: those it casts to, then the results'."""
    if ufunc in _COMPARISONS and int in kinds and all(k is int or np.dtype(k).kind in "iu" for k in kinds):
        # by value, as NumPy compares a Python integer: an int8 is less than 300
        kinds = tuple([k if k == np.uint64 else INT64 for k in kinds])
    return tuple(ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout)))


_COMPARISONS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}


def result_dtype(types: Sequence[ArrayType]) -> np.dtype[Any]:
    """NumPy 2's common dtype of values, weak scalars included."""
    examples = [_WEAK[t.dtype.kind](0) if t.weak and t.dtype.kind != "b" else t.dtype for t in types]
    return np.dtype(np.result_type(*examples))


def type_of(value: Any) -> ArrayType:
    """The concrete type of a NumPy array, NumPy scalar or Python number."""
    if isinstance(value, np.ndarray | np.generic):
        return ArrayType(value.dtype, value.shape)
    if isinstance(value, bool):
        return ArrayType(BOOL, (), True)
    if isinstance(value, int):
        return ArrayType(INT64, (), True)
    if isinstance(value, float):
        return ArrayType(FLOAT64, (), True)
    raise TypeError(f"no array type for {type(value).__name__}")
