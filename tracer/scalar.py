"""Runtime scalars: Python numbers whose value a recording must not freeze.

An integer that came from a shape or an integer argument is a size, and stays exact symbolic arithmetic. Everything
else is a weak value of the graph. It is not a subclass of int: NumPy would read the C value without asking.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .context import context, place
from .dims import Dim, maximum
from .errors import TraceError, layout
from .ops import OPS
from .values import Value, apply, emit, lift, number, unrecorded

RELATIONS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "lt": ("<", operator.lt), "le": ("<=", operator.le), "gt": (">", operator.gt), "ge": (">=", operator.ge),
    "eq": ("==", operator.eq), "ne": ("!=", operator.ne),
}  # fmt: skip
COMPARE_ROWS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}


class Scalar:
    """A Python number of a recording: a size, a weak value, or a comparison of sizes that nobody asked about yet."""

    __slots__ = ("__weakref__", "_comparison", "_symbol", "_value")
    __array_priority__ = 1001.0
    __numtape_traced__ = True

    def __init__(
        self, value: Value | None = None, size: Dim | None = None, comparison: tuple[str, int | Dim] | None = None
    ) -> None:
        self._value = value
        self._symbol = size
        self._comparison = comparison

    def _read(self) -> Value:
        if self._value is None:
            if self._symbol is not None:
                self._value = apply(OPS["size"], (), {"size": self._symbol}, place())  # type: ignore[assignment]
            else:
                assert self._comparison is not None
                relation, difference = self._comparison
                left = as_user_size(difference)
                row = next(COMPARE_ROWS[k] for k, (r, _) in RELATIONS.items() if r == relation)
                self._value = apply(OPS[row], (lift(left), lift(0)), {}, place())  # type: ignore[assignment]
        assert self._value is not None
        return self._value

    def _current(self) -> Value:
        return self._read()

    @property
    def kind(self) -> type:
        """The Python type that this stands for: int, float or bool."""
        if self._symbol is not None:
            return int
        return bool if self._comparison is not None else type(self._read().array)

    @property
    def present(self) -> Any:
        """The number that it has in this recording."""
        if self._symbol is not None:
            return number(self._symbol)
        if self._comparison is not None and self._value is None:
            relation, difference = self._comparison
            compare = next(f for r, f in RELATIONS.values() if r == relation)
            return compare(number(difference), 0)
        return self._read().array

    def _size(self) -> int | Dim | None:
        if self._symbol is not None:
            return self._symbol
        if self.kind is int:
            trace = context.trace
            assert trace is not None
            self._symbol = emit("integer", self, count=trace.fresh("@"))._symbol
            return self._symbol
        if self.kind is bool:
            return int(bool(self))
        raise TypeError(f"'{self.kind.__name__}' object cannot be interpreted as an integer")

    # -- where Python forces a plain number -----------------------------------------------------------------------

    def __bool__(self) -> bool:
        trace = context.trace
        if trace is None:
            return bool(self.present)
        if self._symbol is not None:
            return not trace.decide("==", self._symbol)
        if self._comparison is not None:
            relation, difference = self._comparison
            return trace.decide(relation, difference)
        value = self._read()
        if self.kind is bool:
            return trace.truth(self)
        return trace.truth(Scalar(apply(OPS["not_equal"], (value, lift(0)), {}, place())))  # type: ignore[arg-type]

    def __index__(self) -> int:
        size = self._size()
        if isinstance(size, Dim):
            trace = context.trace
            if trace is None:
                raise TraceError("a size of a finished recording is used outside of it")
            return trace.force(size)
        assert size is not None
        return size

    def __int__(self) -> int:
        return self.__index__() if self.kind is not float else int(self.__float__())

    def __trunc__(self) -> int:
        return self.__int__()

    def __float__(self) -> float:
        if self.kind is not float:
            return float(self.__index__())
        trace = context.trace
        if trace is None:
            return float(self.present)
        where = str(trace.loc())
        fix = "Stay with NumPy functions or Python operators on it; float(x) works where it stands in your own code."
        raise trace.noted(TraceError(layout("library code asks for the number behind a traced float", where, fix=fix)))

    def __complex__(self) -> complex:
        return complex(self.__float__())

    def __hash__(self) -> int:
        return hash(self.present if context.trace is None else as_key(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.__float__() if self.kind is float else self.__index__(), dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .tensor import Tensor

        return Tensor.__array_ufunc__(self, ufunc, method, *inputs, **kwargs)  # type: ignore[arg-type]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from .numpy_api import call_function

        return call_function(function, args, kwargs)

    def __repr__(self) -> str:
        return repr(self._shown())

    def __format__(self, spec: str) -> str:
        return format(self._shown(), spec)

    def _shown(self) -> Any:
        """What is printed: an integer by value, since text of it may become a key, as in ``params[f"w{k}"]``."""
        if context.trace is None or self.kind is float:
            return self.present
        return bool(self) if self.kind is bool else self.__index__()

    # -- the parts of Python's number types that code asks for ----------------------------------------------------

    @property
    def real(self) -> Scalar:
        return self

    @property
    def imag(self) -> int:
        return 0

    @property
    def shape(self) -> tuple[()]:
        return ()

    @property
    def ndim(self) -> int:
        return 0

    @property
    def dtype(self) -> Any:
        return self._read().dtype

    def item(self) -> Scalar:
        return self

    def __copy__(self) -> Scalar:
        return self

    def __deepcopy__(self, memo: Any) -> Scalar:
        return self

    def conjugate(self) -> Scalar:
        return self

    def is_integer(self) -> Any:
        return True if self.kind is int else emit_scalar("equal", self, emit_scalar("floor", self))

    def __round__(self, digits: int | None = None) -> Any:
        if self.kind is int:
            return self
        if digits is not None:
            raise unrecorded("round(x, digits) of a traced float", "Use np.round(x, digits).")
        return as_int(emit_scalar("rint", self))

    def __floor__(self) -> Any:
        return self if self.kind is int else as_int(emit_scalar("floor", self))

    def __ceil__(self) -> Any:
        return self if self.kind is int else as_int(emit_scalar("ceil", self))

    def __invert__(self) -> Any:
        if self.kind is float:
            raise TypeError("bad operand type for unary ~: 'float'")
        return -self - 1

    def __neg__(self) -> Any:
        return as_user_size(-self._symbol) if self._symbol is not None else emit_scalar("negative", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        if self._symbol is not None:
            trace = context.trace
            assert trace is not None
            return as_user_size(maximum(self._symbol, -self._symbol, trace.bounds()))
        return emit_scalar("absolute", self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self


def as_user_size(size: int | Dim) -> Any:
    """A size as the user meets it: an int, or a runtime scalar."""
    return size if isinstance(size, int) else Scalar(size=size)


def as_key(item: Any) -> Any:
    """The number behind a key of a dict or set: guarded, and refused for a float, whose value can't be."""
    if item.dtype.kind != "f":
        return bool(item) if item.dtype.kind == "b" else operator.index(item)
    trace = context.trace
    assert trace is not None
    fix = "Compare it with the keys instead (if x == key: ...), or pass it as a static argument."
    raise trace.noted(TraceError(layout("a traced float is looked up in a dict or set", str(trace.loc()), fix=fix)))


def as_int(scalar: Any) -> Any:
    """int(x) of a runtime scalar that keeps it in the graph."""
    return scalar if scalar.kind is int else Scalar(apply(OPS["weaken"], (scalar._read(),), {"kind": "i"}, place()))  # type: ignore[arg-type]


def emit_scalar(name: str, *args: Any, **params: Any) -> Scalar:
    """The runtime scalar that an op makes of numbers."""
    return Scalar(apply(OPS[name], tuple([lift(a) for a in args]), params, place()))  # type: ignore[arg-type]
