"""The scalar primitives that kernels are made of, and the builder with which op rows compose them.

A back end knows these by name and no op. The operands of a primitive have one dtype (a cast is a primitive too), and
so has the result, except where `result` says "bool". Semantics are those of NumPy's scalar loops: nan, infinities and
the sign of zero included; integers wrap in their own width; an integer division by zero gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..tracer.plain import dataclass
from ..tracer.types import BOOL, LONG


@dataclass(frozen=True, slots=True)
class Primitive:
    """One scalar operation; `cost` is in additions: a value dearer than 6 is stored rather than computed twice."""

    name: str
    arity: int
    cost: int = 1
    result: str = "same"


def _rows(names: str, arity: int, cost: int = 1, result: str = "same") -> dict[str, Primitive]:
    return {name: Primitive(name, arity, cost, result) for name in names.split()}


PRIMITIVES: dict[str, Primitive] = {
    **_rows("cast", 1),
    **_rows("neg abs bit_not floor ceil rint trunc", 1),
    **_rows("not_ isnan", 1, result="bool"),
    **_rows("add sub mul maximum minimum copysign", 2),
    **_rows("cotangent", 2, cost=3),  # 0 where the first operand is 0, whatever the second; else the product
    **_rows("bit_and bit_or bit_xor shift_left shift_right", 2),
    **_rows("eq ne lt le and_ or_ xor", 2, result="bool"),
    **_rows("select", 3),
    **_rows("div", 2, cost=3),
    **_rows("sqrt", 1, cost=3),
    **_rows("floordiv remainder fmod", 2, cost=10),
    **_rows("exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan", 1, cost=20),
    **_rows("sinh cosh tanh arcsinh arccosh arctanh cbrt erf", 1, cost=20),
    **_rows("pow arctan2 hypot", 2, cost=20),
}


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar under construction. A constant has no dtype of its own: it takes that of its siblings."""

    operand: Any
    dtype: np.dtype[Any] | None


class Scalars:
    """The builder `s` of an op row's scalar: ``s.select(s.lt(x, s.const(0)), s.neg(x), x)``.

    ``emit(name, dtype, operands)`` appends a primitive and returns its operand, and ``literal(value, dtype)`` makes a
    constant: a kernel under construction passes its own, and whoever counts costs passes others.
    """

    __slots__ = ("emit", "literal")

    def __init__(
        self,
        emit: Callable[[str, np.dtype[Any], tuple[Any, ...]], Any],
        literal: Callable[[Any, np.dtype[Any]], Any],
    ) -> None:
        self.emit, self.literal = emit, literal

    def const(self, value: float) -> Scalar:
        return Scalar(value, None)

    def cast(self, x: Scalar, dtype: str | np.dtype[Any]) -> Scalar:
        """`x` in a dtype, given by its short name or itself."""
        target = LONG[dtype] if isinstance(dtype, str) else dtype
        if x.dtype is None:
            return Scalar(self.literal(x.operand, target), target)
        return x if x.dtype == target else Scalar(self.emit("cast", target, (x.operand,)), target)

    def make(self, name: str, *args: Scalar) -> Scalar:
        """Append a primitive."""
        row = PRIMITIVES[name]
        assert len(args) == row.arity, f"{name} takes {row.arity} operands"
        head, rest = (args[:1], args[1:]) if name == "select" else ((), args)
        dtype = next((a.dtype for a in rest if a.dtype is not None), None)
        assert dtype is not None, f"{name}: a primitive of constants alone"
        typed = [self.cast(a, dtype) if a.dtype is None else a for a in rest]
        assert all(a.dtype == dtype for a in typed), f"{name}: operands of dtypes {[str(a.dtype) for a in typed]}"
        result = BOOL if row.result == "bool" else dtype
        return Scalar(self.emit(name, result, tuple(a.operand for a in (*head, *typed))), result)

    def __getattr__(self, name: str) -> Callable[..., Scalar]:
        if name not in PRIMITIVES:
            raise AttributeError(name)
        return lambda *args: self.make(name, *args)
