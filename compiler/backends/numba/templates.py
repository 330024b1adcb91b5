"""How each scalar primitive is spelled in Python source for numba, by kind of dtype.

numba's own promotion differs from NumPy's (int8 + int8 is int64 there), so whatever could leave its dtype is cast
back, and every constant carries its dtype. Names that are neither Python's nor NumPy's are defined in helpers.py.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ....tracer.graph import Loc
from ...kernel import Literal

Dtype = np.dtype[Any]

CASTS = {
    "float64": "f64", "float32": "f32", "int64": "i64", "int32": "i32", "int16": "i16", "int8": "i8",
    "uint64": "u64", "uint32": "u32", "uint16": "u16", "uint8": "u8",
}  # fmt: skip

# {t} is the cast to the dtype, or nothing where numba keeps that anyway; {c} is the cast always
FLOATS = {
    "neg": "(-{0})", "abs": "abs({0})", "floor": "np.floor({0})", "ceil": "np.ceil({0})", "rint": "np.rint({0})",
    "trunc": "np.trunc({0})", "isnan": "math.isnan({0})", "not_": "({0} == 0)",
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "div": "({0} / {1})",
    "cotangent": "cotangent({0}, {1})",
    "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})", "copysign": "math.copysign({0}, {1})",
    "sqrt": "math.sqrt({0})", "floordiv": "{t}(floordiv({0}, {1}))", "remainder": "{t}(remainder({0}, {1}))",
    "fmod": "np.fmod({0}, {1})", "pow": "({0} ** {1})", "hypot": "math.hypot({0}, {1})",
    "arctan2": "math.atan2({0}, {1})", "cbrt": "np.cbrt({0})", "erf": "math.erf({0})",
    "exp": "math.exp({0})", "exp2": "np.exp2({0})", "expm1": "math.expm1({0})", "log": "math.log({0})",
    "log2": "np.log2({0})", "log10": "math.log10({0})", "log1p": "math.log1p({0})",
    "sin": "math.sin({0})", "cos": "math.cos({0})", "tan": "math.tan({0})", "arcsin": "math.asin({0})",
    "arccos": "math.acos({0})", "arctan": "math.atan({0})", "sinh": "math.sinh({0})", "cosh": "math.cosh({0})",
    "tanh": "math.tanh({0})", "arcsinh": "math.asinh({0})", "arccosh": "math.acosh({0})",
    "arctanh": "math.atanh({0})",
}  # fmt: skip

INTEGERS = {
    "neg": "{c}(-{0})", "abs": "{t}(abs({0}))", "bit_not": "{t}(~{0})", "not_": "({0} == 0)", "isnan": "False",
    "floor": "{0}", "ceil": "{0}", "rint": "{0}", "trunc": "{0}",
    "add": "{t}({0} + {1})", "sub": "{t}({0} - {1})", "mul": "{t}({0} * {1})", "cotangent": "{t}({0} * {1})",
    "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})",
    "floordiv": "{t}(int_floordiv({0}, {1}))", "remainder": "{t}(int_remainder({0}, {1}))",
    "fmod": "{t}(int_fmod({0}, {1}))", "div": "{t}(int_quotient({0}, {1}))",
    "pow": "{c}(int_power(i64({0}), i64({1})))",
    "bit_and": "{t}({0} & {1})", "bit_or": "{t}({0} | {1})", "bit_xor": "{t}({0} ^ {1})",
    "shift_left": "{c}(shift_left({0}, {1}, {bits}))", "shift_right": "{c}(shift_right({0}, {1}, {bits}))",
}  # fmt: skip

BOOLEANS = {
    "not_": "(not {0})", "bit_not": "(not {0})", "isnan": "False", "abs": "{0}",
    "add": "({0} | {1})", "sub": "({0} ^ {1})", "mul": "({0} & {1})", "cotangent": "({0} & {1})",
    "maximum": "({0} | {1})", "minimum": "({0} & {1})",
    "bit_and": "({0} & {1})", "bit_or": "({0} | {1})", "bit_xor": "({0} ^ {1})",
    "and_": "({0} & {1})", "or_": "({0} | {1})", "xor": "({0} ^ {1})", "eq": "({0} == {1})", "ne": "({0} != {1})",
    "lt": "({1} & (not {0}))", "le": "({1} | (not {0}))",
    "floor": "{0}", "ceil": "{0}", "rint": "{0}", "trunc": "{0}",
}  # fmt: skip

COMPARISONS = {"eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})", "le": "({0} <= {1})"}


def spell(op: str, dtype: Dtype, operand: Dtype, args: list[str]) -> str:
    """The text of a primitive whose result has `dtype` and whose operands have dtype `operand`."""
    if op == "select":
        return f"select({', '.join(args)})"
    if op == "cast":
        return cast(args[0], operand, dtype)
    cast_to = CASTS.get(operand.name, "")
    if operand.kind == "f":
        return (FLOATS.get(op) or COMPARISONS[op]).format(*args, t="" if operand.itemsize == 8 else cast_to)
    if operand.kind == "b":
        return BOOLEANS[op].format(*args)
    text = INTEGERS.get(op) or COMPARISONS[op]
    # in 64 bits numba keeps the dtype, but for -x of unsigned numbers
    whole = operand.itemsize == 8 and not (operand.kind == "u" and op in ("neg", "abs", "bit_not"))
    return text.format(*args, t="" if whole else cast_to, c=cast_to, bits=8 * operand.itemsize)


def cast(text: str, source: Dtype, target: Dtype) -> str:
    if target.kind == "b":
        return text if source.kind == "b" else f"({text} != 0)"
    return f"{CASTS[target.name]}({text})"


def literal(value: Literal) -> str:
    """The text of a constant of its dtype."""
    number, dtype = value.value, value.dtype
    if dtype.kind == "b":
        return str(bool(number))
    if dtype.kind == "f":
        item = float(number)
        if math.isnan(item):
            text = "math.nan"
        elif math.isinf(item):
            text = "math.inf" if item > 0 else "-math.inf"
        else:
            text = repr(item)
            if dtype.itemsize == 4:
                text = repr(float(str(number)))
        text = text if item >= 0 and not text.startswith("-") else f"({text})"
        return text if dtype.itemsize == 8 else f"f32({text})"
    text = str(int(number))
    if dtype.name == "int64":
        return text if number >= 0 else f"({text})"
    return f"{CASTS[dtype.name]}({text})"


def bare(text: str) -> str:
    """`text` without parentheses around the whole of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and place < len(text) - 1:
            return text
    inner = text[1:-1]
    return text if " if " in inner and inner.startswith("(") else inner


def dtype_name(dtype: Dtype) -> str:
    return f"np.{dtype.name if dtype.kind != 'b' else 'bool_'}"


def users_lines(locs: Iterable[Loc], most: int = 4, width: int = 100) -> list[str]:
    """The text of the user's lines that a kernel came from, where their file can be read."""
    found = []
    for loc in dict.fromkeys(loc for loc in locs if loc.line):
        text = linecache.getline(loc.file, loc.line).strip()
        if text:
            found.append(f"{loc.line}: {text[:width]}")
    return found if len(found) <= most else [*found[: most - 1], f"and {len(found) - most + 1} lines more"]
