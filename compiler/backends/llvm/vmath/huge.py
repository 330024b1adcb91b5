"""Reduction of huge arguments modulo π/2, for one number: Payne and Hanek's multiplication with the bits that count.

x = m·2^e with a 53-bit integer m. Bits of 2/π that make a multiple of 4 with 2^e don't matter; of the 192 after these,
the product with m modulo 2^192 is x·2/π modulo 4, with 190 bits after the point, 62 of which may cancel (no double lies
closer to a multiple of π/2).
"""

from __future__ import annotations

import math

from .coefficients import TWO_OVER_PI_BITS
from .pieces import coefficients, fast_two_sum, two_product
from .values import F64, Value, absolute, bits, from_bits, select

WORDS = "@nt_two_over_pi"


def words_text() -> str:
    """The global that holds 64 zero bits and then those of 2/π, the first word the most significant."""
    bits_ = "0" * 64 + "".join(f"{int(digit, 16):04b}" for digit in TWO_OVER_PI_BITS)
    words = [int(bits_[i : i + 64], 2) for i in range(0, len(bits_), 64)]
    listed = ", ".join(f"i64 {word - (word >> 63 << 64)}" for word in words)
    return f"{WORDS} = internal unnamed_addr constant [{len(words)} x i64] [{listed}]\n"


def _word(index: Value) -> Value:
    code = index.code
    address = code.value("ptr", f"getelementptr inbounds i64, ptr {WORDS}, {index.typed}")
    return code.value("i64", f"load i64, {address.typed}")


def _resize(op: str, x: Value, element: str) -> Value:
    return x.code.value(element, f"{op} {x.typed} to {element}")


def reduce_huge(x: Value) -> tuple[Value, Value, Value]:
    """As trigonometry.reduce, for finite float64 numbers from 2^22 on; nan for infinities."""
    pattern = bits(absolute(x))
    e = pattern >> 52  # 1075 more than the exponent of the integer m
    m = (pattern & ((1 << 52) - 1)) | (1 << 52)
    start = e - (1075 - 62)  # the first bit of 2/π that counts has weight 2^(1 - e)
    first = start >> 6
    window = _resize("zext", _word(first), "i256")
    for i in range(1, 4):
        window = (window << 64) | _resize("zext", _word(first + i), "i256")
    window = window << _resize("zext", start & 63, "i256")
    factor = _resize("trunc", window >> 64, "i192")
    product = factor * _resize("zext", m, "i192")
    quarters = (product + (1 << 189)) >> 190
    fraction = product - (quarters << 190)  # signed, in units of 2^-190 quarter turns
    h, low = _as_float(fraction)
    half_pi, half_pi_low, _ = coefficients("half_pi", F64)
    r, tail = two_product(h, half_pi)
    r, tail = fast_two_sum(r, tail + (h * half_pi_low + low * half_pi))
    # -x turns by -q and leaves -r
    negative = bits(x).binary("ashr", 63)
    sign = negative & F64.sign_bit
    r, tail = (from_bits(bits(part) ^ sign) for part in (r, tail))
    integer = (_resize("trunc", quarters, "i64") ^ negative) - negative
    return integer, select(pattern.eq(F64.bits(math.inf)), math.nan, r), tail


def _as_float(fraction: Value) -> tuple[Value, Value]:
    """A signed i192 in units of 2^-190 as a float and a rest, from its upper 128 bits."""
    code = fraction.code
    pieces = []
    for shift, mask in ((160, None), (128, 0xFFFFFFFF), (96, 0xFFFFFFFF), (64, 0xFFFFFFFF)):
        piece = _resize("trunc", fraction.binary("ashr", shift), "i64")
        piece = piece if mask is None else piece & mask
        pieces.append(code.value("double", f"sitofp {piece.typed} to double") * 2.0 ** (shift - 190))
    high, low = fast_two_sum(pieces[0], pieces[1])
    high, rest = fast_two_sum(high, pieces[2])
    return fast_two_sum(high, low + rest + pieces[3])
