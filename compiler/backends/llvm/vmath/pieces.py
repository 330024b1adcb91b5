"""What several functions are made of: polynomials, rounding to an integer, powers of two, sums in two parts."""

from __future__ import annotations

from collections.abc import Sequence

from .coefficients import TABLE
from .values import Format, Value, bits, fma, from_bits


def coefficients(name: str, fmt: Format) -> tuple[float, ...]:
    """A row of the table, the constant term first."""
    return tuple(map(float.fromhex, TABLE[f"{name} {fmt.dtype}"].split()))


def polynomial(terms: Sequence[float], x: Value) -> Value:
    """The sum of terms[i]·x^i in pairs, pairs of pairs and so on, which keeps several fma units busy."""
    sums: list[Value | float] = list(terms)
    power = x
    while len(sums) > 1:
        paired: list[Value | float] = [fma(power, high, low) for low, high in zip(sums[::2], sums[1::2], strict=False)]
        if len(sums) % 2:
            paired.append(sums[-1])
        sums = paired
        if len(sums) > 1:
            power = power * power
    (result,) = sums
    assert isinstance(result, Value)
    return result


def fitted(name: str, x: Value) -> Value:
    """The polynomial of that name at x."""
    return polynomial(coefficients(name, x.format), x)


def nearest_integer(x: Value, factor: float, offset: int = 0) -> tuple[Value, Value]:
    """k = the integer nearest to x·factor, for |k| < 2^(mantissa - 2), and a register whose low bits hold k + offset.

    k has the sign of x·factor except that it is +0 where it is zero.
    """
    shift = x.format.magic + offset
    shifted = fma(x, factor, shift)
    return shifted - shift, bits(shifted)


def power_of_two(biased: Value) -> Value:
    """2^k from a register whose low bits hold k + the bias of exponents; 2^k has to be a normal number."""
    return from_bits(biased << biased.format.mantissa)


def two_powers(twice_biased: Value) -> tuple[Value, Value]:
    """2^k as a product, from k + twice the bias: 2^k alone may be too large or too small while the result is not."""
    half = twice_biased >> 1
    return power_of_two(half), power_of_two(twice_biased - half)


def fast_two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """The sum rounded, and what rounding took away; exact where |a| ≥ |b| or a = 0 (Dekker 1971)."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Value, b: Value | float) -> tuple[Value, Value]:
    """The product rounded, and what rounding took away."""
    product = a * b
    return product, fma(a, b, -product)


def quotient(n: Value, n_low: Value, d: Value, d_low: Value) -> Value:
    """(n + n_low) / (d + d_low) with little more than half a unit of error; d_low is below the last place of d."""
    inverse = 1.0 / d
    q = n * inverse
    rest = fma(-q, d, n) + fma(-q, d_low, n_low)
    return fma(rest, inverse, q)
