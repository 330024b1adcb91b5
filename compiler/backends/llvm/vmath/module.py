"""The table of functions, and the LLVM IR text that defines, declares and calls them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from .....tracer.plain import dataclass
from . import exponential, huge, inverse, logarithm, power, trigonometry
from .error_function import erf
from .values import FORMATS, Code, Format, Value, absolute


@dataclass(frozen=True)
class Function:
    """One function of the vector math.

    `formula` writes it for its operands. `turned` writes it for an argument that is reduced already, which serves those
    that are too large for the formula, number by number.
    """

    name: str
    arity: int
    formula: Callable[..., Value]
    turned: Callable[[Value, Value, Value], Value] | None = None


_ROWS = (
    Function("exp", 1, exponential.exp),
    Function("exp2", 1, exponential.exp2),
    Function("expm1", 1, exponential.expm1),
    Function("log", 1, logarithm.log),
    Function("log2", 1, logarithm.log2),
    Function("log10", 1, logarithm.log10),
    Function("log1p", 1, logarithm.log1p),
    Function("sin", 1, trigonometry.sin, trigonometry.sin_of),
    Function("cos", 1, trigonometry.cos, trigonometry.cos_of),
    Function("tan", 1, trigonometry.tan, trigonometry.tan_of),
    Function("arcsin", 1, inverse.arcsin),
    Function("arccos", 1, inverse.arccos),
    Function("arctan", 1, inverse.arctan),
    Function("arctan2", 2, inverse.arctan2),
    Function("arcsinh", 1, logarithm.arcsinh),
    Function("arccosh", 1, logarithm.arccosh),
    Function("arctanh", 1, logarithm.arctanh),
    Function("sinh", 1, exponential.sinh),
    Function("cosh", 1, exponential.cosh),
    Function("tanh", 1, exponential.tanh),
    Function("sigmoid", 1, exponential.sigmoid),
    Function("erf", 1, erf),
    Function("pow", 2, power.power),
    Function("cbrt", 1, power.cbrt),
    Function("hypot", 2, power.hypot),
)
FUNCTIONS: Mapping[str, Function] = {row.name: row for row in _ROWS}

# noinline: a call costs little beside the function, and a loop with many compiles several times faster
ATTRIBUTES = "noinline nounwind willreturn nosync nofree memory(none)"
Wanted = tuple[str, str]


def symbol(name: str, dtype: str, lanes: int = 1) -> str:
    """The name of a function in the object file: nt_exp_f64, for eight lanes nt_exp_f64_v8."""
    return f"nt_{name}_{dtype}" + (f"_v{lanes}" if lanes > 1 else "")


def _kind(dtype: str, lanes: int) -> str:
    return Code(lanes).type(FORMATS[dtype].float_type)


def _define(linkage: str, kind: str, name: str, arity: int, body: Sequence[str]) -> str:
    """A function of operands %x0, %x1 of the type of its result."""
    parameters = ", ".join(f"{kind} %x{i}" for i in range(arity))
    lines = [line if line.endswith(":") else f"  {line}" for line in body]
    visible = "" if linkage == "external" else f"{linkage} "
    return "\n".join([f"define {visible}{kind} @{name}({parameters}) {ATTRIBUTES} {{", *lines, "}", ""])


def _definition(name: str, dtype: str, lanes: int, linkage: str) -> str:
    function, fmt, code = FUNCTIONS[name], FORMATS[dtype], Code(lanes)
    operands = [Value(code, fmt.float_type, f"%x{i}") for i in range(function.arity)]
    slow: list[str] = []
    if function.turned is not None:
        huge_lanes = absolute(operands[0]) > trigonometry.bound(fmt)
        some = huge_lanes.name
        if lanes > 1:
            some = "%some"
            code.lines.append(f"%some = call i1 @llvm.vector.reduce.or.v{lanes}i1({huge_lanes.typed})")
        code.lines += [f"br i1 {some}, label %slow, label %fast", "fast:"]
        slow = ["slow:", *(_one_by_one(name, fmt, lanes) if lanes > 1 else _far(name, fmt))]
    result = function.formula(*operands)
    body = [*code.lines, f"ret {result.typed}", *slow]
    return _define(linkage, _kind(dtype, lanes), symbol(name, dtype, lanes), function.arity, body)


def _one_by_one(name: str, fmt: Format, lanes: int) -> list[str]:
    """A loop over the lanes that calls the scalar function."""
    kind, number = _kind(fmt.dtype, lanes), fmt.float_type
    return [
        "br label %lane",
        "lane:",
        "%i = phi i64 [0, %slow], [%next, %lane]",
        f"%done = phi {kind} [poison, %slow], [%more, %lane]",
        f"%one = extractelement {kind} %x0, i64 %i",
        f"%value = call {number} @{symbol(name, fmt.dtype)}({number} %one)",
        f"%more = insertelement {kind} %done, {number} %value, i64 %i",
        "%next = add nuw nsw i64 %i, 1",
        f"%last = icmp eq i64 %next, {lanes}",
        "br i1 %last, label %end, label %lane",
        "end:",
        f"ret {kind} %more",
    ]


def _far(name: str, fmt: Format) -> list[str]:
    """The call of the scalar function for huge arguments: float32 goes through float64."""
    if fmt.dtype == "f64":
        return [f"%far = call double @nt_{name}_f64_far(double %x0)", "ret double %far"]
    return [
        "%wide = fpext float %x0 to double",
        f"%far = call double @{symbol(name, 'f64')}(double %wide)",
        "%narrow = fptrunc double %far to float",
        "ret float %narrow",
    ]


def _far_definition(name: str) -> str:
    function, code = FUNCTIONS[name], Code(1)
    assert function.turned is not None
    result = function.turned(*huge.reduce_huge(Value(code, "double", "%x0")))
    return _define("internal", "double", f"nt_{name}_f64_far", 1, [*code.lines, f"ret {result.typed}"])


def module_text(functions: Iterable[Wanted], lanes: Mapping[str, Sequence[int]], linkage: str = "internal") -> str:
    """IR text that defines the scalar form of each function, and one form for every number of lanes of its dtype.

    With linkage "internal" the text is for inclusion in the module that calls the functions, with "external" for a
    module of its own. Both must be compiled for the same processor, because vectors are passed in its registers.

    >>> print(module_text([("hypot", "f32")], {"f32": [16]}).split("{")[0].strip())
    define internal float @nt_hypot_f32(float %x0, float %x1) noinline nounwind willreturn nosync nofree memory(none)
    """
    wanted = list(dict.fromkeys(functions))
    turned = [name for name, _ in wanted if FUNCTIONS[name].turned is not None]
    parts = []
    for name, dtype in wanted:
        parts += [_definition(name, dtype, n, linkage) for n in (1, *lanes.get(dtype, ()))]
    for name in dict.fromkeys(turned):
        if (name, "f64") not in wanted:
            parts.append(_definition(name, "f64", 1, "internal"))
        parts.append(_far_definition(name))
    if turned:
        parts.append(huge.words_text())
    return "\n".join(parts)


def declare(name: str, dtype: str, lanes: Sequence[int] = ()) -> str:
    """Declarations of the scalar form and of those for so many lanes, for a module that is linked to the functions.

    >>> print(declare("exp", "f64", [8]))
    declare double @nt_exp_f64(double) nounwind willreturn nosync nofree memory(none)
    declare <8 x double> @nt_exp_f64_v8(<8 x double>) nounwind willreturn nosync nofree memory(none)
    """
    attributes = ATTRIBUTES.removeprefix("noinline ")
    lines = []
    for n in (1, *lanes):
        kind = _kind(dtype, n)
        operands = ", ".join([kind] * FUNCTIONS[name].arity)
        lines.append(f"declare {kind} @{symbol(name, dtype, n)}({operands}) {attributes}")
    return "\n".join(lines)


def call_attribute(name: str, dtype: str, lanes: Sequence[int]) -> str:
    """The attribute of a call to the scalar form by which the loop vectoriser finds the others.

    >>> call_attribute("pow", "f64", [8])
    '"vector-function-abi-variant"="_ZGV_LLVM_N8vv_nt_pow_f64(nt_pow_f64_v8)"'
    """
    kinds = "v" * FUNCTIONS[name].arity
    scalar = symbol(name, dtype)
    variants = [f"_ZGV_LLVM_N{n}{kinds}_{scalar}({symbol(name, dtype, n)})" for n in lanes]
    return f'"vector-function-abi-variant"="{",".join(variants)}"'


def keep(functions: Iterable[Wanted], lanes: Mapping[str, Sequence[int]]) -> str:
    """The global that keeps the vector forms in a module until its loops are vectorised; a module holds one such.

    >>> print(keep([("exp", "f64")], {"f64": [8]}))
    @llvm.compiler.used = appending global [1 x ptr] [ptr @nt_exp_f64_v8], section "llvm.metadata"
    """
    names = [f"ptr @{symbol(name, dtype, n)}" for name, dtype in dict.fromkeys(functions) for n in lanes.get(dtype, ())]
    if not names:
        return ""
    return f'@llvm.compiler.used = appending global [{len(names)} x ptr] [{", ".join(names)}], section "llvm.metadata"'
