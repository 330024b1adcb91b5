"""How each scalar primitive is spelled in LLVM IR, by kind of dtype. Vector math is called by the scalar's name.

Integers wrap; a division by zero gives 0, and none traps: the divisor is replaced where the quotient is decided anyway.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .code import Code, Dtype, type_of
from .vmath import FUNCTIONS, symbol
from .vmath.pairs import pair_symbol

SHORT = {"float64": "f64", "float32": "f32"}
COMPARE = {
    "eq": ("oeq", "eq", "eq"),
    "ne": ("une", "ne", "ne"),
    "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"),
}
INTRINSICS = {
    "floor": "floor", "ceil": "ceil", "rint": "roundeven", "trunc": "trunc", "abs": "fabs", "sqrt": "sqrt",
    "copysign": "copysign",
}  # fmt: skip
FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
WHOLE = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "cotangent": "mul",
    "bit_and": "and",
    "bit_or": "or",
    "bit_xor": "xor",
}
TRUTH = {
    "add": "or", "sub": "xor", "mul": "and", "cotangent": "and", "maximum": "or", "minimum": "and", "bit_and": "and",
    "bit_or": "or", "bit_xor": "xor", "and_": "and", "or_": "or", "xor": "xor", "ne": "xor",
}  # fmt: skip


Note = Callable[[str, str], str]


class Scalars:
    """Writes primitives into a function. `math` collects the vector math that was called: (name, "f64" or "f32")."""

    def __init__(
        self, code: Code, math: dict[tuple[str, str], None], externals: dict[str, None], call_note: Note | None
    ) -> None:
        self.code, self.math, self.externals, self.call_note = code, math, externals, call_note
        self.circle: dict[str, tuple[str, str]] = {}

    def primitive(self, op: str, dtype: Dtype, operand: Dtype, args: list[str]) -> str:
        """The register that holds ``op(*args)``; the operands have dtype `operand`, the result `dtype`."""
        kind = type_of(operand)
        if op == "select":
            kind = type_of(dtype)
            return self.code.emit(f"select i1 {args[0]}, {kind} {args[1]}, {kind} {args[2]}")
        if op == "cast":
            return self.cast(args[0], operand, dtype)
        if operand.kind == "f":
            return self._float(op, operand, kind, args)
        if operand.kind == "b":
            return self._truth(op, args)
        return self._whole(op, operand, kind, args)

    # -------------------------------------------------------------------------------------------------- floats
    def _float(self, op: str, dtype: Dtype, kind: str, args: list[str]) -> str:
        code = self.code
        if op in FLOAT:
            return code.emit(f"{FLOAT[op]} {kind} {args[0]}, {args[1]}")
        if op in COMPARE:
            return code.emit(f"fcmp {COMPARE[op][0]} {kind} {args[0]}, {args[1]}")
        if op in FUNCTIONS:
            return self._math(op, SHORT[dtype.name], kind, args)
        zero = "0.0"
        match op:
            case "neg":
                return code.emit(f"fneg {kind} {args[0]}")
            case "isnan":
                return code.emit(f"fcmp uno {kind} {args[0]}, {zero}")
            case "not_":
                return code.emit(f"fcmp oeq {kind} {args[0]}, {zero}")
            case "cotangent":
                nothing = code.emit(f"fcmp oeq {kind} {args[0]}, {zero}")
                product = code.emit(f"fmul {kind} {args[0]}, {args[1]}")
                return code.emit(f"select i1 {nothing}, {kind} {zero}, {kind} {product}")
            case "maximum" | "minimum":
                order = "oge" if op == "maximum" else "ole"
                first = code.emit(f"fcmp {order} {kind} {args[0]}, {args[1]}")
                lost = code.emit(f"fcmp uno {kind} {args[0]}, {zero}")
                take = code.emit(f"or i1 {first}, {lost}")
                return code.emit(f"select i1 {take}, {kind} {args[0]}, {kind} {args[1]}")
            case "fmod":
                return self._fmod(dtype, kind, args)
            case "remainder":
                return self._remainder(dtype, kind, args)
            case "floordiv":
                return self._floordiv(dtype, kind, args)
        return self.intrinsic(INTRINSICS[op], dtype, args)

    def intrinsic(self, name: str, dtype: Dtype, args: list[str]) -> str:
        kind = type_of(dtype)
        full = f"llvm.{name}.{kind.replace('double', 'f64').replace('float', 'f32')}"
        self.externals[f"declare {kind} @{full}({', '.join([kind] * len(args))})"] = None
        return self.code.emit(f"call {kind} @{full}({', '.join(f'{kind} {a}' for a in args)})")

    def _math(self, op: str, short: str, kind: str, args: list[str]) -> str:
        self.math[op, short] = None
        operands = ", ".join(f"{kind} {a}" for a in args)
        note = self.call_note(op, short) if self.call_note is not None else ""
        return self.code.emit(f"call {kind} @{symbol(op, short)}({operands}){note}")

    def sine_and_cosine(self, dtype: Dtype, x: str) -> tuple[str, str]:
        """Both of one argument: the first time they are computed together, then they are known."""
        if x not in self.circle:
            kind, short = type_of(dtype), SHORT[dtype.name]
            both = f"{{{kind}, {kind}}}"
            self.math["sincos", short] = None
            note = self.call_note("sincos", short) if self.call_note is not None else ""
            pair = self.code.emit(f"call {both} @{pair_symbol(short)}({kind} {x}){note}")
            sine, cosine = (self.code.emit(f"extractvalue {both} {pair}, {k}") for k in range(2))
            self.circle[x] = sine, cosine
        return self.circle[x]

    def _fmod(self, dtype: Dtype, kind: str, args: list[str]) -> str:
        name = "fmod" if dtype.itemsize == 8 else "fmodf"
        self.externals[f"declare {kind} @{name}({kind}, {kind}) nounwind willreturn memory(none)"] = None
        return self.code.emit(f"call {kind} @{name}({kind} {args[0]}, {kind} {args[1]})")

    def _remainder(self, dtype: Dtype, kind: str, args: list[str]) -> str:
        """Python's %: the sign of the divisor, also of a zero; a divisor of 0 gives nan."""
        code, b = self.code, args[1]
        rest = self._fmod(dtype, kind, args)
        none = code.emit(f"fcmp oeq {kind} {rest}, 0.0")
        zero = self.intrinsic("copysign", dtype, [rest, b])
        moved = code.emit(f"fadd {kind} {rest}, {b}")
        other = self._other_sign(kind, rest, b)
        turned = code.emit(f"select i1 {other}, {kind} {moved}, {kind} {rest}")
        settled = code.emit(f"select i1 {none}, {kind} {zero}, {kind} {turned}")
        nothing = code.emit(f"fcmp oeq {kind} {b}, 0.0")
        return code.emit(f"select i1 {nothing}, {kind} {rest}, {kind} {settled}")

    def _other_sign(self, kind: str, rest: str, b: str) -> str:
        low = self.code.emit(f"fcmp olt {kind} {rest}, 0.0")
        lower = self.code.emit(f"fcmp olt {kind} {b}, 0.0")
        return self.code.emit(f"xor i1 {low}, {lower}")

    def _floordiv(self, dtype: Dtype, kind: str, args: list[str]) -> str:
        """From the exact remainder, since a / b may round up to the next integer."""
        code, (a, b) = self.code, args
        rest = self._fmod(dtype, kind, args)
        plain = code.emit(f"fdiv {kind} {a}, {b}")
        whole = code.emit(f"fdiv {kind} {code.emit(f'fsub {kind} {a}, {rest}')}, {b}")
        uneven = code.emit(f"fcmp une {kind} {rest}, 0.0")
        down = code.emit(f"and i1 {uneven}, {self._other_sign(kind, rest, b)}")
        less = code.emit(f"fsub {kind} {whole}, 1.0")
        quotient = code.emit(f"select i1 {down}, {kind} {less}, {kind} {whole}")
        floor = self.intrinsic("floor", dtype, [quotient])
        far = code.emit(f"fcmp ogt {kind} {code.emit(f'fsub {kind} {quotient}, {floor}')}, 0.5")
        above = code.emit(f"fadd {kind} {floor}, 1.0")
        near = code.emit(f"select i1 {far}, {kind} {above}, {kind} {floor}")
        none = code.emit(f"fcmp oeq {kind} {quotient}, 0.0")
        zero = self.intrinsic("copysign", dtype, [quotient, plain])
        settled = code.emit(f"select i1 {none}, {kind} {zero}, {kind} {near}")
        nothing = code.emit(f"fcmp oeq {kind} {b}, 0.0")
        return code.emit(f"select i1 {nothing}, {kind} {plain}, {kind} {settled}")

    # -------------------------------------------------------------------------------------------------- bools
    def _truth(self, op: str, args: list[str]) -> str:
        code = self.code
        if op in TRUTH:
            return code.emit(f"{TRUTH[op]} i1 {args[0]}, {args[1]}")
        match op:
            case "not_" | "bit_not":
                return code.emit(f"xor i1 {args[0]}, true")
            case "eq":
                return code.emit(f"icmp eq i1 {args[0]}, {args[1]}")
            case "lt":
                return code.emit(f"icmp ult i1 {args[0]}, {args[1]}")
            case "le":
                return code.emit(f"icmp ule i1 {args[0]}, {args[1]}")
            case "isnan":
                return "false"
            case "abs" | "floor" | "ceil" | "rint" | "trunc":
                return args[0]
        raise AssertionError(f"{op} of bool")

    # ----------------------------------------------------------------------------------------------- integers
    def _whole(self, op: str, dtype: Dtype, kind: str, args: list[str]) -> str:
        code, signed = self.code, dtype.kind == "i"
        if op in WHOLE:
            return code.emit(f"{WHOLE[op]} {kind} {args[0]}, {args[1]}")
        if op in COMPARE:
            return code.emit(f"icmp {COMPARE[op][1 if signed else 2]} {kind} {args[0]}, {args[1]}")
        a = args[0]
        match op:
            case "neg":
                return code.emit(f"sub {kind} 0, {a}")
            case "abs":
                if not signed:
                    return a
                low = code.emit(f"icmp slt {kind} {a}, 0")
                return code.emit(f"select i1 {low}, {kind} {code.emit(f'sub {kind} 0, {a}')}, {kind} {a}")
            case "bit_not":
                return code.emit(f"xor {kind} {a}, -1")
            case "not_":
                return code.emit(f"icmp eq {kind} {a}, 0")
            case "isnan":
                return "false"
            case "floor" | "ceil" | "rint" | "trunc":
                return a
            case "maximum" | "minimum":
                order = ("s" if signed else "u") + ("ge" if op == "maximum" else "le")
                first = code.emit(f"icmp {order} {kind} {a}, {args[1]}")
                return code.emit(f"select i1 {first}, {kind} {a}, {kind} {args[1]}")
            case "shift_left" | "shift_right":
                return self._shift(op, dtype, kind, args)
            case "pow":
                return self._power(dtype, args)
        return self._divide(op, kind, signed, args)

    def _shift(self, op: str, dtype: Dtype, kind: str, args: list[str]) -> str:
        code, bits = self.code, 8 * dtype.itemsize
        fits = code.emit(f"icmp ult {kind} {args[1]}, {bits}")
        if op == "shift_right" and dtype.kind == "i":
            count = code.emit(f"select i1 {fits}, {kind} {args[1]}, {kind} {bits - 1}")
            return code.emit(f"ashr {kind} {args[0]}, {count}")
        count = code.emit(f"select i1 {fits}, {kind} {args[1]}, {kind} 0")
        moved = code.emit(f"{'shl' if op == 'shift_left' else 'lshr'} {kind} {args[0]}, {count}")
        return code.emit(f"select i1 {fits}, {kind} {moved}, {kind} 0")

    def _divide(self, op: str, kind: str, signed: bool, args: list[str]) -> str:
        """floordiv, remainder, fmod and div: by 0 is 0, and by -1 no division, which traps for the lowest number."""
        code, (a, b) = self.code, args
        nothing = code.emit(f"icmp eq {kind} {b}, 0")
        back = code.emit(f"icmp eq {kind} {b}, -1") if signed else "false"
        decided = code.emit(f"or i1 {nothing}, {back}") if signed else nothing
        safe = code.emit(f"select i1 {decided}, {kind} 1, {kind} {b}")
        letter = "s" if signed else "u"
        rest = code.emit(f"{letter}rem {kind} {a}, {safe}")
        uneven = code.emit(f"icmp ne {kind} {rest}, 0")
        other = "false"
        if signed:
            signs = code.emit(f"xor {kind} {rest}, {safe}")
            other = code.emit(f"and i1 {uneven}, {code.emit(f'icmp slt {kind} {signs}, 0')}")
        if op in ("remainder", "fmod"):
            if op == "remainder" and signed:
                moved = code.emit(f"add {kind} {rest}, {safe}")
                rest = code.emit(f"select i1 {other}, {kind} {moved}, {kind} {rest}")
            return code.emit(f"select i1 {decided}, {kind} 0, {kind} {rest}")
        quotient = code.emit(f"{letter}div {kind} {a}, {safe}")
        if op == "floordiv" and signed:
            less = code.emit(f"sub {kind} {quotient}, 1")
            quotient = code.emit(f"select i1 {other}, {kind} {less}, {kind} {quotient}")
        if signed:
            negative = code.emit(f"sub {kind} 0, {a}")
            quotient = code.emit(f"select i1 {back}, {kind} {negative}, {kind} {quotient}")
        return code.emit(f"select i1 {nothing}, {kind} 0, {kind} {quotient}")

    def _power(self, dtype: Dtype, args: list[str]) -> str:
        """In 64 bits, whose low ones are those of the power in fewer."""
        long = np.dtype("int64" if dtype.kind == "i" else "uint64")
        base, exponent = (self.cast(a, dtype, long) for a in args)
        self.externals[POWER] = None
        return self.cast(self.code.emit(f"call i64 @integer_power(i64 {base}, i64 {exponent})"), long, dtype)

    # -------------------------------------------------------------------------------------------------- casts
    def cast(self, value: str, source: Dtype, target: Dtype) -> str:
        """A value in another dtype, as C converts it; floats out of range as this processor's instruction does."""
        if source == target:
            return value
        code, old, new = self.code, type_of(source), type_of(target)
        if target.kind == "b":
            compare = f"fcmp une {old} {value}, 0.0" if source.kind == "f" else f"icmp ne {old} {value}, 0"
            return code.emit(compare)
        if source.kind == "f" and target.kind == "f":
            return code.emit(f"{'fpext' if target.itemsize > source.itemsize else 'fptrunc'} {old} {value} to {new}")
        if target.kind == "f":
            return code.emit(f"{'sitofp' if source.kind == 'i' else 'uitofp'} {old} {value} to {new}")
        if source.kind == "f":
            return self._float_to_whole(value, source, target)
        if new == old:
            return value
        if source.kind != "b" and source.itemsize > target.itemsize:
            return code.emit(f"trunc {old} {value} to {new}")
        return code.emit(f"{'sext' if source.kind == 'i' else 'zext'} {old} {value} to {new}")

    def _float_to_whole(self, value: str, source: Dtype, target: Dtype) -> str:
        code, old, new = self.code, type_of(source), type_of(target)
        if target.name == "uint64":
            # what a C compiler makes of it without AVX-512: negative numbers wrap
            limit = "0x43E0000000000000"  # 2^63
            high = code.emit(f"fcmp oge {old} {value}, {limit}")
            less = code.emit(f"fsub {old} {value}, {limit}")
            low = code.emit(f"fptosi {old} {code.emit(f'select i1 {high}, {old} {less}, {old} {value}')} to i64")
            top = code.emit(f"select i1 {high}, i64 -9223372036854775808, i64 0")
            return code.emit(f"xor i64 {low}, {top}")
        wide = "i64" if target.name in ("int64", "uint32") else "i32"
        whole = code.emit(f"fptosi {old} {value} to {wide}")
        return whole if wide == new else code.emit(f"trunc {wide} {whole} to {new}")


POWER = """define internal i64 @integer_power(i64 %base, i64 %exponent) nounwind willreturn memory(none) {
entry:
  br label %head
head:
  %b = phi i64 [%base, %entry], [%square, %body]
  %e = phi i64 [%exponent, %entry], [%half, %body]
  %out = phi i64 [1, %entry], [%taken, %body]
  %go = icmp ne i64 %e, 0
  br i1 %go, label %body, label %done
body:
  %odd = trunc i64 %e to i1
  %product = mul i64 %out, %b
  %taken = select i1 %odd, i64 %product, i64 %out
  %square = mul i64 %b, %b
  %half = lshr i64 %e, 1
  br label %head
done:
  ret i64 %out
}"""

STEPS: dict[str, str] = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "or_", "all": "and_"}
