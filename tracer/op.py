"""The row that defines an op: everything that is known of it stands in one entry of one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .types import BOOL, FLOAT64, INT64, ArrayType, Facts, broadcast, loop_dtypes, weak_kind

Types = tuple[ArrayType, ...]
Output = ArrayType | tuple[ArrayType, ...]


class _Zero:
    """The derivative is zero wherever it exists: comparisons, floor, argmax."""

    def __repr__(self) -> str:
        return "ZERO"


ZERO = _Zero()


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no derivative, for a reason that the user is told."""

    reason: str


def undefined(reason: str) -> Undefined:
    """State that an input has no derivative, and why."""
    return Undefined(reason)


Partial = Callable[..., Any] | _Zero | Undefined


@dataclass(frozen=True, slots=True)
class Domain:
    """Where tests draw an input from: an interval, possibly of integers, clear of `kinks` by a margin."""

    low: float = -3.0
    high: float = 3.0
    kinks: tuple[float, ...] = ()
    integer: bool = False
    boolean: bool = False


ANYWHERE = Domain()


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of the graph.

    infer      (facts, types, params) -> type, or a tuple of types for several results
    reference  (*values, **params) -> value: what NumPy computes; sizes in params are plain ints by then
    partials   elementwise only, one per input: (y, *inputs, **params) -> dy/dx, or ZERO, or undefined(reason)
    products   elementwise only: the op that multiplies a cotangent by each partial; empty: always `cotangent`
    vjp        others: (ct, y, *inputs, **params) -> one cotangent per input, None for none
    linear     inputs in which the op is linear while the others stand still (forward mode follows from it)
    cuts       inputs that no derivative enters, whatever their dtype (indices, conditions)
    scalar     elementwise only: a scalar primitive by name, or (s, *inputs, **params) -> value that composes some
    lower      others: the template by which the compiler turns it into loops or a library call
    dtypes     elementwise only: (types, **params) -> (dtype of each input in the loop..., dtype of the result)
    view       whether NumPy's result shares the input's memory
    """

    name: str
    infer: Callable[[Facts, Types, Mapping[str, Any]], Output]
    reference: Callable[..., Any]
    partials: tuple[Partial, ...] | None = None
    vjp: Callable[..., Any] | _Zero | Undefined | None = None
    linear: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()
    scalar: str | Callable[..., Any] | None = None
    lower: str = ""
    dtypes: Callable[..., tuple[np.dtype[Any], ...]] | None = None
    view: bool = False
    products: tuple[str, ...] = ()
    domain: tuple[Domain, ...] = (ANYWHERE,)
    smooth: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # asked for at every recorded operation: whether derivatives pass through each input
        smooth = ZERO not in self.partials if self.partials is not None else self.vjp is not ZERO and not self.cuts
        object.__setattr__(self, "smooth", smooth)

    @property
    def elementwise(self) -> bool:
        return self.partials is not None

    @property
    def kind(self) -> str:
        return "elementwise" if self.elementwise else self.lower

    def carries(self, position: int) -> bool:
        """Whether derivatives pass from the input at `position` to the result."""
        if self.partials is not None:
            return self.partials[min(position, len(self.partials) - 1)] is not ZERO
        return self.vjp is not ZERO and position not in self.cuts


def ufunc_dtypes(ufunc: np.ufunc) -> Callable[..., tuple[np.dtype[Any], ...]]:
    """The dtype rule of a ufunc, weak scalars included."""

    def rule(types: Types, **params: Any) -> tuple[np.dtype[Any], ...]:
        return loop_dtypes(ufunc, tuple(map(weak_kind, types)))

    return rule


def elementwise(
    name: str,
    reference: Callable[..., Any],
    *,
    partials: tuple[Partial, ...],
    scalar: str | Callable[..., Any],
    domain: Domain | tuple[Domain, ...] = ANYWHERE,
    like: np.ufunc | None = None,
    dtypes: Callable[..., tuple[np.dtype[Any], ...]] | None = None,
    weak: bool | None = None,
    products: tuple[str, ...] = (),
) -> Op:
    """A row for an op that works element by element and broadcasts; dtypes follow `like`, or the reference itself.

    A 0-d result is a weak scalar when all inputs are, unless `weak` says what it is.
    """
    if dtypes is None:
        ufunc = like if like is not None else reference
        assert isinstance(ufunc, np.ufunc), name
        dtypes = ufunc_dtypes(ufunc)

    def infer(facts: Facts, types: Types, params: Mapping[str, Any]) -> ArrayType:
        shape = broadcast(facts, *(t.shape for t in types))
        dtype = dtypes(types, **params)[-1]
        # np.sqrt(True) is a float16: no Python number has that dtype
        light = (all(t.weak for t in types) and dtype in (BOOL, INT64, FLOAT64)) if weak is None else weak
        return ArrayType(dtype, shape, not shape and light)

    domains = domain if isinstance(domain, tuple) else (domain,) * len(partials)
    return Op(
        name, infer, reference, partials=partials, scalar=scalar, dtypes=dtypes, domain=domains, products=products
    )
