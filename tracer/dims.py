"""Symbolic sizes: integer polynomials over input dims, kept in one canonical form.

A size is a plain ``int`` when it is known, else a :class:`Dim`. Two Dims are the same size for every input
exactly when they compare equal, so types can be compared with ``==``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

# An atom is what a polynomial is made of:
#   "x.0"              the size of axis 0 of input x (never negative: the dot says so)
#   "#3"               a count that the call itself finds, such as the hits of a mask (never negative)
#   "@3"               an integer that the call itself computes
#   "k"                the value of an integer input
#   ("max", a, b)      and "min", "floordiv", where a and b are sizes
Atom = str | tuple[str, "int | Dim", "int | Dim"]
Monomial = tuple[Atom, ...]

_NO_BOUND = None
RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
WHOLE = range(-(2**61), 2**61 + 1)
"""The integers that calls may vary: sums of two, and differences of products below 2**62, stay within 64 bits."""


def largest(size: int | Dim) -> int:
    """A bound of the magnitude of a size: integers from `WHOLE`; products of lengths alone fit into memory."""
    if isinstance(size, int):
        return abs(size)
    total = 0
    for monomial, factor in size.terms:
        bound = 1
        for atom in monomial:
            bound *= _largest_atom(atom)
        lengths = all(isinstance(a, str) and _is_length(a) for a in monomial)
        total += abs(factor) * (min(bound, 2**40) if lengths else bound)
    return total


def _largest_atom(atom: Atom) -> int:
    if isinstance(atom, str):
        return 2**31 if _is_length(atom) else WHOLE[-1]
    kind, a, b = atom
    return largest(a) if kind == "floordiv" else max(largest(a), largest(b))


def _is_length(name: str) -> bool:
    return "." in name or name[0] == "#"


def _order(item: object) -> str:
    return repr(item)


class Dim:
    """An integer expression over atoms: immutable, hashable, canonical. It is never a constant."""

    __slots__ = ("_hash", "terms")
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is Dim and self._hash == other._hash and self.terms == other.terms)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Dim, (self.terms,))

    def __add__(self, other: int | Dim) -> int | Dim:
        return _add(self, other)

    __radd__ = __add__

    def __sub__(self, other: int | Dim) -> int | Dim:
        return _add(self, _multiply(other, -1))

    def __rsub__(self, other: int | Dim) -> int | Dim:
        return _add(other, _multiply(self, -1))

    def __mul__(self, other: int | Dim) -> int | Dim:
        return _multiply(self, other)

    __rmul__ = __mul__

    def __neg__(self) -> int | Dim:
        return _multiply(self, -1)

    def __floordiv__(self, other: int | Dim) -> int | Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int | Dim) -> int | Dim:
        return floordiv(other, self)

    def __bool__(self) -> bool:
        raise TypeError("the truth of a symbolic size is not known here: compare it through its recording")

    def __repr__(self) -> str:
        return show_size(self)


def atom(name: Atom) -> Dim:
    """The size that consists of one atom."""
    return Dim((((name,), 1),))


def _terms(size: int | Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(size, Dim):
        return size.terms
    return (((), size),) if size else ()


def _canonical(terms: Mapping[Monomial, int]) -> int | Dim:
    kept = [(monomial, factor) for monomial, factor in terms.items() if factor]
    if not kept:
        return 0
    if len(kept) == 1 and kept[0][0] == ():
        return kept[0][1]
    return Dim(tuple(sorted(kept, key=_order)))


@lru_cache(16384)
def _add(a: int | Dim, b: int | Dim) -> int | Dim:
    terms = dict(_terms(a))
    for monomial, factor in _terms(b):
        terms[monomial] = terms.get(monomial, 0) + factor
    return _canonical(terms)


@lru_cache(16384)
def _multiply(a: int | Dim, b: int | Dim) -> int | Dim:
    terms: dict[Monomial, int] = {}
    for left, p in _terms(a):
        for right, q in _terms(b):
            monomial = tuple(sorted(left + right, key=_order))
            terms[monomial] = terms.get(monomial, 0) + p * q
    return _canonical(terms)


def lower_bound(size: int | Dim, facts: Mapping[Atom, int] = {}) -> int | None:
    """The largest integer that `size` is known to reach at least, or None when nothing is known."""
    total = 0
    for monomial, factor in _terms(size):
        if not monomial:
            total += factor
            continue
        bounds = [_atom_bound(a, facts) for a in monomial]
        if factor < 0 or any(b is _NO_BOUND or b < 0 for b in bounds):
            return _NO_BOUND
        least = factor
        for bound in bounds:
            assert bound is not None
            least *= bound
        total += least
    return total


def _atom_bound(a: Atom, facts: Mapping[Atom, int]) -> int | None:
    if a in facts:
        return facts[a]
    if isinstance(a, str):
        return 0 if "." in a or a.startswith("#") else _NO_BOUND
    kind, left, right = a
    p, q = lower_bound(left, facts), lower_bound(right, facts)
    if kind == "max":
        known = [v for v in (p, q) if v is not None]
        return max(known) if known else _NO_BOUND
    if kind == "min":
        return _NO_BOUND if p is None or q is None else min(p, q)
    return 0 if p is not None and p >= 0 and q is not None and q >= 1 else _NO_BOUND


def maximum(a: int | Dim, b: int | Dim, facts: Mapping[Atom, int] = {}) -> int | Dim:
    """``max(a, b)``, simplified where a bound decides it."""
    return _extreme("max", a, b, facts)


def minimum(a: int | Dim, b: int | Dim, facts: Mapping[Atom, int] = {}) -> int | Dim:
    """``min(a, b)``, simplified where a bound decides it."""
    return _extreme("min", a, b, facts)


def _extreme(kind: str, a: int | Dim, b: int | Dim, facts: Mapping[Atom, int]) -> int | Dim:
    if a == b:
        return a
    above, below = lower_bound(_add(a, _multiply(b, -1)), facts), lower_bound(_add(b, _multiply(a, -1)), facts)
    if above is not None and above >= 0:
        return a if kind == "max" else b
    if below is not None and below >= 0:
        return b if kind == "max" else a
    first, second = sorted((a, b), key=_order)
    return atom((kind, first, second))


def at_most_one(size: int | Dim) -> bool:
    """Whether a size is written as one that can't exceed 1: ``min(1, x.0)``."""
    if isinstance(size, int) or len(size.terms) != 1:
        return False
    monomial, factor = size.terms[0]
    return factor == 1 and len(monomial) == 1 and monomial[0][0] == "min" and 1 in monomial[0]


def floordiv(a: int | Dim, b: int | Dim) -> int | Dim:
    """``a // b`` for b != 0: exact where the division comes out even for every input."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if a == b:
        return 1
    if isinstance(b, int):
        whole = {m: f // b for m, f in _terms(a) if m and f % b == 0}
        rest = _canonical({m: f for m, f in _terms(a) if not m or f % b})
        if isinstance(rest, int):
            return _add(_canonical(whole), rest // b)
        # (2n + m) // 2 = n + m // 2, since n is an integer
        return _add(_canonical(whole), atom(("floordiv", rest, b)))
    if len(b.terms) == 1:
        quotient = _divide_monomial(a, b.terms[0])
        if quotient is not None:
            return quotient
    return atom(("floordiv", a, b))


def _divide_monomial(a: int | Dim, divisor: tuple[Monomial, int]) -> int | Dim | None:
    monomial, factor = divisor
    out: dict[Monomial, int] = {}
    for term, coefficient in _terms(a):
        left = list(term)
        for part in monomial:
            if part not in left:
                return None
            left.remove(part)
        if coefficient % factor:
            return None
        out[tuple(left)] = coefficient // factor
    return _canonical(out)


def evaluate_size(size: int | Dim, values: Mapping[str, int]) -> int:
    """The number that `size` stands for, given a number for each named atom."""
    if isinstance(size, int):
        return size
    total = 0
    for monomial, factor in size.terms:
        for a in monomial:
            factor *= values[a] if isinstance(a, str) else _evaluate_atom(a, values)
        total += factor
    return total


def _evaluate_atom(a: tuple[str, Any, Any], values: Mapping[str, int]) -> int:
    left, right = evaluate_size(a[1], values), evaluate_size(a[2], values)
    match a[0]:
        case "max":
            return max(left, right)
        case "min":
            return min(left, right)
        case _:
            return left // right


def substitute(size: int | Dim, values: Mapping[Any, int | Dim]) -> int | Dim:
    """`size` with atoms (named or composite) replaced by other sizes."""
    if isinstance(size, int) or not values:
        return size
    total: int | Dim = 0
    for monomial, factor in size.terms:
        product: int | Dim = factor
        for a in monomial:
            if a in values:
                part = values[a]
            elif isinstance(a, str):
                part = atom(a)
            else:
                rebuild: Callable[[Any, Any], Any] = _REBUILD[a[0]]
                part = rebuild(substitute(a[1], values), substitute(a[2], values))
                # min(1, a.1) may have become min(1, a.0), of which something is known
                if (
                    isinstance(part, Dim)
                    and len(part.terms) == 1
                    and part.terms[0][1] == 1
                    and len(part.terms[0][0]) == 1
                ):
                    (made,) = part.terms[0][0]
                    part = values.get(made, part) if not isinstance(made, str) else part
            product = _multiply(product, part)
        total = _add(total, product)
    return total


_REBUILD: dict[str, Callable[[Any, Any], Any]] = {"max": maximum, "min": minimum, "floordiv": floordiv}


def names(size: int | Dim) -> set[str]:
    """The named atoms that `size` depends on."""
    found: set[str] = set()
    if isinstance(size, Dim):
        for monomial, _ in size.terms:
            for a in monomial:
                found |= {a} if isinstance(a, str) else names(a[1]) | names(a[2])
    return found


def solve_for_atoms(size: int | Dim) -> dict[Atom, int | Dim]:
    """What ``size == 0`` says of single atoms: ``atom == expression`` for those that stand alone in it.

    The named atom that sorts last is replaced, so that equal sizes take the name of the earlier input; a composite one,
    such as ``min(x.0, k)``, only where no named one can be. A product of sizes that is 1 makes each of them 1.
    """
    if isinstance(size, int):
        return {}
    constant = next((factor for monomial, factor in size.terms if not monomial), 0)
    products = [(monomial, factor) for monomial, factor in size.terms if monomial]
    if len(products) == 1 and len(products[0][0]) > 1 and products[0][1] == 1 and constant == -1:
        bounds = [_atom_bound(a, {}) for a in products[0][0]]
        if all(bound is not None and bound >= 0 for bound in bounds):
            return dict.fromkeys(products[0][0], 1)
    for wanted in (str, tuple):
        for monomial, factor in reversed(size.terms):
            if len(monomial) == 1 and isinstance(monomial[0], wanted) and factor in (1, -1):
                rest = _add(size, _multiply(atom(monomial[0]), -factor))
                if not _mentions(rest, monomial[0]):
                    return {monomial[0]: _multiply(rest, -factor)}
    return {}


def _mentions(size: int | Dim, wanted: Atom) -> bool:
    """Whether an atom occurs in a size, however deep."""
    if isinstance(size, int):
        return False
    atoms = [a for monomial, _ in size.terms for a in monomial]
    return any(
        a == wanted or (not isinstance(a, str) and (_mentions(a[1], wanted) or _mentions(a[2], wanted))) for a in atoms
    )


def show_size(size: int | Dim) -> str:
    """Text of a size, as it stands in printed types: ``x.0 - 1``, ``2*n*m``, ``max(x.0, 3)``."""
    if isinstance(size, int):
        return str(size)
    out = ""
    for monomial, factor in sorted(size.terms, key=lambda t: (t[0] == (), _order(t[0]))):
        factors = [_show_atom(a) for a in monomial]
        if abs(factor) != 1 or not monomial:
            factors.insert(0, str(abs(factor)))
        sign = "-" if factor < 0 else "+"
        text = "*".join(factors)
        out = (f"-{text}" if factor < 0 else text) if not out else f"{out} {sign} {text}"
    return out


def _show_atom(a: Atom) -> str:
    return a if isinstance(a, str) else f"{a[0]}({show_size(a[1])}, {show_size(a[2])})"
