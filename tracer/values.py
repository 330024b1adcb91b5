"""Values and the one way to compute with them: NumPy does the work, every active recorder is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .context import Place, context, loc_of, place
from .dims import Dim
from .errors import DtypeError, ShapeError, TraceError, layout
from .graph import BINDING
from .op import Op
from .ops import OPS
from .types import INT64, SHORT, WEAK_DTYPES, ArrayType

if TYPE_CHECKING:
    from .record import Trace
    from .tensor import Tensor


class Value:
    """What one operation produced: an array that never changes, and its symbolic shape.

    `shape` is None where it is just the array's own (outside of a jit recording). A `borrowed` array belongs to the
    user, who may write into it: whoever keeps it takes a snapshot. `trace` and `index` say which node of a jit
    recording made the value.
    """

    __slots__ = ("__weakref__", "array", "borrowed", "index", "shape", "trace", "weak")

    def __init__(self, array: Any, shape: tuple[int | Dim, ...] | None = None, weak: bool = False) -> None:
        self.array = array
        self.shape = shape
        self.weak = weak
        self.borrowed = False
        self.trace: Trace | None = None
        self.index = -1

    @property
    def dtype(self) -> np.dtype[Any]:
        return WEAK_DTYPES[type(self.array)] if self.weak else self.array.dtype

    @property
    def sizes(self) -> tuple[int | Dim, ...]:
        if self.shape is not None:
            return self.shape
        return () if self.weak else self.array.shape

    @property
    def type(self) -> ArrayType:
        return ArrayType(self.dtype, self.sizes, self.weak)


class Plain:
    """The facts of an eager context: every size is a number."""

    def same(self, a: int | Dim, b: int | Dim) -> int | Dim | None:
        return a if a == b else None

    def is_one(self, a: int | Dim) -> bool:
        return a == 1

    def sign(self, a: int | Dim) -> int:
        assert isinstance(a, int)
        return (a > 0) - (a < 0)

    def less(self, a: int | Dim, b: int | Dim) -> bool:
        assert isinstance(a, int) and isinstance(b, int)
        return a < b

    def less_equal(self, a: int | Dim, b: int | Dim) -> bool:
        assert isinstance(a, int) and isinstance(b, int)
        return a <= b

    def bounds(self) -> dict[Any, int]:
        return {}

    def number(self, size: int | Dim) -> int:
        assert isinstance(size, int)
        return size

    def canonical(self, size: int | Dim) -> int | Dim:
        return size


PLAIN = Plain()


def facts() -> Any:
    """Who answers questions about sizes here: the jit recording (which guards its answers), or plain arithmetic."""
    return PLAIN if context.trace is None else context.trace


def number(size: int | Dim) -> int:
    """The present value of a size."""
    return size if isinstance(size, int) else facts().number(size)


def check_dtype(dtype: np.dtype[Any], what: str = "value") -> None:
    """Refuse dtypes that the graph has no type for, by name and with the way out."""
    if dtype.name not in SHORT or dtype.kind == "c":
        kind = "masked or structured" if dtype.fields else dtype.name
        fix = {
            "O": "Convert it to a numeric dtype first, e.g. np.asarray(x, dtype=float).",
            "c": "Complex numbers are not supported yet: keep real and imaginary parts as two arrays.",
        }.get(dtype.kind, "Convert it to a numeric dtype first.")
        raise DtypeError(layout(f"{what} of dtype {kind} can't be recorded", fix=fix), dtype=dtype)


def lift(item: Any) -> Value:
    """The Value of anything that can be an operand; arrays are borrowed, numbers are weak."""
    kind = type(item)
    if kind is float or kind is int:
        if kind is int and not -(2**63) <= item < 2**63:
            raise DtypeError(f"the integer {item} does not fit 64 bits: use a float")
        return Value(item, (), True)
    if hasattr(kind, "__numtape_traced__"):
        return item._read()
    if isinstance(item, Value):
        return item
    if kind is bool:
        return Value(item, (), True)
    if isinstance(item, np.ndarray):
        check_dtype(item.dtype, "an array")
        if kind is not np.ndarray and not isinstance(item, np.memmap):
            raise DtypeError(
                layout(f"{kind.__module__}.{kind.__name__} is not a plain array", fix="Pass np.asarray(x) instead.")
            )
        value = Value(item)
        value.borrowed = True
        return value
    if isinstance(item, np.generic):
        check_dtype(item.dtype, "a scalar")
        return Value(item)
    if isinstance(item, list | tuple):
        from .numpy_api import stack_nested

        return lift(stack_nested(item))
    if kind is complex:
        check_dtype(np.dtype(complex), "a number")
    # whatever else NumPy takes as an operand (array-likes such as range or memoryview)
    array = np.asarray(item)
    check_dtype(array.dtype, f"a value of type {kind.__name__}")
    return Value(array[()] if isinstance(item, int | float) else array)  # of a subclass, which NumPy takes as strong


def concrete(item: Any) -> Any:
    """A parameter with every size replaced by its present number."""
    if isinstance(item, Dim):
        return number(item)
    if type(item) is tuple:
        return tuple([concrete(part) for part in item])
    return item


def apply(row: Op, values: tuple[Value, ...], params: Mapping[str, Any], where: Place) -> Value | tuple[Value, ...]:
    """Compute one operation with NumPy and tell every active recorder."""
    arrays = [v.array for v in values]
    trace = context.trace
    if trace is None:
        result = row.reference(*arrays, **params) if params else row.reference(*arrays)
        if type(result) is tuple:
            outs = tuple([Value(np.asarray(r)) for r in result])
        elif row.name in _WEAK_OPS or all([v.weak for v in values]):
            outs = (_typed(result, row.infer(PLAIN, tuple([v.type for v in values]), params)),)
        else:
            outs = (Value(result),)
            outs[0].borrowed = row.view and values[0].borrowed
    else:
        try:
            values = tuple([trace.follow(v) for v in values])
            types = tuple([v.type for v in values])
            # the type rule comes first: its guards stand before the node that relies on them
            inferred = row.infer(trace, types, params)
            if type(inferred) is ArrayType and inferred.dtype in _NARROW:
                trace.require_range(values, inferred.dtype)
            result = row.reference(*arrays, **{k: concrete(v) for k, v in params.items()})
        except ShapeError as error:
            raise trace.noted(_located(error, row, values, where)) from None
        except Exception as error:
            trace.noted(error)
            raise
        if row.name in BINDING:
            trace.bind(params["count"], len(result[0]) if isinstance(result, tuple) else int(result))
        if isinstance(inferred, tuple):
            outs = tuple([trace.checked(r, t, row) for r, t in zip(result, inferred, strict=True)])
        else:
            outs = (trace.checked(result, inferred, row),)
    for recorder in context.recorders:
        recorder.record(row, values, params, outs, where)
    return outs if type(result) is tuple else outs[0]


def _located(error: ShapeError, row: Op, values: tuple[Value, ...], where: Place) -> ShapeError:
    """A shape error of a type rule with the operands as they are in this run, and the user's line."""
    shapes = [", ".join(str(number(s)) for s in v.sizes) for v in values]
    operands = " and ".join(f"{SHORT[v.dtype.name]}[{shape}]" for v, shape in zip(values, shapes, strict=True))
    return ShapeError(layout(f"{row.name}: {error} (operands {operands})", str(loc_of(where))), op=row.name)


_NARROW = {np.dtype(kind + width) for kind in "iu" for width in "1248"} - {INT64}


def attempt(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a part of NumPy's interface; a recording hears of an error that leaves it, not of one handled inside."""
    trace = context.trace
    if trace is None:
        return call(*args, **kwargs)
    before = trace.failure
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        trace.failure = before
        trace.noted(error)
        raise
    trace.failure = before
    return result


def unrecorded(what: str, fix: str) -> TraceError:
    """The error for what NumPy has and a recording has not."""
    error = TraceError(layout(f"{what} is not recorded", fix=fix))
    return error if context.trace is None else context.trace.noted(error)


_WEAK_OPS = {"size", "weaken", "integer"}


def _typed(result: Any, type_: Any) -> Value:
    """A result with its weakness: Python scalars stay Python scalars."""
    if type_.weak:
        return Value(result.item() if isinstance(result, np.ndarray | np.generic) else result, (), True)
    return Value(np.asarray(result)[()] if isinstance(result, bool | int | float) else result)


def emit(name: str, *args: Any, **params: Any) -> Any:
    """Apply an op to anything that can be an operand; returns a Tensor, or a tuple of them."""
    from .tensor import wrap

    row = OPS[name]
    result = apply(row, tuple([lift(a) for a in args]), params, place(2))
    if type(result) is tuple:
        return tuple([wrap(r) for r in result])
    assert isinstance(result, Value)
    return wrap(result, row, args, params)


def sizes(item: Any) -> tuple[int | Dim, ...]:
    """The shape of an operand: symbolic in a jit recording."""
    if isinstance(item, int | float):
        return ()
    if is_traced(item):
        return item._read().sizes
    return np.shape(item)


def rank_of(item: Any) -> int:
    """The number of axes of an operand."""
    return len(sizes(item))


def dtype_of(item: Any) -> np.dtype[Any]:
    """The dtype of an operand; Python numbers count as bool, int64 and float64."""
    return lift(item).dtype


def to_size(item: Any) -> int | Dim:
    """A user's integer as a size: symbolic where it came from a shape or an integer argument."""
    if type(item) is int or isinstance(item, Dim):
        return item
    size = getattr(item, "_size", None)
    if size is not None:
        found = size()
        if found is not None:
            return found
    import operator

    return operator.index(item)


def is_traced(item: Any) -> bool:
    """Whether an object is one of ours: a Tensor, a Variable or a runtime scalar."""
    return hasattr(type(item), "__numtape_traced__")


def has_traced(item: Any) -> bool:
    """Whether one of ours stands in (nested) lists, tuples and dicts."""
    if isinstance(item, list | tuple):
        return any(has_traced(part) for part in item)
    if isinstance(item, dict):
        return any(has_traced(part) for part in item.values())
    return is_traced(item)


def as_tensor(item: Any) -> Tensor:
    """A Tensor of any operand."""
    from .tensor import Tensor

    return item if isinstance(item, Tensor) else Tensor(lift(item))
