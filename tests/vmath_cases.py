"""What tests and benchmarks of the vector math share: loops over arrays, points to try, exact values, errors in ulp."""

import ctypes
import itertools

import llvmlite.binding as llvm
import mpmath as mp
import numpy as np

from numtape.compiler.backends.llvm.vmath import FUNCTIONS, call_attribute, keep, module_text, symbol

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()

ELEMENT = {"f64": "double", "f32": "float"}
DTYPE = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}
BITS = {"f64": np.dtype(np.uint64), "f32": np.dtype(np.uint32)}
DIGITS = {"f64": (53, -1074, 1024), "f32": (24, -149, 128)}  # precision, exponents of the least and past the largest
BOUND = {"f64": 2.0**30, "f32": 2.0**18}  # from where on sin, cos and tan go lane by lane
ALL = [(name, dtype) for name in FUNCTIONS for dtype in ELEMENT]

LOOP = """
define void @loop_{symbol}({arrays}, ptr noalias %out, i64 %n) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %exit
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
{loads}
  %y = call {kind} @{scalar}({numbers}) {attribute}
  %q = getelementptr {kind}, ptr %out, i64 %i
  store {kind} %y, ptr %q
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %exit, !llvm.loop !{number}
exit:
  ret void
}}
!{number} = distinct !{{!{number}, !{width}, !{interleave}}}
!{width} = !{{!"llvm.loop.vectorize.width", i32 {lanes}}}
!{interleave} = !{{!"llvm.loop.interleave.count", i32 1}}
"""


def loop_text(name, dtype, lanes, number):
    """A function that fills an array as a kernel does: it calls the scalar form, for the vectoriser to replace."""
    kind, operands = ELEMENT[dtype], range(FUNCTIONS[name].arity)
    load = "  %p{0} = getelementptr {1}, ptr %a{0}, i64 %i\n  %x{0} = load {1}, ptr %p{0}"
    return LOOP.format(
        symbol=symbol(name, dtype, lanes),
        scalar=symbol(name, dtype),
        kind=kind,
        arrays=", ".join(f"ptr noalias readonly %a{i}" for i in operands),
        loads="\n".join(load.format(i, kind) for i in operands),
        numbers=", ".join(f"{kind} %x{i}" for i in operands),
        attribute=call_attribute(name, dtype, [lanes]) if lanes > 1 else "",
        lanes=lanes,
        number=3 * number,
        width=3 * number + 1,
        interleave=3 * number + 2,
    )


def machine(cpu=None, features=None):
    """A target machine for this processor, or for another of its kind."""
    cpu = cpu or llvm.get_host_cpu_name()
    features = llvm.get_host_cpu_features().flatten() if features is None else features
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=3, jit=True)


def optimise(text, target):
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)
    return module


class Loops:
    """Compiled loops over arrays: ``loops("exp", "f64", 8)`` is a function of arrays that calls nt_exp_f64_v8."""

    def __init__(self, functions, lanes, target=None):
        target = target or machine()
        used = {dtype: [n for n in widths if n > 1] for dtype, widths in lanes.items()}
        texts = [module_text(functions, used), keep(functions, used)]
        wanted = [(name, dtype, n) for name, dtype in functions for n in lanes[dtype]]
        texts += [loop_text(*each, number) for number, each in enumerate(wanted)]
        module = optimise("\n".join(texts), target)
        self.assembly = target.emit_assembly(module)
        self.engine = llvm.create_mcjit_compiler(module, target)
        self.engine.finalize_object()

    def __call__(self, name, dtype, lanes):
        address = self.engine.get_function_address(f"loop_{symbol(name, dtype, lanes)}")
        arity = FUNCTIONS[name].arity
        entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (arity + 1), ctypes.c_int64)(address)

        def run(*arrays, out=None):
            arrays = [np.ascontiguousarray(a, DTYPE[dtype]) for a in arrays]
            out = np.empty_like(arrays[0]) if out is None else out
            entry(*(a.ctypes.data for a in arrays), out.ctypes.data, len(out))
            return out

        return run


def same_bits(a, b, dtype):
    """Where two results are the same number: bits and all, but one nan is as good as another."""
    return (a.view(BITS[dtype]) == b.view(BITS[dtype])) | (np.isnan(a) & np.isnan(b))


# name: intervals, ("log", low, high) for magnitudes of either sign, "bits" for any pattern
UNARY = {
    "exp": [(-1, 1), (-746, 710), (-746, -700), (-104, 89), ("log", 1e-20, 1), "bits"],
    "exp2": [(-1, 1), (-1076, 1025), (-1076, -1020), (-150, 128), ("log", 1e-20, 1), "bits"],
    "expm1": [(-1, 1), (0.3, 0.6), (-40, 710), (-20, 89), ("log", 1e-300, 1), "bits"],
    "log": [(0.5, 2), (0.9, 1.1), (0, 1e4), "bits"],
    "log2": [(0.5, 2), (0.9, 1.1), (0, 1e4), "bits"],
    "log10": [(0.5, 2), (0.9, 1.1), (0, 1e4), "bits"],
    "log1p": [(-1, 1), (-0.1, 0.1), (-0.5, 2), (0, 1e4), ("log", 1e-300, 1), "bits"],
    "sin": [(-3.2, 3.2), (-100, 100), (-2.6e5, 2.6e5), (-1.07e9, 1.07e9), ("log", 1e-300, 1), "bits"],
    "arcsin": [(-1, 1), (0.49, 0.6), (0.99, 1), ("log", 1e-300, 1)],
    "arccos": [(-1, 1), (0.49, 0.6), (-0.6, -0.49), (0.99, 1), ("log", 1e-300, 1)],
    "arctan": [(-1, 1), (0.9, 1.2), (-4, 4), ("log", 1e-2, 1e3), "bits"],
    "arcsinh": [(-1, 1), (0.2, 0.5), (-100, 100), ("log", 1e-300, 1e3), "bits"],
    "arccosh": [(1, 1.01), (1, 2), (1, 1000), "bits"],
    "arctanh": [(-1, 1), (0.1, 0.5), (0.99, 1), ("log", 1e-300, 1)],
    "sinh": [(-1, 1), (0.3, 0.6), (-711, 711), (-90, 90), ("log", 1e-300, 1), "bits"],
    "cosh": [(-1, 1), (0.3, 0.6), (-711, 711), (-90, 90), "bits"],
    "tanh": [(-1, 1), (0.1, 0.6), (-20, 20), ("log", 1e-300, 1), "bits"],
    "sigmoid": [(-1, 1), (-40, 40), (-746, -700), (-104, -80), "bits"],
    "erf": [(-1, 1), (0.9, 1.2), (-6, 6), ("log", 1e-300, 1), "bits"],
    "cbrt": [(-1, 1), (0.5, 8), "bits"],
}
UNARY["cos"] = UNARY["tan"] = UNARY["sin"]
BINARY = {
    "pow": [
        ((0, 10), (-5, 5)),
        ((0.5, 1.5), (-1000, 1000)),
        ((0.999, 1.001), (-1e6, 1e6)),
        ((0.5, 2), (-1074, 1074)),
        ("positive", (-1.2, 1.2)),
        ("bits", "whole"),
        ("bits", "bits"),
    ],
    "arctan2": [((-1, 1), (-1, 1)), ((1, 2), (1, 2)), (("log", 1e-3, 1e3), (-1, 1)), ("bits", "bits")],
}
BINARY["hypot"] = BINARY["arctan2"]


def draw(region, count, dtype, rng):
    """Random numbers of one region, as an array of the dtype."""
    kind = DTYPE[dtype]
    with np.errstate(over="ignore"):
        if region == "whole":
            return rng.integers(-5, 6, count).astype(kind)
        if isinstance(region, str):
            numbers = rng.integers(0, 2 ** (8 * kind.itemsize), count, dtype=BITS[dtype]).view(kind)
            return numbers if region == "bits" else np.abs(numbers)
        if region[0] == "log":
            size = np.exp2(rng.uniform(*np.log2([max(region[1], 1e-37 if dtype == "f32" else 0), region[2]]), count))
            return (size * rng.choice([-1, 1], count)).astype(kind)
        return rng.uniform(*region, count).astype(kind)


LN2, PI = float(np.log(2)), float(np.pi)
# where formulas change, results overflow or vanish, and where x is halfway between reduced arguments
EDGES = [
    *[0.25, 0.5, 0.75, 1, 2, 3, 4, 6, 9, 10, 18.7, 19.06, 20, 0.5**0.5, 2**0.5, 1 / 3, 36.7, 40, PI, PI / 2, PI / 4],
    *[LN2 * (k + 0.5) for k in (0, 1, 2, 3, 10, 26, 27, 52, 53, 100)],
    *[708.39, 709.78, 710.47, 744.44, 745.13, 746, 87.33, 88.72, 89.41, 103.28, 103.97, 104, 1e4, 1e10],
    *[1022, 1023, 1024, 1074, 1075, 126, 127, 128, 149, 150, 2.0**18, 2.0**30, 2.0**53, 2.0**54, 2.0**100, 2.0**127],
    *[2.0**-k for k in (10, 12, 13, 25, 26, 27, 28, 52, 53, 54, 55, 60, 100, 126, 127, 149)],
]


def edges(dtype):
    """The edges of either sign with their neighbours, and the least and largest numbers of the format."""
    kind = DTYPE[dtype]
    info = np.finfo(kind)
    found = np.array([*EDGES, info.max, info.tiny, info.smallest_subnormal, info.tiny * 0.5, info.max * 0.5], kind)
    near = [found]
    for direction in (kind.type(0), info.max):
        step = found
        for _ in range(2):
            step = np.nextafter(step, direction)
            near.append(step)
    near = np.concatenate(near)
    return np.unique(np.concatenate([near, -near]))


def near_multiples_of_half_pi(dtype, stride=1):
    """Numbers m·2^e next to multiples of π/2 for every `stride`-th e, by the continued fraction of 2^e / (π/2)."""
    precision, _, high = DIGITS[dtype]
    found = []
    with mp.workprec(1300):
        for e in range(-precision - 10, high - precision, stride):
            rest, before, now = mp.mpf(2) ** e / (mp.pi / 2), 1, 0
            while True:
                whole = int(mp.floor(rest))
                before, now = now, whole * now + before
                if now >= 2**precision:
                    break
                found.append(float(mp.ldexp(now, e)))
                rest = 1 / (rest - whole)
    numbers = np.unique(np.array(found).astype(DTYPE[dtype]))
    return np.concatenate([numbers, -numbers])


def points(name, dtype, count, rng, stride=1):
    """Operands to try: `count` random ones in each region, then hard ones."""
    if FUNCTIONS[name].arity == 1:
        parts = [draw(region, count, dtype, rng) for region in UNARY[name]] + [edges(dtype)]
        if name in ("sin", "cos", "tan"):
            parts.append(near_multiples_of_half_pi(dtype, stride))
        return (np.concatenate(parts),)
    pairs = [[draw(region, count, dtype, rng) for region in pair] for pair in BINARY[name]]
    hard = edges(dtype)
    pairs.append([rng.choice(hard, 4 * count), rng.choice(hard, 4 * count)])
    return tuple(np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))


def _sigmoid(x):
    return 1 / (1 + mp.exp(-x))


EXACT = {
    "exp2": lambda x: mp.mpf(2) ** x, "log2": lambda x: mp.log(x, 2), "arcsin": mp.asin, "arccos": mp.acos,
    "arctan": mp.atan, "arctan2": mp.atan2, "arcsinh": mp.asinh, "arccosh": mp.acosh, "arctanh": mp.atanh,
    "pow": mp.power, "sigmoid": _sigmoid,
}  # fmt: skip


def exact(name, *operands):
    """The value to some 100 bits, or None where there is no finite real one."""
    numbers = [float(o) for o in operands]
    if not np.all(np.isfinite(numbers)) or (name == "arctan2" and numbers[0] == 0):  # mpmath has no -0
        return None
    with mp.workprec(120):
        try:
            value = EXACT.get(name, getattr(mp, name, None))(*map(mp.mpf, numbers))
        except (ValueError, ZeroDivisionError):
            return None
        return value if isinstance(value, mp.mpf) and mp.isfinite(value) else None


def ulps(got, value, dtype):
    """The distance of a result from the exact value in units in the last place of the value."""
    precision, least, past = DIGITS[dtype]
    got = float(got)
    if np.isnan(got):
        return np.inf
    if np.isinf(got):  # stands for the first number that is too large
        largest = mp.ldexp(1, past)
        if value * got < 0 or abs(value) >= largest:
            return 0.0 if value * got > 0 else np.inf
        got = largest if got > 0 else -largest
    unit = least if value == 0 else max(mp.mag(value) - precision, least)
    unit = min(unit, past - precision)
    with mp.workprec(120):
        return float(mp.ldexp(abs(mp.mpf(got) - value), -unit))


def errors(name, dtype, operands, results):
    """Errors in ulp, of each result that has an exact value; nan elsewhere."""
    found = np.full(len(results), np.nan)
    for i, (*numbers, got) in enumerate(zip(*operands, results, strict=True)):
        value = exact(name, *numbers)
        if value is not None:
            found[i] = ulps(got, value, dtype)
    return found


def pairs(numbers):
    """All pairs, as two arrays."""
    first, second = zip(*itertools.product(numbers, repeat=2), strict=True)
    return np.array(first, numbers.dtype), np.array(second, numbers.dtype)
