"""Python's operators on runtime scalars: integers stay exact, and none silently leaves 64 bits."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import dims
from .context import context
from .dims import Dim
from .scalar import COMPARE_ROWS, RELATIONS, Scalar, as_user_size, emit_scalar
from .values import is_traced, lift

_FITS = 2.0**62


def _small(estimate: Any) -> bool:
    """Whether an integer, estimated in floating point, stays within 64 bits; guarded."""
    return bool(abs(estimate) < _FITS) if isinstance(estimate, Scalar) else abs(estimate) < _FITS


def _as_float(item: Any) -> Any:
    return emit_scalar("weaken", item, kind="f") if isinstance(item, Scalar) else float(item)


def _fitting(size: int | Dim) -> Any:
    """An integer that arithmetic has made, as the user meets it: Python's have no end, 64 bits do."""
    trace = context.trace
    if isinstance(size, int) or trace is None or dims.largest(size) < _FITS:
        return as_user_size(size)
    if size not in trace.fitting:
        estimate: Any = 0.0
        for monomial, factor in size.terms:
            term: Any = float(factor)
            for part in monomial:
                term = term * _as_float(Scalar(size=dims.atom(part)))
            estimate = estimate + term
        if not _small(estimate):
            found = sorted(dims.names(size))
            for name in [n for n in found if "." not in n] or found:
                trace.force(dims.atom(name))
            return as_user_size(trace.canonical(size))
        trace.fitting.add(size)
    return as_user_size(size)


def _wide(name: str, a: Any, b: Any) -> Any:
    """Integer arithmetic on values of the graph that may leave 64 bits; None where the graph's own will do."""
    if name == "pow" and bool(b < 0):
        return emit_scalar("power", _as_float(a), _as_float(b))
    if name == "lshift" and bool(b < 0):
        raise ValueError("negative shift count")
    p, q = _as_float(a), _as_float(b)
    estimate = {"mul": lambda: p * q, "pow": lambda: p**q, "lshift": lambda: p * 2.0**q}[name]()
    if _small(estimate):
        return None
    exact: Callable[[int, int], int] = getattr(operator, name)
    return exact(operator.index(a), operator.index(b))


def _integers(*items: Any) -> bool:
    return all((i.kind if isinstance(i, Scalar) else type(i)) in (int, bool) for i in items) and any(
        isinstance(i, Scalar) and i.kind is int for i in items
    )


def _whole(item: Any) -> int | Dim | None:
    """An operand as a size, if it is one without asking anything."""
    if type(item) is int:
        return item
    return item._symbol if type(item) is Scalar else None


def install_scalar_operators() -> None:
    """Give the Scalar class its operators."""
    exact = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
    rows = {
        "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
        "mod": "remainder", "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
        "lshift": "left_shift", "rshift": "right_shift",
    }  # fmt: skip

    def sized(name: str, a: int | Dim, b: int | Dim) -> Any:
        """Integer arithmetic that stays a size; None where it doesn't."""
        if name in exact:
            return _fitting(exact[name](a, b))
        if name in ("floordiv", "mod"):
            if not (b != 0 if isinstance(b, int) else bool(as_user_size(b) != 0)):
                raise ZeroDivisionError("integer division or modulo by zero")  # guarded: it may be caught
            quotient = dims.floordiv(a, b)
            return as_user_size(quotient if name == "floordiv" else a - quotient * b)
        if name == "pow" and isinstance(b, int) and 0 <= b <= 4:
            result: int | Dim = 1
            for _ in range(b):
                result = a * result
            return _fitting(result)
        return None

    def binary(name: str) -> Callable[[Any, Any, bool], Any]:
        ufunc = getattr(np, rows[name])

        def compute(self: Any, other: Any, swapped: bool) -> Any:
            a, b = (other, self) if swapped else (self, other)
            if type(other) in (int, float, bool, Scalar):
                p, q = _whole(a), _whole(b)
                if p is not None and q is not None:
                    found = sized(name, p, q)
                    if found is not None:
                        return found
                if name in ("mul", "pow", "lshift") and _integers(a, b):
                    found = _wide(name, a, b)
                    if found is not None:
                        return found
                if name == "truediv" and self.kind in (int, bool):
                    return emit_scalar("divide", a, b)
                return emit_scalar(rows[name], a, b)
            if isinstance(other, np.ndarray | np.generic) or is_traced(other):
                return ufunc(a, b)
            if isinstance(other, complex):
                lift(other)
            return NotImplemented

        return compute

    for name in rows:
        compute = binary(name)
        setattr(Scalar, f"__{name}__", lambda a, b, f=compute: f(a, b, False))
        setattr(Scalar, f"__r{name}__", lambda a, b, f=compute: f(a, b, True))

    def compare(name: str) -> Callable[[Any, Any], Any]:
        relation, _ = RELATIONS[name]
        ufunc = getattr(np, COMPARE_ROWS[name])

        def result(self: Any, other: Any) -> Any:
            if type(other) in (int, float, bool, Scalar):
                p, q = _whole(self), _whole(other)
                if p is not None and q is not None:
                    difference = p - q
                    trace = context.trace
                    known = _decided(relation, difference) if trace is None else trace.known(relation, difference)
                    return Scalar(comparison=(relation, difference)) if known is None else known
                return emit_scalar(COMPARE_ROWS[name], self, other)
            if isinstance(other, np.ndarray | np.generic) or is_traced(other):
                return ufunc(self, other)
            return NotImplemented

        return result

    for name in RELATIONS:
        setattr(Scalar, f"__{name}__", compare(name))


def _decided(relation: str, difference: int | Dim) -> bool | None:
    compare = next(f for r, f in RELATIONS.values() if r == relation)
    return compare(difference, 0) if isinstance(difference, int) else None
