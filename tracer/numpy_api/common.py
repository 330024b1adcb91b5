"""What the NumPy functions share: operands, axes, refusals, and results that go into `out`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..context import context
from ..dims import WHOLE, Dim
from ..errors import DtypeError, ShapeError, layout
from ..scalar import Scalar
from ..tensor import Tensor
from ..types import LONG, Shape, broadcast
from ..values import check_dtype, dtype_of, emit, facts, has_traced, is_traced, lift, number, rank_of, sizes

NOTHING: Any = np._NoValue  # what NumPy itself passes for "not given"


def given(argument: Any) -> bool:
    """Whether an optional argument was passed."""
    return argument is not None and argument is not NOTHING


def unsupported(function: str, argument: str, fix: str) -> DtypeError:
    """The error for an argument that can't be recorded, with the way out."""
    return DtypeError(layout(f"np.{function}: {argument} is not supported on traced values", fix=fix))


_SHORT_OF = {dtype: short for short, dtype in LONG.items() if dtype.kind != "c"}  # a dtype's name costs a microsecond


# operands


def constant(item: Any) -> Any:
    """Numbers that the user's code spells out, as an operand."""
    values = np.asarray(item)
    check_dtype(values.dtype, f"a value of type {type(item).__name__}")
    return values if context.trace is None else Tensor(context.trace.constant(values))


def array(item: Any) -> Any:
    """Anything that NumPy takes for an array, as an operand that is not weak: a Tensor, an ndarray, a NumPy scalar."""
    if isinstance(item, Tensor | np.ndarray | np.generic):
        return item
    if isinstance(item, list | tuple):
        return stack_nested(item)
    return strong(item) if is_traced(item) else constant(item)


def strong(item: Any) -> Any:
    """A runtime scalar as the 0-d array that NumPy would make of it; anything else as it is."""
    if not isinstance(item, Scalar):
        return item
    return emit("astype", item, dtype=_SHORT_OF[dtype_of(item)])


def operand(item: Any) -> Any:
    """An operand of elementwise arithmetic: Python numbers stay weak (NEP 50)."""
    return array(item) if isinstance(item, list | tuple) else item


def stack_nested(items: Any, dtype: Any = None) -> Any:
    """``np.array(items)`` for nested lists in which Tensors and runtime scalars stand."""
    if not has_traced(items):
        found = constant(items)
        return found if dtype is None else cast(found, dtype)
    parts = [item if isinstance(item, Scalar) and dtype is not None else array(item) for item in items]
    common = np.dtype(dtype) if dtype is not None else np.result_type(*(dtype_of(p) for p in parts))
    shape = sizes(parts[0])
    for part in parts[1:]:
        if not same_shape(shape, sizes(part)):
            texts = " and ".join(show_shape(s) for s in (shape, sizes(part)))
            raise ShapeError(f"an array can't be made of parts of different shapes: {texts}")
    return emit("concatenate", *(emit("expand_dims", cast(p, common), axes=(0,)) for p in parts), axis=0)


def cast(item: Any, dtype: Any) -> Any:
    """`item` in another dtype (and no longer weak); the same object where nothing changes."""
    wanted = np.dtype(dtype)
    if type(item) is Tensor and item.dtype == wanted:
        return item
    if not is_traced(item) and context.trace is None:
        return np.asarray(item).astype(wanted, copy=False)
    short = _SHORT_OF.get(wanted)
    if short is None:
        check_dtype(wanted, "a result")
    if dtype_of(item) == wanted and not isinstance(item, Scalar | bool | int | float):
        return item
    if isinstance(item, Scalar) and item.kind is int and wanted.kind in "iu" and wanted != np.int64:
        _require_fit(item, wanted)
    return emit("astype", item, dtype=short)


def _require_fit(item: Any, dtype: np.dtype[Any]) -> None:
    """Raise OverflowError where NumPy takes no Python integer of this size into a dtype."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if not (item >= low and (high > WHOLE[-1] or item <= high)):
        raise OverflowError(f"Python integer {item._read().array} out of bounds for {dtype}")


def inexact(item: Any) -> Any:
    """An array of floats: float64 for integers and booleans."""
    return item if dtype_of(item).kind == "f" else cast(item, np.float64)


def fitted(number: Any, dtype: Any) -> Any:
    """A value in another dtype, which a Python number has to fit. Raises OverflowError."""
    wanted = np.dtype(dtype)
    if type(number) in (int, float, bool):
        number = np.asarray(int(number) if wanted.kind in "iu" else number, dtype=wanted).item()
    return cast(operand(number), wanted)


def to_bool(item: Any) -> Any:
    """The truth of each element."""
    return item if dtype_of(item).kind == "b" else emit("not_equal", item, 0)


def promote(items: Sequence[Any], dtype: Any = None) -> list[Any]:
    """Arrays in their common dtype, or in `dtype`."""
    dtypes = [dtype_of(i) for i in items]
    common = np.dtype(dtype) if dtype is not None else np.result_type(*dtypes)
    return [cast(i, common) for i in items]


def promoted_as(item: Any) -> Any:
    """What stands for an operand, a dtype or a type in ``np.result_type``."""
    if isinstance(item, np.dtype | type | str):
        return item
    type_ = lift(operand(item)).type
    return {"b": True, "i": 0, "f": 0.0}[type_.dtype.kind] if type_.weak else type_.dtype


# sizes


def product(shape: Iterable[int | Dim]) -> int | Dim:
    """The number of elements of a shape."""
    total: int | Dim = 1
    for size in shape:
        total = size * total
    return total


def size_value(size: int | Dim) -> Any:
    """The number that a size stands for, as a weak operand."""
    return size if isinstance(size, int) else emit("size", size=size)


def force(size: int | Dim) -> int:
    """The present value of a size where the recording has to know it; guarded."""
    present = number(size)
    facts().same(size, present)
    return present


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes agree in every axis; guarded."""
    return len(a) == len(b) and all(p == q or facts().same(p, q) is not None for p, q in zip(a, b, strict=True))


def is_exactly(size: int | Dim, other: int | Dim) -> bool:
    """Whether two sizes are equal, where either answer counts; guarded."""
    if size == other or (isinstance(size, int) and isinstance(other, int)):
        return size == other
    assert context.trace is not None
    return context.trace.decide("==", size - other)


def show_shape(shape: Shape) -> str:
    """A shape as NumPy prints it, with present numbers."""
    inner = ",".join(str(number(s)) for s in shape)
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def stretch(*items: Any) -> list[Any]:
    """Operands broadcast against each other."""
    shape = broadcast(facts(), *(sizes(i) for i in items))
    return [broadcast_to(i, shape) for i in items]


def broadcast_to(item: Any, shape: Shape) -> Any:
    """`item` stretched to a shape; itself where it has that shape."""
    return item if sizes(item) == shape else emit("broadcast_to", item, shape=shape)


def iota(size: int | Dim, dtype: str = "i64") -> Any:
    """``arange(size)``."""
    return emit("iota", size=size, dtype=dtype)


# axes


def axis_of(axis: Any, rank: int) -> int:
    """One axis, counted from the front. Raises AxisError."""
    return int(normalize_axis_index(axis, rank))


def axes_of(axis: Any, rank: int, lenient: bool = False) -> tuple[int, ...]:
    """The axes of a reduction, counted from the front and sorted; None means all of them.

    Where `lenient`, a 0-d array may be reduced along an axis that it doesn't have, as ufuncs let it.
    """
    if axis is None:
        return tuple(range(rank))
    if lenient and rank == 0 and type(axis) is int and axis in (0, -1):
        return ()
    return tuple(sorted(normalize_axis_tuple(axis, rank)))


def lined_up(item: Any, axis: Any) -> tuple[Any, int]:
    """An array and the axis to work along: all elements in one row for None, and for a 0-d array."""
    if axis is None or (rank_of(item) == 0 and type(axis) is int and axis in (0, -1)):
        return flat(item), 0
    return item, axis_of(axis, rank_of(item))


def keep(result: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    """Put reduced axes back with length 1 where keepdims asks for it."""
    return emit("expand_dims", result, axes=axes) if axes and given(keepdims) and keepdims else result


def flat(item: Any) -> Any:
    """All elements in C order, on one axis."""
    return item if rank_of(item) == 1 else emit("reshape", item, shape=(product(sizes(item)),))


def reshape(item: Any, shape: Shape) -> Any:
    """`item` in another shape of as many elements."""
    return item if sizes(item) == shape else emit("reshape", item, shape=shape)


def permute(item: Any, perm: Sequence[int]) -> Any:
    """`item` with its axes in another order."""
    return item if tuple(perm) == tuple(range(len(perm))) else emit("transpose", item, perm=tuple(perm))


def along(item: Any, axis: int, rank: int) -> Any:
    """A 1-D operand laid along one axis of a rank."""
    return emit("expand_dims", item, axes=tuple(i for i in range(rank) if i != axis)) if rank > 1 else item


def cut(item: Any, axis: int, start: int | Dim, size: int | Dim, step: int = 1) -> Any:
    """A slice of one axis: a view."""
    shape = sizes(item)
    starts: list[int | Dim] = [0] * len(shape)
    lengths, steps = list(shape), [1] * len(shape)
    starts[axis], lengths[axis], steps[axis] = start, size, step
    return emit("slice", item, start=tuple(starts), size=tuple(lengths), step=tuple(steps))


# results


def deliver(result: Any, out: Any, casting: str = "same_kind") -> Any:
    """Write a result into `out` where one was given; returns what the caller gets."""
    if isinstance(out, tuple):
        (out,) = out
    if not given(out):
        return result
    if not isinstance(out, Tensor):
        text = f"out= is a {type(out).__name__}, which can't hold a traced value"
        raise DtypeError(layout(text, fix="Leave out= away and use the result, or pass a Tensor: nt.tensor(out)."))
    if not np.can_cast(dtype_of(result), out.dtype, casting):  # type: ignore[arg-type]
        raise DtypeError(
            layout(f"can't write {dtype_of(result)} into out= of dtype {out.dtype}", fix="Pass another out.")
        )
    if not same_shape(sizes(result), sizes(out)):
        shapes = f"{show_shape(sizes(out))}, the result has {show_shape(sizes(result))}"
        raise ShapeError(f"out= has shape {shapes}")
    out[...] = result
    return out
