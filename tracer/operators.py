"""Python's operators on Tensors, as a table; an eager operation costs little more than NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .context import context, place
from .errors import DtypeError, layout
from .op import Op
from .ops import OPS
from .values import Value, apply, lift, number

_NO_PARAMS: dict[str, Any] = {}
Operator = Callable[..., Any]


def install_operators(cls: Any) -> None:
    """Give the Tensor class its operators."""
    for name, op in {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
        "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
        "lshift": "left_shift", "rshift": "right_shift",
    }.items():  # fmt: skip
        forward, reflected = _binary(cls, OPS[op], getattr(np, op))
        forward = _power(cls, forward) if name == "pow" else forward
        setattr(cls, f"__{name}__", forward)
        setattr(cls, f"__r{name}__", reflected)
        setattr(cls, f"__i{name}__", _in_place(forward))
    for name, op in {
        "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    }.items():  # fmt: skip
        setattr(cls, f"__{name}__", _binary(cls, OPS[op], getattr(np, op))[0])
    for name, op in {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}.items():
        setattr(cls, f"__{name}__", _unary(cls, OPS[op]))
    cls.__matmul__ = lambda self, other: _matmul(self, other)
    cls.__rmatmul__ = lambda self, other: _matmul(other, self)
    cls.__divmod__ = lambda self, other: (self // other, self % other)
    cls.__rdivmod__ = lambda self, other: (other // self, other % self)
    cls.__round__ = lambda self, digits=0: np.round(self, digits)


def _binary(cls: Any, row: Op, compute: Operator) -> tuple[Operator, Operator]:
    """The operator of a row, and its reflected form."""

    def forward(self: Any, other: Any) -> Any:
        right = _operand(other)
        if right is None:
            return NotImplemented
        left = self._value if self._root is None and type(self) is cls else self._read()
        recorders = context.recorders
        if context.trace is None:
            out = Value(compute(left.array, right.array))
            if recorders:
                values, outs, where = (left, right), (out,), place()
                for recorder in recorders:
                    recorder.record(row, values, _NO_PARAMS, outs, where)
            return cls(out)
        return cls(apply(row, (left, right), _NO_PARAMS, place()))

    def reflected(self: Any, other: Any) -> Any:
        left = _operand(other)
        return NotImplemented if left is None else cls(apply(row, (left, self._read()), _NO_PARAMS, place()))

    return forward, reflected


def _power(cls: Any, general: Operator) -> Operator:
    """``**``, which NumPy computes otherwise for two exponents of arrays: (-0.0)**0.5 is -0.0, True**2 is an int8."""
    square, sqrt = (_unary(cls, OPS[name]) for name in ("square", "sqrt"))

    def power(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is int and other == 2 and self.ndim:
            return square(self)
        if kind is float and other == 0.5 and self.ndim and self.dtype.kind == "f":
            return sqrt(self)
        return general(self, other)

    return power


def _operand(item: Any) -> Value | None:
    kind = type(item)
    if kind is float:
        return Value(item, (), True)
    if hasattr(kind, "__numtape_traced__"):
        return item._read()
    if isinstance(item, int | float | np.ndarray | np.generic | list | tuple | complex):
        return lift(item)
    return None


def _unary(cls: Any, row: Op) -> Operator:
    return lambda self: cls(apply(row, (self._read(),), _NO_PARAMS, place()))


def _matmul(a: Any, b: Any) -> Any:
    if _operand(a) is None or _operand(b) is None:
        return NotImplemented
    return np.matmul(a, b)


def _in_place(forward: Operator) -> Operator:
    def update(self: Any, other: Any) -> Any:
        new = forward(self, other)
        if new is NotImplemented or (self.ndim == 0 and self._root is None):
            return new  # NumPy scalars are immutable: `s += 1` makes another
        if new.dtype != self.dtype:
            if not np.can_cast(new.dtype, self.dtype, "same_kind"):
                text = f"can't write {new.dtype} into an array of {self.dtype} in place"
                raise DtypeError(layout(text, fix="Write y = y + ..., or convert y first."))
            new = new.astype(self.dtype)
        if tuple(map(number, new._read().sizes)) != tuple(map(number, self._read().sizes)):
            raise ValueError(f"non-broadcastable output operand with shape {self.shape} doesn't match {new.shape}")
        self._replace(new)
        return self

    return update
