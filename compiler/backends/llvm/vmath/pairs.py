"""sin and cos of one argument in one call, which reduces it once: a function with two results.

The scalar form calls sin and cos; the vector forms compute the very numbers that those would give.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import trigonometry
from .module import ATTRIBUTES, FUNCTIONS, module_text
from .values import FORMATS, Code, Value, absolute

NAME = "sincos"
MEMBERS = ("sin", "cos")


def pair_symbol(dtype: str, lanes: int = 1) -> str:
    """The name of a form in the object file: nt_sincos_f64, for sixteen lanes nt_sincos_f64_v16."""
    return f"nt_{NAME}_{dtype}" + (f"_v{lanes}" if lanes > 1 else "")


def _kind(dtype: str, lanes: int) -> str:
    return Code(lanes).type(FORMATS[dtype].float_type)


def _result(kind: str, sine: str, cosine: str) -> list[str]:
    both = f"{{{kind}, {kind}}}"
    return [
        f"%half = insertvalue {both} poison, {kind} {sine}, 0",
        f"%both = insertvalue {both} %half, {kind} {cosine}, 1",
        f"ret {both} %both",
    ]


def _scalar(dtype: str) -> list[str]:
    kind = _kind(dtype, 1)
    calls = [f"%{name} = call {kind} @nt_{name}_{dtype}({kind} %x0)" for name in MEMBERS]
    return [*calls, *_result(kind, "%sin", "%cos")]


def _vector(dtype: str, lanes: int) -> list[str]:
    fmt, code, kind = FORMATS[dtype], Code(lanes), _kind(dtype, lanes)
    x = Value(code, fmt.float_type, "%x0")
    far = absolute(x) > trigonometry.bound(fmt)
    code.lines.append(f"%some = call i1 @llvm.vector.reduce.or.v{lanes}i1({far.typed})")
    code.lines += ["br i1 %some, label %slow, label %fast", "fast:"]
    sine, cosine = trigonometry.sin_and_cos(x)
    number = fmt.float_type
    steps = [
        "slow:", "br label %lane", "lane:",
        "%i = phi i64 [0, %slow], [%next, %lane]",
        f"%sines = phi {kind} [poison, %slow], [%sines.more, %lane]",
        f"%cosines = phi {kind} [poison, %slow], [%cosines.more, %lane]",
        f"%one = extractelement {kind} %x0, i64 %i",
        *(f"%{name} = call {number} @nt_{name}_{dtype}({number} %one)" for name in MEMBERS),
        f"%sines.more = insertelement {kind} %sines, {number} %sin, i64 %i",
        f"%cosines.more = insertelement {kind} %cosines, {number} %cos, i64 %i",
        "%next = add nuw nsw i64 %i, 1",
        f"%last = icmp eq i64 %next, {lanes}",
        "br i1 %last, label %end, label %lane", "end:",
    ]  # fmt: skip
    ends = [line.replace("%half", "%half.slow").replace("%both", "%both.slow")
            for line in _result(kind, "%sines.more", "%cosines.more")]  # fmt: skip
    return [*code.lines, *_result(kind, sine.name, cosine.name), *steps, *ends]


def pair_text(dtype: str, lanes: Sequence[int]) -> str:
    """IR text that defines the pair of a dtype for one number and for so many lanes, as a module of its own."""
    assert all(name in FUNCTIONS for name in MEMBERS)
    parts = [module_text([(name, dtype) for name in MEMBERS], {dtype: ()})]
    for n in (1, *lanes):
        kind = _kind(dtype, n)
        body = _scalar(dtype) if n == 1 else _vector(dtype, n)
        lines = [line if line.endswith(":") else f"  {line}" for line in body]
        head = f"define {{{kind}, {kind}}} @{pair_symbol(dtype, n)}({kind} %x0) {ATTRIBUTES} {{"
        parts.append("\n".join([head, *lines, "}", ""]))
    return "\n".join(parts)


def declare_pair(dtype: str, lanes: Sequence[int]) -> str:
    """Declarations of the forms of a pair."""
    kinds = [(n, _kind(dtype, n)) for n in (1, *lanes)]
    attributes = ATTRIBUTES.removeprefix("noinline ")
    return "\n".join(f"declare {{{k}, {k}}} @{pair_symbol(dtype, n)}({k}) {attributes}" for n, k in kinds)


def pair_attribute(dtype: str, lanes: Sequence[int]) -> str:
    """The attribute of a call to the scalar form by which the loop vectoriser finds the others."""
    variants = [f"_ZGV_LLVM_N{n}v_{pair_symbol(dtype)}({pair_symbol(dtype, n)})" for n in lanes]
    return f'"vector-function-abi-variant"="{",".join(variants)}"'
