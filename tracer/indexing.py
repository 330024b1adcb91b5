"""Reading and writing Tensors by index: a key's plan is run forwards to read and backwards to write."""

from __future__ import annotations

from typing import Any

import numpy as np

from .context import context
from .errors import DtypeError, ShapeError, layout
from .keys import Plan, index_array, integers, plan_of, read_key
from .numpy_api.common import array, cast, show_shape, stack_nested
from .scalar import Scalar
from .tensor import Tensor
from .types import Shape
from .values import dtype_of, emit, facts, is_traced, rank_of, sizes


def _sliced(item: Any, plan: Plan, always: bool = False) -> Any:
    """The part of a plan that makes views."""
    if always or not plan.whole:
        item = emit("slice", item, start=tuple(plan.start), size=tuple(plan.size), step=tuple(plan.step))
    if plan.added and plan.squeezed and len(plan.squeezed) == len(plan.start):
        # y[None, 0]: by way of an element, which is no view, it would not be one either
        return emit("reshape", item, shape=(1,) * len(plan.added))
    if plan.squeezed:
        item = emit("squeeze", item, axes=tuple(plan.squeezed))
    if plan.added:
        item = emit("expand_dims", item, axes=tuple(plan.added))
    return item


def getitem(tensor: Tensor, key: Any) -> Any:
    """``tensor[key]``: a view for integers, slices, None and Ellipsis; a copy where arrays index."""
    shape = sizes(tensor)
    if type(key) is int and context.trace is None:
        short = integers(shape, (key,))
        if short is not None:
            part = _sliced(tensor, short)
            return part if part.ndim else element(part)
    read = read_key(key, len(shape))
    # a row that a traced integer picks is a view that may be written to; an element is not
    plan = plan_of(shape, read, views=not read.element)
    if not plan.indices:
        part = _sliced(tensor, plan, always=bool(shape) and not plan.squeezed and not plan.added)
        # y[np.array(0)] is a copy, where y[0] is a view
        if any(map(_is_array, read.items)):
            return emit("copy", part)
        return element(part) if read.element else part
    return emit("gather", _sliced(tensor, plan), *plan.indices, axes=tuple(plan.axes), at=plan.at)


def element(part: Tensor) -> Tensor:
    """x[0] is a NumPy scalar, which never changes; x[..., 0] is a view, though it has no axes either."""
    value = part._read()
    if isinstance(value.array, np.ndarray):
        value.array = value.array[()]
    return Tensor(value)


def _is_array(item: Any) -> bool:
    """Whether an item of a key is an array, though perhaps one of no axes, and not a number."""
    return isinstance(item._read().array if isinstance(item, Tensor) else item, np.ndarray)


def setitem(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``, as a new content of the tensor."""
    base = tensor.read()
    masked = _by_mask(base, key, value)
    tensor._replace(_assigned(base, key, value) if masked is None else masked)


def _assigned(base: Tensor, key: Any, value: Any) -> Any:
    shape = sizes(base)
    value = assignable(value, base.dtype)
    read = read_key(key, len(shape))
    if read.element and rank_of(value):
        raise ValueError("setting an array element with a sequence.")
    plan = plan_of(shape, read, views=False)
    if not plan.indices:
        kept = iter([s for i, s in enumerate(plan.size) if i not in plan.squeezed])
        target = tuple(1 if i in plan.added else next(kept) for i in range(plan.rank))
        return _put_back(base, fit(value, target, "could not broadcast input array from shape {} into shape {}"), plan)
    inner = _sliced(base, plan)
    extent = tuple(s for i, s in enumerate(sizes(inner)) if i not in plan.axes)
    target = (*extent[: plan.at], *sizes(plan.indices[0]), *extent[plan.at :])
    text = "shape mismatch: value array of shape {} could not be broadcast to indexing result of shape {}"
    value = fit(value, target, text)
    inner = emit("scatter_set", inner, value, *plan.indices, axes=tuple(plan.axes), at=plan.at)
    return _put_back(base, inner, plan)


def _put_back(base: Any, part: Any, plan: Plan) -> Any:
    """The base with the plan's view of it replaced."""
    if plan.added:
        part = emit("squeeze", part, axes=tuple(plan.added))
    if plan.squeezed:
        part = emit("expand_dims", part, axes=tuple(plan.squeezed))
    return part if plan.whole else emit("set_slice", base, part, start=tuple(plan.start), step=tuple(plan.step))


def _by_mask(base: Tensor, key: Any, value: Any) -> Any:
    """The new content where the key is one mask and the value does not depend on the hits; else None."""
    if isinstance(key, list):
        key = index_array(key)
    if not (isinstance(key, np.ndarray) or is_traced(key)) or isinstance(key, Scalar) or dtype_of(key).kind != "b":
        return None
    depth, rank = rank_of(key), rank_of(base)
    if depth == 0 or depth > rank or isinstance(value, list | tuple):
        return None
    if rank_of(value) > rank - depth:
        return None
    shape = sizes(base)
    for axis, size in enumerate(sizes(key)):
        if facts().same(size, shape[axis]) is None:
            return None  # the general way tells what is wrong
    if depth < rank:
        key = emit("expand_dims", key, axes=tuple(range(depth, rank)))
    value = assignable(value, base.dtype)
    if rank_of(value):
        value = fit(value, shape[depth:], "could not broadcast input array from shape {} into shape {}")
    return emit("where", key, value, base)


def assignable(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value in the dtype of the array that takes it, as NumPy casts in an assignment."""
    if isinstance(value, list | tuple):
        value = stack_nested(value)
    if not (isinstance(value, np.ndarray | np.generic) or is_traced(value)):
        fitted = np.asarray(value, dtype=dtype)  # NumPy's own errors: 300 into uint8, nan into an integer
        value = fitted if fitted.ndim else fitted.item()
    if dtype_of(value).kind == "c" and dtype.kind != "c":
        raise DtypeError(layout("a complex value is assigned to a real array", fix="Assign its real part."))
    return cast(value, dtype)


def fit(value: Any, target: Shape, text: str) -> Any:
    """A value stretched to the shape that it is assigned to. Raises ValueError with NumPy's text."""
    shape = sizes(value)
    if shape == target:
        return value
    extra = len(shape) - len(target)
    if extra > 0 and all(facts().is_one(s) for s in shape[:extra]):
        value = emit("squeeze", value, axes=tuple(range(extra)))
        shape = shape[extra:]
    aligned = target[len(target) - len(shape) :]
    fits = len(shape) <= len(target) and all(
        s == t or facts().same(s, t) is not None or facts().is_one(s) for s, t in zip(shape, aligned, strict=True)
    )
    if not fits:
        raise ShapeError(text.format(show_shape(sizes(value)), show_shape(target)))
    return value if sizes(value) == target else emit("broadcast_to", value, shape=target)


def scatter_at(tensor: Tensor, name: str, key: Any, value: Any) -> None:
    """``np.<name>.at(tensor, key, value)``: repeated places count each time."""
    if name not in ("add", "subtract"):
        fix = "Use np.add.at, or sort by index and reduce the groups."
        raise DtypeError(layout(f"np.{name}.at is not supported on traced values", fix=fix))
    base = tensor.read()
    plan = plan_of(sizes(base), read_key(key, rank_of(base)), views=False)
    if not plan.indices:
        part = _sliced(base, plan)
        tensor._replace(_put_back(base, cast_same(emit(name, part, value), base.dtype), plan))
        return
    inner = _sliced(base, plan)
    extent = tuple(s for i, s in enumerate(sizes(inner)) if i not in plan.axes)
    target = (*extent[: plan.at], *sizes(plan.indices[0]), *extent[plan.at :])
    value = fit(cast_same(value, base.dtype), target, "array is not broadcastable to correct shape")
    change = emit("scatter_add", value, *plan.indices, shape=sizes(inner), axes=tuple(plan.axes), at=plan.at)
    tensor._replace(_put_back(base, emit(name, inner, change), plan))


def cast_same(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value in the dtype of the array it is added into, where NumPy's 'same_kind' rule lets it."""
    if type(value) not in (int, float, bool) and not np.can_cast(dtype_of(array(value)), dtype, "same_kind"):
        raise DtypeError(
            layout(f"can't add {dtype_of(array(value))} into an array of {dtype} in place", fix="Convert it.")
        )
    return cast(array(value), dtype)
