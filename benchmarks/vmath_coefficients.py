"""Where every constant of the vector math comes from: fits the polynomials and rewrites the table.

Run it with ``python benchmarks/vmath_coefficients.py`` (needs mpmath, takes about a minute). Each polynomial is the
one of its degree with the least weighted error (Remez's exchange in 50 digits), its coefficients then rounded to the
format. The error beside a row is that of the rounded polynomial, relative to the function that it serves.
"""

import argparse
import itertools
import math
import struct
from dataclasses import dataclass
from pathlib import Path

import mpmath as mp
import numpy as np

TABLE = Path(__file__).resolve().parents[1] / "compiler" / "backends" / "llvm" / "vmath" / "coefficients.py"
HEAD = '''"""Every constant of the vector math, as hexadecimal floats, the constant term first.

Written by benchmarks/vmath_coefficients.py, which also says what each row approximates: change that, not this.
"""

# name and format: coefficients  # log2 of the relative error of the function served, from the polynomial alone
TABLE = {
'''
mp.mp.dps = 50
ROOT_HALF, LN2 = mp.sqrt(mp.mpf(1) / 2), mp.log(2)
EDGE = mp.mpf("1.002")  # intervals reach a little further than reduced arguments do


@dataclass(frozen=True)
class Fit:
    """A polynomial p for `target` on an interval; `weight`·(target - p) is the relative error of what it serves."""

    name: str
    target: object
    weight: object
    low: object
    high: object
    degrees: dict  # format: degree


@dataclass(frozen=True)
class Parts:
    """One number as the sum of several of a format, the largest first."""

    name: str
    number: object
    count: dict  # format: how many


def horner(terms, x):
    """The polynomial with these coefficients, the constant term first."""
    total = mp.mpf(0)
    for term in reversed(terms):
        total = total * x + term
    return total


def series(coefficient, count=80):
    """The function z -> sum of coefficient(n)·z^n, for |z| well below the radius of convergence."""
    terms = [mp.mpf(coefficient(n)) for n in range(count)]

    def value(z):
        return horner(terms, z)

    return value


def odd_part(function, first):
    """z -> (function(x)/x - first) / z with z = x², away from 0."""

    def value(z):
        x = mp.sqrt(z)
        with mp.workdps(80):
            return (function(x) / x - first) / z

    return value


def odd_weight(function):
    """How an error of p counts in x + x³·p(x²), relative to function(x)."""

    def value(z):
        x = mp.sqrt(z)
        return x * z / function(x)

    return value


def erf_tail(x):
    return mp.log(mp.erfc(x))


TINY = mp.mpf("1e-12")  # stands for 0, where quotients have no value
HALF = LN2 / 2 * EDGE
S_MAX = ((1 - ROOT_HALF) / (1 + ROOT_HALF)) ** 2 * EDGE  # s = (m-1)/(m+1) for m in [1/√2, √2], squared
QUARTER = (mp.pi / 4 * mp.mpf("1.015")) ** 2  # float32 finds q to 0.01 at its bound
S2LOG2 = 2 / LN2

ROWS = [
    Parts("ln2", LN2, {"f64": 2, "f32": 2}),
    Parts("log2_e", 1 / LN2, {"f64": 2, "f32": 2}),
    Parts("log10_e", 1 / mp.log(10), {"f64": 2, "f32": 2}),
    Parts("log10_2", LN2 / mp.log(10), {"f64": 2, "f32": 2}),
    Parts("half_pi", mp.pi / 2, {"f64": 3, "f32": 3}),
    Parts("pi", mp.pi, {"f64": 2, "f32": 2}),
    Parts("two_over_pi", 2 / mp.pi, {"f64": 1, "f32": 1}),
    # e^r = 1 + r + r²·p(r), weighted for expm1
    Fit("exp", series(lambda n: 1 / mp.factorial(n + 2)), lambda r: r * r / mp.expm1(r), -HALF, HALF,
        {"f64": 10, "f32": 5}),
    # 2^r = 1 + r·p(r)
    Fit("exp2", series(lambda n: LN2 ** (n + 1) / mp.factorial(n + 1)), lambda r: r / 2**r, -0.5 * EDGE, 0.5 * EDGE,
        {"f64": 11, "f32": 6}),
    # sinh r = r + r³·p(r²), cosh r = 1 + r²·p(r²)
    Fit("sinh", series(lambda n: 1 / mp.factorial(2 * n + 3)), odd_weight(mp.sinh), TINY, HALF**2,
        {"f64": 4, "f32": 2}),
    Fit("cosh", series(lambda n: 1 / mp.factorial(2 * n + 2)), lambda z: z / mp.cosh(mp.sqrt(z)), TINY, HALF**2,
        {"f64": 5, "f32": 2}),
    # log((1+s)/(1-s)) = 2s + s³·p(s²)
    Fit("log", series(lambda n: mp.mpf(2) / (2 * n + 3)), odd_weight(mp.atanh), TINY, S_MAX, {"f64": 6, "f32": 3}),
    # sin r = r + r³·p(r²), cos r = 1 - r²/2 + r⁴·p(r²)
    Fit("sin", series(lambda n: (-1) ** (n + 1) / mp.factorial(2 * n + 3)), odd_weight(mp.sin), TINY, QUARTER,
        {"f64": 6, "f32": 2}),
    Fit("cos", series(lambda n: (-1) ** n / mp.factorial(2 * n + 4)), lambda z: z * z / mp.cos(mp.sqrt(z)), TINY,
        QUARTER, {"f64": 6, "f32": 2}),
    # arcsin x = x + x³·p(x²) up to 1/2, arctan x = x + x³·p(x²) up to 1
    Fit("arcsin", series(lambda n: mp.binomial(2 * n + 2, n + 1) / 4 ** (n + 1) / (2 * n + 3), 120),
        odd_weight(mp.asin), TINY, mp.mpf(1) / 4, {"f64": 12, "f32": 5}),
    Fit("arctan", odd_part(mp.atan, 1), odd_weight(mp.atan), TINY, mp.mpf(1), {"f64": 19, "f32": 9}),
    # erf x = x + x·(2/√π - 1 + x²·p(x²)) up to 1; log(erfc x) = p(x - 1) from 1 on
    Parts("erf_slope", 2 / mp.sqrt(mp.pi) - 1, {"f64": 1, "f32": 1}),
    Fit("erf", odd_part(mp.erf, 2 / mp.sqrt(mp.pi)), odd_weight(mp.erf), TINY, mp.mpf(1), {"f64": 11, "f32": 6}),
    Fit("log_erfc", lambda t: erf_tail(t + 1), lambda t: mp.erfc(t + 1), mp.mpf(0), mp.mpf(5), {"f64": 18}),
    Fit("log_erfc", lambda t: erf_tail(t + 1), lambda t: mp.erfc(t + 1), mp.mpf(0), mp.mpf(3), {"f32": 6}),
    # 1/cbrt(m), a first guess for m in [1/√2, √2]
    Fit("rcbrt", lambda m: mp.cbrt(1 / m), mp.cbrt, ROOT_HALF, 1 / ROOT_HALF, {"f64": 4, "f32": 3}),
    # power: log2((1+s)/(1-s)) = s·(c0 + z·(c1 + z·p(z))), c0 and c1 in two parts for f64
    Parts("power_c0", S2LOG2, {"f64": 2}),
    Parts("power_c1", S2LOG2 / 3, {"f64": 2}),
    Fit("power", series(lambda n: S2LOG2 / (2 * n + 5)), lambda z: mp.sqrt(z) * z * z * S2LOG2 / mp.atanh(mp.sqrt(z)),
        TINY, S_MAX, {"f64": 7}),
    # the same for float32, computed in f64: log2((1+s)/(1-s)) = s·p(z), 2^r = 1 + r·p(r)
    Fit("power_single", series(lambda n: S2LOG2 / (2 * n + 1)),
        lambda z: mp.sqrt(z) * S2LOG2 / 2 / mp.atanh(mp.sqrt(z)), TINY, S_MAX, {"f64": 5}),
    Fit("exp2_single", series(lambda n: LN2 ** (n + 1) / mp.factorial(n + 1)), lambda r: r / 2**r, -0.5 * EDGE,
        0.5 * EDGE, {"f64": 5}),
]  # fmt: skip


def rounded(number, fmt):
    """The nearest number of the format, as a Python float."""
    if fmt == "f64":
        return float(number)
    (single,) = struct.unpack("<f", struct.pack("<f", float(number)))
    return single


def split(parts, fmt):
    rest, found = mp.mpf(parts.number), []
    for _ in range(parts.count[fmt]):
        found.append(rounded(rest, fmt))
        rest -= found[-1]
    return found, abs(rest / parts.number)


def chebyshev(low, high, count):
    """Points that crowd towards both ends, in rising order; none in the middle for an even count."""
    middle, half = (high + low) / mp.mpf(2), (high - low) / mp.mpf(2)
    return [middle - half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]


def solve(reference, degree):
    """The polynomial whose weighted errors at degree + 2 points are equal in size and alternate in sign."""
    matrix, right = mp.matrix(degree + 2), mp.matrix(degree + 2, 1)
    for i, (x, weight, target) in enumerate(reference):
        for power in range(degree + 1):
            matrix[i, power] = x**power
        matrix[i, degree + 1] = (-1) ** i / weight
        right[i] = target
    solution = list(mp.lu_solve(matrix, right))
    return solution[:-1], abs(solution[-1])


def weighted_error(terms, point):
    x, weight, target = point
    return weight * (target - horner(terms, x))


def extremes(errors, count):
    """Indices of `count` neighbouring extremes of alternating sign, those that start or end with the larger errors."""
    found = []
    for i, error in enumerate(errors):
        if found and (error > 0) == (errors[found[-1]] > 0):
            if abs(error) > abs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > count:
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    return found


def remez(fit, degree):
    """The coefficients, in full precision, of the polynomial of least weighted error, and the grid it was fitted on."""
    grid = [(x, abs(fit.weight(x)), fit.target(x)) for x in chebyshev(fit.low, fit.high, 40 * (degree + 2))]
    start = chebyshev(0, len(grid), degree + 2)
    reference = [int(i) for i in start]
    for _ in range(30):
        terms, level = solve([grid[i] for i in reference], degree)
        errors = [weighted_error(terms, point) for point in grid]
        worst = max(map(abs, errors))
        if worst < level * mp.mpf("1.001"):
            break
        reference = extremes(errors, degree + 2)
        assert len(reference) == degree + 2, f"{fit.name}: the error does not alternate"
    return terms, grid


def spacing(number, fmt):
    """The distance to the next number of the format."""
    return 2.0 ** (math.frexp(number)[1] - (53 if fmt == "f64" else 24))


def tuned(found, grid, fmt):
    """The coefficients after steps of one unit in the last place, alone and in pairs, that lower the largest error."""
    exact = [mp.mpf(term) for term in found]
    errors = np.array([float(weighted_error(exact, point)) for point in grid])
    x, weight = (np.array([float(point[i]) for point in grid]) for i in (0, 1))
    steps = [weight * x**power * spacing(term, fmt) for power, term in enumerate(found)]
    single = [((i, sign),) for i in range(len(found)) for sign in (-1, 1)]
    moves = single + [(*a, *b) for a, b in itertools.combinations(single, 2) if a[0][0] != b[0][0]]
    counts = [0] * len(found)
    level = np.abs(errors).max()
    improving = True
    while improving:
        improving = False
        for move in moves:
            moved = errors - sum(sign * steps[i] for i, sign in move)
            if np.abs(moved).max() < 0.999 * level:
                errors, level, improving = moved, np.abs(moved).max(), True
                for i, sign in move:
                    counts[i] += sign
    return [rounded(t + n * spacing(t, fmt), fmt) for t, n in zip(found, counts, strict=True)], level


def row(entry, fmt):
    """Rounded coefficients, and the error that they leave."""
    if isinstance(entry, Parts):
        return split(entry, fmt)
    terms, grid = remez(entry, entry.degrees[fmt])
    return tuned([rounded(term, fmt) for term in terms], grid, fmt)


def lines(entries):
    """The lines of the table, one entry each; long ones are wrapped."""
    for entry in entries:
        for fmt in entry.count if isinstance(entry, Parts) else entry.degrees:
            found, error = row(entry, fmt)
            label = f"    {entry.name + ' ' + fmt!r}: ".replace("'", '"')
            note = f"  # {float(mp.log(error, 2)):.1f}"
            words = [short_hex(number) for number in found]
            if len(label) + len(" ".join(words)) + len(note) + 3 <= 120:
                yield f'{label}"{" ".join(words)}",{note}'
                continue
            yield f"{label}({note}"
            step = len(words) if len(" ".join(words)) <= 110 else 4  # as the formatter would have it
            for i in range(0, len(words), step):
                end = " " if i + step < len(words) else ""
                yield f'        "{" ".join(words[i : i + step])}{end}"'
            yield "    ),"


def short_hex(number):
    """The hexadecimal form without trailing zeros of its fraction."""
    head, _, exponent = number.hex().partition("p")
    return f"{head.rstrip('0').rstrip('.') if '.' in head else head}p{exponent}"


def two_over_pi(digits):
    """The first hexadecimal digits of 2/π after the point, as lines of Python."""
    with mp.workprec(4 * digits + 64):
        number = int(mp.floor(2 / mp.pi * mp.mpf(16) ** digits))
    text = f"{number:0{digits}X}"
    yield "# The hexadecimal digits of 2/π after the point: enough for the largest float64."
    yield "TWO_OVER_PI_BITS = ("
    yield from (f'    "{text[i : i + 76]}"' for i in range(0, digits, 76))
    yield ")"


def text():
    """The file of the table."""
    return HEAD + "\n".join([*lines(ROWS), "}", "", *two_over_pi(304), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="print these rows instead of writing the table")
    names = parser.parse_args().names
    if names:
        print("\n".join(lines([entry for entry in ROWS if entry.name in names])))
    else:
        TABLE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
