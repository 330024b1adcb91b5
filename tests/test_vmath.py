"""The vector math: errors against mpmath, special values, and the same bits in every lane."""

import ctypes
import importlib.util
import itertools
import re
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from hypothesis import settings
from scipy import special
from vmath_cases import (
    ALL,
    BOUND,
    DTYPE,
    ELEMENT,
    Loops,
    errors,
    loop_text,
    machine,
    near_multiples_of_half_pi,
    optimise,
    pairs,
    points,
    same_bits,
)

from numtape.compiler.backends.llvm.vmath import FUNCTIONS, call_attribute, declare, keep, module_text, symbol
from numtape.compiler.backends.llvm.vmath.coefficients import TABLE
from numtape.compiler.backends.llvm.vmath.trigonometry import bound
from numtape.compiler.backends.llvm.vmath.values import FORMATS

FULL = settings().max_examples >= 1000  # HYPOTHESIS_PROFILE=full
LANES = {"f64": [1, 8, 16], "f32": [1, 16]}
WIDE = {"f64": 8, "f32": 16}
LIMITS = {"pow": 1.5}  # ulp; 2 for the others
INF, NAN, PI = np.inf, np.nan, np.pi
SPECIAL = [0.0, -0.0, INF, -INF, NAN]

# what NumPy doesn't have
NUMPY = {"pow": np.power, "erf": special.erf, "sigmoid": special.expit}

each = pytest.mark.parametrize(("name", "dtype"), ALL, ids=lambda value: value)


def numpy_function(name):
    return NUMPY.get(name) or getattr(np, name)


@pytest.fixture(scope="module")
def loops():
    return Loops(ALL, LANES)


@pytest.fixture
def rng():
    """New points in each run of the full profile, the same ones otherwise."""
    return np.random.default_rng(None if FULL else 0)


@each
def test_error(loops, name, dtype, rng):
    operands = points(name, dtype, 8 * settings().max_examples, rng, stride=1 if FULL else 32)
    found = errors(name, dtype, operands, loops(name, dtype, WIDE[dtype])(*operands))
    worst = np.nanargmax(found)
    at = [o[worst] for o in operands]
    assert np.isfinite(found).sum() > 3 * settings().max_examples
    assert found[worst] <= LIMITS.get(name, 2), f"{name}({at}) is {found[worst]} ulp off"


@each
def test_lanes_agree_to_the_bit(loops, name, dtype, rng):
    """Each number goes through every lane, with strangers in the others (huge arguments of sin among them)."""
    operands = points(name, dtype, 4 * settings().max_examples, rng, stride=64)
    order = rng.permutation(len(operands[0]))
    operands = [o[order] for o in operands]
    expected = loops(name, dtype, 1)(*operands)
    for lanes in LANES[dtype][1:]:
        for shift in range(lanes if FULL else 3):
            got = loops(name, dtype, lanes)(*(o[shift:] for o in operands))
            same = same_bits(got, expected[shift:], dtype)
            assert same.all(), (lanes, shift, [o[shift:][~same][:3] for o in operands])


@each
def test_every_length(loops, name, dtype):
    """The remainder of a loop gives what the lanes give."""
    numbers = [np.linspace(0.1, 0.9, 40).astype(DTYPE[dtype])] * FUNCTIONS[name].arity
    expected = loops(name, dtype, 1)(*numbers)
    for lanes, length in itertools.product(LANES[dtype], range(40)):
        out = np.full(40, -7, DTYPE[dtype])
        loops(name, dtype, lanes)(*numbers, out=out[:length])
        assert same_bits(out[:length], expected[:length], dtype).all()
        assert (out[length:] == -7).all()


def test_loops_call_vectors(loops):
    """A width without a matching variant would leave a scalar loop, without a word."""
    for name, dtype in ALL:
        for lanes in LANES[dtype]:
            _, _, rest = loops.assembly.partition(f"\nloop_{symbol(name, dtype, lanes)}:")
            loop, _, _ = rest.partition(".Lfunc_end")
            assert re.search(rf"\b{symbol(name, dtype, lanes)}\b", loop), loop


# ---------------------------------------------------------------------------------------------------------------------
# Special values
# ---------------------------------------------------------------------------------------------------------------------


def assert_same(got, expected, operands):
    """Equal, signs of zeros included; nan equals nan."""
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | (np.isnan(got) & np.isnan(expected))
    assert same.all(), [(*(o[i] for o in operands), got[i], expected[i]) for i in np.flatnonzero(~same)[:5]]


def edge_numbers(dtype):
    """Zeros, infinities, nan; powers of two; whole, odd, even and half numbers; the ends of the format."""
    info = np.finfo(DTYPE[dtype])
    sizes = [0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 1e5, 1e5 + 1, 2.0**info.nmant, 2.0 ** (info.nmant + 1) - 1]
    sizes += [2.0 ** (info.nmant + 1), 1e30, info.max, info.tiny, info.smallest_subnormal, INF]
    sizes += [1 - info.epsneg, 1 + info.eps]
    return np.array([*sizes, *(-size for size in sizes), NAN], DTYPE[dtype])


@each
def test_special_values(loops, name, dtype):
    """Zeros, infinities and nan are NumPy's wherever they come in or out, and so are poles and domains."""
    numbers = edge_numbers(dtype)
    operands = pairs(numbers) if FUNCTIONS[name].arity == 2 else (numbers,)
    with np.errstate(all="ignore"):
        expected = numpy_function(name)(*operands)
    for lanes in LANES[dtype]:
        got = loops(name, dtype, lanes)(*operands)
        come_in = np.any([~np.isfinite(o) | (o == 0) for o in operands], axis=0)
        for values in (expected, got):
            out = ~np.isfinite(values) | (values == 0)
            assert_same(got[out], expected[out], [o[out] for o in operands])
        if name in ("arctan2", "arccos", "arctan"):  # π and its fractions: NumPy's own last place may be off
            np.testing.assert_array_max_ulp(got[come_in & ~np.isnan(got)], expected[come_in & ~np.isnan(got)], 1)
        else:
            assert_same(got[come_in], expected[come_in], [o[come_in] for o in operands])


# C23, F.10.4.5 and F.10.1.4, as written there
POW = [
    ([0.0], [-3], INF), ([-0.0], [-3], -INF), ([0.0, -0.0], [-2, -2.5, -1e300, -INF], INF),
    ([0.0], [3], 0.0), ([-0.0], [3], -0.0), ([0.0, -0.0], [2, 2.5, 1e300, INF], 0.0),
    ([-1], [INF, -INF], 1), ([1], [*SPECIAL, 2.5, -1e300], 1), ([*SPECIAL, -1, 5e-324, 1e308], [0.0, -0.0], 1),
    ([-2.5, -1e-300], [0.5, -2.5, 1e-300], NAN), ([0.5, -0.5, 1e-310], [-INF], INF), ([2, -2, 1.5], [-INF], 0.0),
    ([0.5, -0.5, 1e-310], [INF], 0.0), ([2, -2, INF, -INF], [INF], INF), ([-INF], [-3], -0.0),
    ([-INF], [-2, -2.5, -INF], 0.0), ([-INF], [3], -INF), ([-INF], [2, 2.5], INF), ([INF], [-1e-300, -3], 0.0),
    ([INF], [1e-300, 3], INF), ([NAN], [1, -INF, NAN], NAN), ([0.0, 2, INF], [NAN], NAN),
    ([-2], [1e300, 2.0**53, 1024], INF), ([-2], [1023], -(2.0**1023)), ([-2], [-1075, -(2.0**53) + 1], -0.0),
]  # fmt: skip
ARCTAN2 = [
    ([0.0], [-0.0, -1, -INF], PI), ([-0.0], [-0.0, -1, -INF], -PI), ([0.0], [0.0, 1, INF], 0.0),
    ([-0.0], [0.0, 1, INF], -0.0), ([1, 5e-324], [0.0, -0.0], PI / 2), ([-1, -5e-324], [0.0, -0.0], -PI / 2),
    ([1, 1e308], [-INF], PI), ([-1], [-INF], -PI), ([1], [INF], 0.0), ([-1], [INF], -0.0),
    ([INF], [0.0, 1, -1e308], PI / 2), ([-INF], [0.0, 1, -1e308], -PI / 2), ([INF], [-INF], 3 * PI / 4),
    ([-INF], [-INF], -3 * PI / 4), ([INF], [INF], PI / 4), ([-INF], [INF], -PI / 4), ([NAN], SPECIAL, NAN),
    (SPECIAL, [NAN], NAN),
]  # fmt: skip
HYPOT = [
    ([INF, -INF], [*SPECIAL, 1, 1e308], INF), ([NAN], [0.0, 1, NAN], NAN), ([0.0, -0.0], [0.0, -0.0], 0.0),
    ([3, -3], [4, -4], 5), ([3 * 2.0**1020], [4 * 2.0**1020], 5 * 2.0**1020), ([1e308], [1.7e308], INF),
    ([3 * 2.0**-1074], [4 * 2.0**-1074], 5 * 2.0**-1074), ([5e-324], [0.0], 5e-324),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rows"), [("pow", POW), ("arctan2", ARCTAN2), ("hypot", HYPOT)])
def test_values_of_the_c_standard(loops, name, rows):
    for first, second, expected in rows:
        operands = [np.array(o) for o in zip(*itertools.product(first, second), strict=True)]
        assert_same(loops(name, "f64", 8)(*operands), np.full(len(operands[0]), expected, float), operands)


@pytest.mark.parametrize("dtype", ELEMENT)
def test_exact_results(loops, dtype):
    """Where the result is a number of the format and a reader would notice."""
    kind, most = DTYPE[dtype], {"f64": 1024, "f32": 128}[dtype]
    least = {"f64": -1074, "f32": -149}[dtype]

    def check(name, expected, *operands):
        operands = [np.asarray(o, kind) for o in operands]
        assert_same(loops(name, dtype, WIDE[dtype])(*operands), np.asarray(expected, kind), operands)

    exponents = np.arange(least, most)
    check("exp2", np.ldexp(1.0, exponents), exponents)
    check("log2", exponents, np.ldexp(1.0, exponents))
    check("pow", np.ldexp(1.0, exponents), np.full(len(exponents), 2.0), exponents)
    tens = np.arange(23 if dtype == "f64" else 11)
    check("log10", tens, 10.0**tens)
    whole = np.arange(0, 200 if dtype == "f32" else 2**17)
    check("cbrt", whole, whole.astype(float) ** 3)
    check("pow", whole.astype(float) ** 2, whole, np.full(len(whole), 2.0))
    check("hypot", 5 * whole, 3 * whole, 4 * whole)
    check("pow", whole, whole, np.ones(len(whole)))
    half_pi = kind.type(PI / 2)
    check("arcsin", [half_pi, -half_pi, 0.0, -0.0], [1, -1, 0.0, -0.0])
    check("arccos", [0, kind.type(PI), half_pi], [1, -1, 0])
    for name in ("exp", "cosh", "cos"):
        check(name, [1, 1], [0.0, -0.0])
    check("sigmoid", [0.5, 0.5, 1, 0], [0.0, -0.0, INF, -INF])


@pytest.mark.parametrize("dtype", ELEMENT)
@pytest.mark.parametrize(
    "name", ["expm1", "log1p", "sin", "tan", "arcsin", "arctan", "arcsinh", "arctanh", "sinh", "tanh"]
)
def test_tiny_arguments(loops, name, dtype):
    """f(x) = x + O(x²) is x for subnormals, in every bit."""
    info = np.finfo(DTYPE[dtype])
    tiny = np.array([k * info.smallest_subnormal for k in range(1, 50)] + [info.tiny, info.tiny * 1.25], info.dtype)
    tiny = np.concatenate([tiny, -tiny])
    assert_same(loops(name, dtype, WIDE[dtype])(tiny), tiny, [tiny])


@pytest.mark.parametrize("dtype", ELEMENT)
def test_results_stay_in_range(loops, dtype, rng):
    def extremes(name, numbers):
        got = loops(name, dtype, WIDE[dtype])(numbers.astype(DTYPE[dtype]))
        return got.min(), got.max()

    near_half_pi = near_multiples_of_half_pi(dtype, stride=64)
    for name in ("sin", "cos"):
        low, high = extremes(name, np.concatenate([near_half_pi, rng.uniform(-100, 100, 20000)]))
        assert (low, high) == (-1, 1)
    for name in ("tanh", "erf"):
        assert extremes(name, np.linspace(-30, 30, 40001)) == (-1, 1)
    assert extremes("sigmoid", np.linspace(-200, 200, 40001))[1] == 1
    assert extremes("cosh", np.linspace(-1, 1, 40001))[0] == 1


# ---------------------------------------------------------------------------------------------------------------------
# Text
# ---------------------------------------------------------------------------------------------------------------------


@each
def test_the_text_stands_alone(name, dtype):
    """One function with its helpers parses, defines what is promised, and is the same text each time."""
    lanes = {"f64": [8], "f32": [16]}
    for linkage in ("internal", "external"):
        text = module_text([(name, dtype)], lanes, linkage)
        module = llvm.parse_assembly(text)
        module.verify()
        defined = {f.name: f.linkage for f in module.functions if not f.is_declaration}
        wanted = {symbol(name, dtype), symbol(name, dtype, WIDE[dtype])}
        assert {f for f, kind in defined.items() if kind.name == linkage} >= wanted
        assert all(kind.name == "internal" for f, kind in defined.items() if f not in wanted)
        assert text == module_text([(name, dtype), (name, dtype)], lanes, linkage)


def test_other_names_are_refused():
    with pytest.raises(KeyError, match="gamma"):
        module_text([("gamma", "f64")], {})


def test_a_linked_module():
    """A kernel that declares the functions runs with a module that defines them, and so does its vectorised loop."""
    functions = [("exp", "f64"), ("sin", "f64"), ("pow", "f64")]
    lanes = {"f64": [8]}
    target = machine()
    declared = [declare(*function, [8]) for function in functions]
    texts = [loop_text(*function, 8, number) for number, function in enumerate(functions)]
    kernel = optimise("\n".join([*declared, keep(functions, lanes), *texts]), target)
    assert call_attribute("exp", "f64", [8]).count("nt_exp_f64_v8") == 1
    engine = llvm.create_mcjit_compiler(kernel, target)
    engine.add_module(optimise(module_text(functions, lanes, "external"), target))
    engine.finalize_object()
    x = np.linspace(0.5, 3, 21)
    inside = Loops(functions, {"f64": [1]})
    for name, dtype in functions:
        operands = [x] * FUNCTIONS[name].arity
        entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(operands) + 1), ctypes.c_int64)(
            engine.get_function_address(f"loop_{symbol(name, dtype, 8)}")
        )
        out = np.empty_like(x)
        entry(*(o.ctypes.data for o in operands), out.ctypes.data, len(x))
        assert (out == inside(name, dtype, 1)(*operands)).all()


def test_another_processor_gives_the_same_bits(loops, rng):
    """With vectors half as wide the bits stay the same: an fma is an fma everywhere."""
    features = llvm.get_host_cpu_features()
    if not (features.get("avx2") and features.get("fma")):
        pytest.skip("needs a processor with AVX2")
    older = Loops(ALL, {"f64": [8], "f32": [16]}, machine("haswell", ""))
    for name, dtype in ALL:
        operands = points(name, dtype, 50, rng, stride=256)
        results = [each_loops(name, dtype, WIDE[dtype])(*operands) for each_loops in (loops, older)]
        assert same_bits(*results, dtype).all(), (name, dtype)


def test_bounds_are_those_of_the_cases():
    assert {dtype: bound(fmt) for dtype, fmt in FORMATS.items()} == BOUND


def test_coefficients_come_from_their_script():
    """The script writes the table that is there (some rows, all in the full profile)."""
    path = Path(__file__).resolve().parents[1] / "benchmarks" / "vmath_coefficients.py"
    spec = importlib.util.spec_from_file_location("vmath_coefficients", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    if FULL:
        assert script.text() == script.TABLE.read_text(encoding="utf-8")
    for entry in script.ROWS:
        if isinstance(entry, script.Parts) or entry.name in ("log", "sinh"):
            for dtype in entry.count if isinstance(entry, script.Parts) else entry.degrees:
                numbers, _ = script.row(entry, dtype)
                assert list(map(float.fromhex, TABLE[f"{entry.name} {dtype}"].split())) == numbers
