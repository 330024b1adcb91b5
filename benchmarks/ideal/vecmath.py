"""exp, log, sin and their kin as branch-free polynomials in numba code, which LLVM vectorises on its own.

Each is one function for float64 and float32. They hold for the data of the benchmarks: sin and cos only up to about
|x| = 1e5, and the last digit of log1p is not cared for.
"""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

# per width: LLVM's integer, bits of the fraction, bias of the exponent, a number with ulp 1, its bits, sqrt(1/2)'s
LAYOUT: dict[Any, tuple[Any, int, int, float, int, int]] = {
    types.float64: (ir.IntType(64), 52, 1023, 6755399441055744.0, 0x4338000000000000, 0x3FE6A09E667F3BCD),
    types.float32: (ir.IntType(32), 23, 127, 12582912.0, 0x4B400000, 0x3F3504F3),
}
inline = functools.partial(njit, forceinline=True, error_model="numpy")


def _llvm(name: str, arity: int) -> Any:
    """LLVM's function of that name on `arity` floats of one type."""

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        return b.call(b.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind] * arity)), args)

    if arity == 1:
        return intrinsic(lambda typing, x: (x(x), generate))
    if arity == 2:
        return intrinsic(lambda typing, x, y: (x(x, y), generate))
    return intrinsic(lambda typing, x, y, z: (x(x, y, z), generate))


rint, fabs, copysign, fma = (
    _llvm("llvm.rint", 1),
    _llvm("llvm.fabs", 1),
    _llvm("llvm.copysign", 2),
    _llvm("llvm.fma", 3),
)
floor = _llvm("llvm.floor", 1)


@intrinsic
def select(typing: Any, condition: Any, x: Any, y: Any) -> Any:
    """`x` or `y`, both computed: an `if` around an expensive one would keep the loop from vectorising."""
    return x(types.boolean, x, y), lambda context, b, signature, args: b.select(*args)


@intrinsic
def two_to(typing: Any, k: Any) -> Any:
    """2**k for an integral float within the range of normal numbers."""
    whole, fraction, bias, magic, magic_bits, _ = LAYOUT[k]

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        bits = b.bitcast(b.fadd(args[0], kind(magic)), whole)
        return b.bitcast(b.shl(b.add(bits, whole(bias - magic_bits)), whole(fraction)), kind)

    return k(k), generate


@intrinsic
def split(typing: Any, x: Any) -> Any:
    """(m, k) with x = m·2**k and m between sqrt(1/2) and sqrt(2), for positive normal x."""
    whole, fraction, _, magic, magic_bits, root = LAYOUT[x]

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        bits = b.bitcast(args[0], whole)
        exponent = b.ashr(b.sub(bits, whole(root)), whole(fraction))
        m = b.bitcast(b.sub(bits, b.shl(exponent, whole(fraction))), kind)
        k = b.fsub(b.bitcast(b.add(exponent, whole(magic_bits)), kind), kind(magic))
        return context.make_tuple(b, signature.return_type, (m, k))

    return types.UniTuple(x, 2)(x), generate


@intrinsic
def turned(typing: Any, quarter: Any, sine: Any, cosine: Any) -> Any:
    """The sine after that many quarter turns."""
    whole, _, _, magic, _, _ = LAYOUT[quarter]

    def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
        q, sine, cosine = args
        kind = q.type
        n = b.bitcast(b.fadd(q, kind(magic)), whole)
        value = b.select(b.icmp_signed("!=", b.and_(n, whole(1)), whole(0)), cosine, sine)
        sign = b.shl(b.and_(n, whole(2)), whole(whole.width - 2))
        return b.bitcast(b.xor(b.bitcast(value, whole), sign), kind)

    return quarter(quarter, sine, cosine), generate


def polynomial(*coefficients: float) -> Any:
    """Of these coefficients, the highest power first, in Estrin's order: pairs, pairs of pairs, …"""

    @intrinsic
    def evaluate(typing: Any, z: Any) -> Any:
        def generate(context: Any, b: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            terms, power = [kind(c) for c in reversed(coefficients)], args[0]
            while len(terms) > 1:
                pairs = [b.fma(hi, power, lo) for lo, hi in zip(terms[::2], terms[1::2], strict=False)]
                terms = pairs + terms[2 * len(pairs) :]
                power = b.fmul(power, power)
            return terms[0]

        return z(z), generate

    return evaluate


# fmt: off
DOUBLE = SimpleNamespace(
    real=np.float64, top=710.0, bottom=-750.0, tiny=2.2250738585072014e-308, up=54.0,
    ln2=(0.693147180369123816490, 1.90821492927058770002e-10),
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    exp=polynomial(2.5100424157005067e-08, 2.7620138719733994e-07, 2.7557268378684192e-06, 2.480152119021773e-05,
                   0.00019841269863105968, 0.0013888888917281794, 0.008333333333330051, 0.04166666666662399,
                   0.16666666666666669, 0.5000000000000001),
    sin=polynomial(-7.586576588171073e-13, 1.6058529572267877e-10, -2.5052106219521895e-08, 2.755731921930192e-06,
                   -0.00019841269841265017, 0.008333333333333331, -0.16666666666666666),
    cos=polynomial(4.745804889760674e-14, -1.1470459749675607e-11, 2.087675578389404e-09, -2.7557319221382114e-07,
                   2.4801587301584618e-05, -0.0013888888888888887, 0.041666666666666664),
    log=polynomial(0.14617807153417325, 0.15331611722055008, 0.1818289243253687, 0.22222211089379496,
                   0.28571428626253836, 0.3999999999989889, 0.666666666666667),
)
SINGLE = SimpleNamespace(
    real=np.float32, top=89.0, bottom=-104.0, tiny=1.17549435e-38, up=25.0,
    ln2=(0.693359375, -2.12194440e-4), half_pi=(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8),
    exp=polynomial(0.0013926213466332444, 0.008363202971575855, 0.04166655443768594, 0.16666576845993977, 0.5),
    sin=polynomial(-0.00019587387068464455, 0.008332745936380422, -0.16666664650292082),
    cos=polynomial(2.45474372101932e-05, -0.00138883006969039, 0.04166666464745738),
    log=polynomial(0.23331614471843498, 0.28550778633191964, 0.4000012221181065, 0.6666666655404201),
)
ERF_INNER = polynomial(-8.101869549660952e-10, 1.3884625209147687e-08, -1.624658795725963e-07, 1.6452392414414235e-06,
                       -1.4925137231361603e-05, 0.00012055315509827725, -0.0008548326651491142, 0.005223977620813342,
                       -0.026866170644835378, 0.11283791670954388, -0.3761263890318375)
ERF_OUTER = polynomial(-1.1352571477273627e-06, 1.272567661840228e-06, 4.011749647325067e-06, 1.3058577122278017e-06,
                       -1.3998283772784976e-05, -2.7562209161129353e-05, 2.7527175557227246e-05, 0.00017435947400205157,
                       4.355558686575482e-05, -0.0009819769411038642, -0.00084714325299195, 0.006997461736971578,
                       0.0037328924043978336, -0.07897858101570611, 0.24165819424246585, -0.4271858474139585,
                       0.25539567631050575)
# fmt: on


def family(c: SimpleNamespace) -> SimpleNamespace:
    """The functions of one width; constants are closed over in that width, or numba would compute in float64."""
    half, one, two, inf, nan = map(c.real, (0.5, 1, 2, math.inf, math.nan))
    top, bottom, low, far = map(c.real, (c.top, c.bottom, -40 if c.real is np.float64 else -30, 20))
    log2e, two_over_pi, tiny, up, lift = map(c.real, (1 / math.log(2), 2 / math.pi, c.tiny, c.up, 2.0**c.up))
    ln2_hi, ln2_lo = map(c.real, c.ln2)
    pi_hi, pi_mid, pi_lo = map(c.real, c.half_pi)
    exp_rest, sin_rest, cos_rest, log_rest = c.exp, c.sin, c.cos, c.log

    @inline
    def exp(x):
        y = top if x > top else x
        y = bottom if y < bottom else y
        k = rint(y * log2e)
        r = fma(-k, ln2_lo, fma(-k, ln2_hi, y))
        p = fma(r * r, exp_rest(r), r)
        first = floor(k * half)  # two factors: 2**k alone may be no normal number
        scale = two_to(first)
        return fma(p, scale, scale) * two_to(k - first)

    @inline
    def expm1(x):
        y = top if x > top else x
        y = low if y < low else y
        k = rint(y * log2e)
        r = fma(-k, ln2_lo, fma(-k, ln2_hi, y))
        scale = two_to(k - one)
        return two * fma(fma(r * r, exp_rest(r), r), scale, scale - half)

    @inline
    def log(x):
        small = x < tiny
        m, k = split(x * lift if small else x)
        k = k - up if small else k
        f = m - one
        s, h = f / (two + f), half * f * f
        z = s * s
        r = fma(k, ln2_hi, f - (h - fma(s, fma(z, log_rest(z), h), k * ln2_lo)))
        r = select(x < inf, r, x)
        r = select(x == one - one, -inf, r)
        return select(x < one - one, nan, r)

    @inline
    def log1p(x):
        u = one + x
        return select(u == one, x, log(u) + (x - (u - one)) / u)

    @inline
    def tanh(x):
        a = fabs(x)
        t = expm1(two * (far if a > far else a))
        return copysign(t / (t + two), x)

    @inline
    def sine_after(x, quarters):
        q = rint(x * two_over_pi)
        r = fma(-q, pi_lo, fma(-q, pi_mid, fma(-q, pi_hi, x)))
        z = r * r
        return turned(q + quarters, fma(r * z, sin_rest(z), r), fma(z * z, cos_rest(z), fma(-half, z, one)))

    @inline
    def sin(x):
        return sine_after(x, one - one)

    @inline
    def cos(x):
        return sine_after(x, one)

    return SimpleNamespace(exp=exp, log=log, log1p=log1p, tanh=tanh, sin=sin, cos=cos)


def by_width(name: str) -> Any:
    """The function of that name for numba code, in the width of its argument."""
    chosen = {types.float64: getattr(F64, name), types.float32: getattr(F32, name)}

    def function(x):
        raise NotImplementedError(f"{name} is for numba code")

    @overload(function, jit_options={"forceinline": True, "error_model": "numpy"})
    def choose(x):
        of_width = chosen[x]
        return lambda x: of_width(x)

    return function


F64, F32 = family(DOUBLE), family(SINGLE)
exp, log, log1p, tanh, sin, cos = map(by_width, ("exp", "log", "log1p", "tanh", "sin", "cos"))
_exp64 = F64.exp


@inline
def erf(x):
    """In float64: a polynomial up to 1, exp(-x²) times one beyond."""
    size, z = fabs(x), x * x
    inner = x * fma(z, ERF_INNER(z), 1.1283791670955126)
    a = select(size > 6.0, 6.0, size)
    outer = copysign(1.0 - _exp64(-a * a) * ERF_OUTER((a - 2.0) / (a + 2.0)), x)
    return select(size < 1.0, inner, outer)
