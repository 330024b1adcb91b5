"""Arithmetic on registers: Python code that reads as a formula and writes LLVM IR, for one number or many lanes.

The same code writes the scalar and the vector function, instruction by instruction, so that a number goes through the
same roundings wherever it lies in an array. Nothing carries a fast-math flag: the optimiser may not reorder a sum, and
an fma is an fma.
"""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TypeAlias

from .....tracer.plain import dataclass


@dataclass(frozen=True)
class Format:
    """A floating-point format: names and widths, and the bit patterns that algorithms need."""

    dtype: str
    float_type: str
    int_type: str
    width: int
    mantissa: int  # stored bits

    @cached_property
    def bias(self) -> int:
        return (1 << (self.width - self.mantissa - 2)) - 1

    @cached_property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    @cached_property
    def magic(self) -> float:
        """1.5 · 2^mantissa: t = a + magic rounds a to an integer k, t - magic is k, and t's low bits hold k."""
        return 1.5 * 2.0**self.mantissa

    @cached_property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @cached_property
    def largest(self) -> float:
        return (2 - 2.0**-self.mantissa) * 2.0**self.bias

    def round(self, number: float) -> float:
        return number if self.width == 64 else struct.unpack("<f", struct.pack("<f", number))[0]

    def bits(self, number: float) -> int:
        """The pattern of a number as an unsigned integer."""
        if self.width == 64:
            return struct.unpack("<Q", struct.pack("<d", number))[0]
        return struct.unpack("<I", struct.pack("<f", number))[0]


F64 = Format("f64", "double", "i64", 64, 52)
F32 = Format("f32", "float", "i32", 32, 23)
FORMATS = {"f64": F64, "f32": F32}
BY_TYPE = {form: fmt for fmt in FORMATS.values() for form in (fmt.float_type, fmt.int_type)}


class Code:
    """The body of one function under construction, for `lanes` numbers at a time; 1 is the scalar function."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.registers = 0

    def type(self, element: str) -> str:
        return element if self.lanes == 1 else f"<{self.lanes} x {element}>"

    def value(self, element: str, text: str) -> Value:
        """The result of an instruction."""
        self.registers += 1
        name = f"%v{self.registers}"
        self.lines.append(f"{name} = {text}")
        return Value(self, element, name)

    def constant(self, element: str, number: float | int) -> Value:
        if element == "i1":
            text = "true" if number else "false"
        elif element.startswith("i"):
            width = int(element[1:])
            wrapped = int(number) % (1 << width)
            text = str(wrapped - (1 << width) if wrapped >> (width - 1) else wrapped)
        else:  # float constants are written with the bits of the equal double
            text = f"0x{F64.bits(BY_TYPE[element].round(number)):016X}"
        return Value(self, element, text if self.lanes == 1 else f"splat ({element} {text})")


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A register or constant of one element type; operators append instructions to its code.

    Integers wrap and are unsigned; comparisons of floats are false when an operand is nan (``ne`` is true then).
    """

    code: Code
    element: str
    name: str

    @property
    def format(self) -> Format:
        return BY_TYPE[self.element]

    @property
    def is_float(self) -> bool:
        return self.element in ("double", "float")

    @property
    def typed(self) -> str:
        return f"{self.code.type(self.element)} {self.name}"

    def lift(self, other: Operand) -> Value:
        return other if isinstance(other, Value) else self.code.constant(self.element, other)

    def binary(self, op: str, other: Operand, swap: bool = False) -> Value:
        a, b = self, self.lift(other)
        if swap:
            a, b = b, a
        return self.code.value(self.element, f"{op} {a.typed}, {b.name}")

    def __add__(self, other: Operand) -> Value:
        return self.binary("fadd" if self.is_float else "add", other)

    def __radd__(self, other: Operand) -> Value:
        return self.binary("fadd" if self.is_float else "add", other, swap=True)

    def __sub__(self, other: Operand) -> Value:
        return self.binary("fsub" if self.is_float else "sub", other)

    def __rsub__(self, other: Operand) -> Value:
        return self.binary("fsub" if self.is_float else "sub", other, swap=True)

    def __mul__(self, other: Operand) -> Value:
        return self.binary("fmul" if self.is_float else "mul", other)

    def __rmul__(self, other: Operand) -> Value:
        return self.binary("fmul" if self.is_float else "mul", other, swap=True)

    def __truediv__(self, other: Operand) -> Value:
        return self.binary("fdiv", other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.binary("fdiv", other, swap=True)

    def __neg__(self) -> Value:
        return self.code.value(self.element, f"fneg {self.typed}")

    def __and__(self, other: Operand) -> Value:
        return self.binary("and", other)

    def __or__(self, other: Operand) -> Value:
        return self.binary("or", other)

    def __xor__(self, other: Operand) -> Value:
        return self.binary("xor", other)

    def __invert__(self) -> Value:
        return self.binary("xor", -1 if self.element != "i1" else 1)

    def __lshift__(self, other: Operand) -> Value:
        return self.binary("shl", other)

    def __rshift__(self, other: Operand) -> Value:
        return self.binary("lshr", other)

    def compare(self, ordered: str, unsigned: str, other: Operand) -> Value:
        op = f"fcmp {ordered}" if self.is_float else f"icmp {unsigned}"
        return self.code.value("i1", f"{op} {self.typed}, {self.lift(other).name}")

    def __lt__(self, other: Operand) -> Value:
        return self.compare("olt", "ult", other)

    def __le__(self, other: Operand) -> Value:
        return self.compare("ole", "ule", other)

    def __gt__(self, other: Operand) -> Value:
        return self.compare("ogt", "ugt", other)

    def __ge__(self, other: Operand) -> Value:
        return self.compare("oge", "uge", other)

    def eq(self, other: Operand) -> Value:
        return self.compare("oeq", "eq", other)

    def ne(self, other: Operand) -> Value:
        return self.compare("une", "ne", other)


Operand: TypeAlias = Value | float | int


def _intrinsic(name: str, *operands: Operand) -> Value:
    first = next(o for o in operands if isinstance(o, Value))
    code, element = first.code, first.element
    suffix = f"f{first.format.width}"
    suffix = suffix if code.lanes == 1 else f"v{code.lanes}{suffix}"
    arguments = ", ".join(first.lift(o).typed for o in operands)
    return code.value(element, f"call {code.type(element)} @llvm.{name}.{suffix}({arguments})")


def fma(a: Operand, b: Operand, c: Operand) -> Value:
    """a·b + c, rounded once."""
    return _intrinsic("fma", a, b, c)


def absolute(x: Value) -> Value:
    return _intrinsic("fabs", x)


def sqrt(x: Value) -> Value:
    return _intrinsic("sqrt", x)


def rint(x: Value) -> Value:
    return _intrinsic("rint", x)


def copysign(x: Value, sign: Value) -> Value:
    return _intrinsic("copysign", x, sign)


def select(condition: Value, yes: Operand, no: Operand) -> Value:
    """`yes` where the condition holds, else `no`: both are computed."""
    typed = yes if isinstance(yes, Value) else no
    assert isinstance(typed, Value)
    return condition.code.value(
        typed.element, f"select {condition.typed}, {typed.lift(yes).typed}, {typed.lift(no).typed}"
    )


def at_most(x: Value, bound: float) -> Value:
    """The smaller of the two; nan stays nan (and the processor's minimum does just that)."""
    return select(x > bound, bound, x)


def at_least(x: Value, bound: float) -> Value:
    return select(x < bound, bound, x)


def bits(x: Value) -> Value:
    """The pattern of a float as an integer of its width."""
    fmt = x.format
    return x.code.value(fmt.int_type, f"bitcast {x.typed} to {x.code.type(fmt.int_type)}")


def from_bits(i: Value) -> Value:
    fmt = i.format
    return i.code.value(fmt.float_type, f"bitcast {i.typed} to {i.code.type(fmt.float_type)}")


def widen(x: Value) -> Value:
    """float32 to float64, exactly."""
    return x.code.value("double", f"fpext {x.typed} to {x.code.type('double')}")


def narrow(x: Value) -> Value:
    """float64 to float32, rounded; too large becomes an infinity."""
    return x.code.value("float", f"fptrunc {x.typed} to {x.code.type('float')}")
