"""Ops that go in steps: rounding, comparisons, logic and bits. Their derivative is 0 wherever it exists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..op import ZERO, Domain, Op, elementwise

REALS = Domain()
INTEGERS = Domain(-9, 9, integer=True)
SHIFTS = Domain(0, 6, integer=True)
BOOLEANS = Domain(boolean=True)
STEPS = Domain(kinks=(-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0))


def _step(
    name: str, ufunc: np.ufunc, scalar: str | Callable[..., Any], domain: Domain | tuple[Domain, ...] = REALS
) -> Op:
    return elementwise(name, ufunc, partials=(ZERO,) * ufunc.nin, scalar=scalar, domain=domain)


def _sign(s: Any, x: Any) -> Any:
    # what is neither positive nor negative nor 0 is nan; sign(-0.0) is 0.0
    rest = s.select(s.eq(x, s.const(0)), s.const(0), x)
    return s.select(s.lt(s.const(0), x), s.const(1), s.select(s.lt(x, s.const(0)), s.const(-1), rest))


def _true(s: Any, x: Any) -> Any:
    return s.ne(x, s.const(0))


def _order(name: str) -> Callable[..., Any]:
    """`lt` or `le`; NumPy compares int64 with uint64 by value, though no integer dtype holds both."""

    def scalar(s: Any, a: Any, b: Any) -> Any:
        compare = getattr(s, name)
        if a.dtype == b.dtype:
            return compare(a, b)
        if a.dtype.kind == "i":
            return s.or_(s.lt(a, s.const(0)), compare(s.cast(a, "u64"), b))
        return s.and_(s.le(s.const(0), b), compare(a, s.cast(b, "u64")))

    return scalar


def _equal(s: Any, a: Any, b: Any) -> Any:
    if a.dtype == b.dtype:
        return s.eq(a, b)
    signed, other = (a, b) if a.dtype.kind == "i" else (b, a)
    return s.and_(s.le(s.const(0), signed), s.eq(s.cast(signed, "u64"), other))


LESS, LESS_EQUAL = _order("lt"), _order("le")


def _not_finite(s: Any, x: Any) -> Any:
    # inf * 0 and nan * 0 are nan; of integers and truth values the product is 0
    return s.isnan(s.mul(x, s.const(0)))


TABLE: tuple[Op, ...] = (
    _step("floor", np.floor, "floor", STEPS),
    _step("ceil", np.ceil, "ceil", STEPS),
    _step("rint", np.rint, "rint", STEPS),
    _step("trunc", np.trunc, "trunc", STEPS),
    _step("sign", np.sign, _sign, STEPS),
    _step("floor_divide", np.floor_divide, "floordiv", (Domain(3.2, 3.9), Domain(1.1, 1.5))),
    _step("less", np.less, LESS),
    _step("less_equal", np.less_equal, LESS_EQUAL),
    _step("greater", np.greater, lambda s, a, b: LESS(s, b, a)),
    _step("greater_equal", np.greater_equal, lambda s, a, b: LESS_EQUAL(s, b, a)),
    _step("equal", np.equal, _equal),
    _step("not_equal", np.not_equal, lambda s, a, b: s.ne(a, b) if a.dtype == b.dtype else s.not_(_equal(s, a, b))),
    _step("logical_and", np.logical_and, lambda s, a, b: s.and_(_true(s, a), _true(s, b)), BOOLEANS),
    _step("logical_or", np.logical_or, lambda s, a, b: s.or_(_true(s, a), _true(s, b)), BOOLEANS),
    _step("logical_xor", np.logical_xor, lambda s, a, b: s.xor(_true(s, a), _true(s, b)), BOOLEANS),
    _step("logical_not", np.logical_not, lambda s, x: s.eq(x, s.const(0)), BOOLEANS),
    _step("bitwise_and", np.bitwise_and, "bit_and", INTEGERS),
    _step("bitwise_or", np.bitwise_or, "bit_or", INTEGERS),
    _step("bitwise_xor", np.bitwise_xor, "bit_xor", INTEGERS),
    _step("invert", np.invert, "bit_not", INTEGERS),
    _step("left_shift", np.left_shift, "shift_left", (INTEGERS, SHIFTS)),
    _step("right_shift", np.right_shift, "shift_right", (INTEGERS, SHIFTS)),
    _step("isnan", np.isnan, "isnan"),
    _step("isfinite", np.isfinite, lambda s, x: s.not_(_not_finite(s, x))),
    _step("isinf", np.isinf, lambda s, x: s.and_(_not_finite(s, x), s.not_(s.isnan(x)))),
)
