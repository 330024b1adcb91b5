"""Functions that make arrays: with sizes that stay symbolic and values that stay recorded.

NumPy never asks a traced argument about these (``np.zeros(n)``, ``np.array([x, y])``), so the recorded copy of a user's
function calls the handlers of CREATION instead.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..dims import Dim, floordiv, maximum
from ..scalar import Scalar
from ..tensor import Tensor
from ..types import SHORT
from ..values import check_dtype, dtype_of, emit, facts, has_traced, is_traced, rank_of, sizes, to_size
from .common import (
    NOTHING,
    along,
    array,
    broadcast_to,
    cast,
    constant,
    flat,
    iota,
    operand,
    product,
    promoted_as,
    size_value,
    stack_nested,
    strong,
)
from .gathers import nonzero
from .linear import triangle
from .shapes import lengths_of, moveaxis

Size = int | Dim


def _constant(value: Any, dtype: Any) -> Any:
    wanted = np.dtype(dtype)
    check_dtype(wanted, "an array")
    return constant(np.asarray(value, dtype=wanted))


def filled(value: Any, shape: tuple[Size, ...]) -> Any:
    """A new array that repeats one value."""
    return emit("broadcast_to", value, shape=shape)


def zeros(shape, dtype=float, order="C", *, device=None, like=None):
    return filled(_constant(0, dtype), lengths_of(shape))


def ones(shape, dtype=None, order="C", *, device=None, like=None):
    return filled(_constant(1, dtype or float), lengths_of(shape))


def empty(shape, dtype=float, order="C", *, device=None, like=None):
    return filled(_constant(0, dtype), lengths_of(shape))


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    value = fill_value if isinstance(fill_value, Scalar) and dtype is not None else array(fill_value)
    return filled(value if dtype is None else cast(value, dtype), lengths_of(shape))


def _like(prototype: Any, value: Any, dtype: Any, shape: Any) -> Any:
    x = array(prototype)
    wanted = dtype_of(x) if dtype is None else np.dtype(dtype)
    filler = cast(value, wanted) if has_traced(value) or np.ndim(value) else _constant(value, wanted)
    return filled(filler, sizes(x) if shape is None else lengths_of(shape))


def zeros_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(a, 0, dtype, shape)


def ones_like(a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(a, 1, dtype, shape)


def empty_like(prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(prototype, 0, dtype, shape)


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    return _like(a, array(fill_value) if isinstance(fill_value, list) else fill_value, dtype, shape)


# from given values


def array_(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    x = stack_nested(object, dtype) if isinstance(object, list | tuple) else object
    x = x if dtype is not None else strong(x)
    x = x if is_traced(x) or isinstance(x, np.ndarray) else constant(x)
    if dtype is not None:
        x = cast(x, dtype)
    if copy and x is object:
        x = emit("copy", x)
    missing = ndmin - rank_of(x)
    return emit("expand_dims", x, axes=tuple(range(missing))) if missing > 0 else x


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    return array_(a, dtype, copy=bool(copy))


def ascontiguousarray(a, dtype=None, *, like=None):
    return array_(a, dtype, copy=False, ndmin=1)


def copy(a, order="K", subok=False):
    return array_(a, copy=True)


# sequences


def _is_whole(item: Any) -> bool:
    if isinstance(item, Scalar):
        return item.kind is not float
    if isinstance(item, Tensor):
        return item.ndim == 0 and item.dtype.kind in "biu"
    return isinstance(item, int | np.integer | np.bool_)


def arange(start=NOTHING, stop=None, step=None, dtype=None, *, device=None, like=None):
    if start is NOTHING and stop is None:
        raise TypeError("arange() requires stop to be specified.")
    first, last = (0 if start is NOTHING else start, stop) if stop is not None else (0, start)
    by = 1 if step is None else step
    typed = [dtype_of(i) for i in (first, last, by) if isinstance(i, np.generic | np.ndarray | Tensor)]
    if not has_traced([first, last, by]):
        return constant(np.arange(first, last, by, dtype))
    if all(map(_is_whole, (first, last, by))):
        a, b, s = to_size(first), to_size(last), to_size(by)
        direction = facts().sign(s)
        if direction == 0:
            raise ZeroDivisionError("division by zero")
        span, stride = (b - a, s) if direction > 0 else (a - b, -s)
        length = maximum(floordiv(span + stride - 1, stride), 0, facts().bounds())
        wanted = (
            np.dtype(dtype) if dtype is not None else np.result_type(*typed, *([np.int64] if len(typed) < 3 else []))
        )
        values = iota(length, SHORT[wanted.name] if wanted.kind in "if" else "i64")
        values = values if s == 1 else emit("multiply", values, size_value(s))
        return cast(values if a == 0 else emit("add", values, size_value(a)), wanted)
    wanted = (
        np.dtype(dtype) if dtype is not None else np.result_type(*(dtype_of(i) for i in (first, last, by)), np.float64)
    )
    steps = emit("ceil", emit("divide", emit("subtract", last, first), by))
    length = to_size(cast(emit("maximum", steps, 0.0), np.int64))
    # NumPy measures the step between the first two values, and counts on from the first
    delta = emit("subtract", emit("add", first, by), first)
    return cast(emit("add", emit("multiply", iota(length, "f64"), delta), first), wanted)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    count = to_size(num)
    if facts().less(count, 0):
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    divisor = count - 1 if endpoint else count
    inner = np.result_type(promoted_as(start), promoted_as(stop), 0.0)
    begin, end = (cast(operand(i), inner) for i in (start, stop))
    delta = emit("subtract", end, begin)
    rank = rank_of(delta)
    place = along(cast(iota(count), inner), 0, rank + 1)
    # one sample is at the start, whatever it is divided by; only a step that is asked for tells whether there is one
    safe = maximum(divisor, 1, facts().bounds())
    step = emit("divide", delta, size_value(safe))
    # where the step underflows, its product with the place is not delta
    far = emit("multiply", emit("divide", place, size_value(safe)), delta)
    y = emit("add", emit("where", emit("equal", step, 0), far, emit("multiply", place, step)), begin)
    if endpoint:
        last = emit("equal", place, size_value(count - 1))
        last = last if safe == divisor else emit("logical_and", last, emit("greater", place, 0))
        y = emit("where", last, end, y)
    if retstep and facts().sign(divisor) <= 0:
        step = np.nan
    wanted = np.dtype(dtype) if dtype is not None else inner
    if wanted.kind in "iu":
        y = emit("floor", y)
    y = cast(y, wanted)
    y = y if axis == 0 else moveaxis(y, 0, axis)
    return (y, step) if retstep else y


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    root = operand(base)
    if rank_of(root):
        root = emit("expand_dims", root, axes=(axis % (rank_of(root) + 1),))
    y = emit("power", root, linspace(start, stop, num, endpoint, axis=axis))
    return y if dtype is None else cast(y, dtype)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    inner = np.result_type(dtype_of(array(start)), dtype_of(array(stop)), 0.0, np.dtype(dtype or np.float16))
    begin, end = (cast(array(i), inner) for i in (start, stop))
    sign = emit("sign", begin)
    logs = (emit("log10", emit("multiply", i, sign)) for i in (begin, end))
    y = emit("multiply", sign, logspace(*logs, num=num, endpoint=endpoint))
    count = to_size(num)
    place = along(iota(count), 0, rank_of(y))
    # the ends are exact: exp(log(x)) need not be x
    last = emit("logical_and", emit("equal", place, size_value(count - 1)), emit("greater", place, 0))
    y = emit("where", emit("equal", place, 0), begin, emit("where", last, end, y) if endpoint else y)
    y = y if axis == 0 else moveaxis(y, 0, axis)
    return y if dtype is None else cast(y, dtype)


# matrices and grids


def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):
    rows, columns = lengths_of((N, N if M is None else M))
    start = emit("add", iota(rows), k) if has_traced(k) or k else iota(rows)
    return cast(emit("equal", iota(columns), along(start, 0, 2)), dtype)


def identity(n, dtype=None, *, like=None):
    return eye(n, dtype=dtype or float)


def tri(N, M=None, k=0, dtype=float, *, like=None):
    return cast(_triangle(N, M, operator.index(k)), dtype)


def _triangle(n: Any, m: Any, k: int) -> Any:
    # NumPy counts along the axes with arange, of which a negative length is none
    rows, columns = (maximum(to_size(s), 0, facts().bounds()) for s in (n, n if m is None else m))
    return triangle(rows, columns, k)


def _triangle_places(n: Any, k: Any, m: Any, lower: bool) -> Any:
    mask = _triangle(n, m, operator.index(k) - (not lower))
    return nonzero(mask if lower else emit("logical_not", mask))


def tril_indices(n, k=0, m=None):
    return _triangle_places(n, k, m, True)


def triu_indices(n, k=0, m=None):
    return _triangle_places(n, k, m, False)


def diag_indices(n, ndim=2):
    return (iota(*lengths_of(n)),) * ndim


def tril_indices_from(arr, k=0):
    rows, columns = sizes(array(arr))
    return tril_indices(_user(rows), k, _user(columns))


def triu_indices_from(arr, k=0):
    rows, columns = sizes(array(arr))
    return triu_indices(_user(rows), k, _user(columns))


def diag_indices_from(arr):
    shape = sizes(array(arr))
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if any(facts().same(shape[0], s) is None for s in shape[1:]):
        raise ValueError("All dimensions of input must be of equal length")
    return (iota(shape[0]),) * len(shape)


def _user(size: Size) -> Any:
    return size if isinstance(size, int) else Scalar(size=size)


def ix_(*args):
    rows = []
    for place, item in enumerate(map(array, args)):
        if rank_of(item) != 1:
            raise ValueError("Cross index must be 1 dimensional")
        index = nonzero(item)[0] if dtype_of(item).kind == "b" else item
        rows.append(along(index, place, len(args)))
    return tuple(rows)


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    items = [flat(array(x)) for x in xi]
    rank = len(items)
    order = list(range(rank))
    if indexing == "xy" and rank > 1:
        order[0], order[1] = 1, 0
    shape = [product(sizes(items[place])) for place in order]
    grids = [along(x, order.index(place), rank) for place, x in enumerate(items)]
    return tuple(grids if sparse else [broadcast_to(g, tuple(shape)) for g in grids])


def indices(dimensions, dtype=int, sparse=False):
    shape = lengths_of(dimensions)
    grids = tuple(cast(along(iota(s), i, len(shape)), dtype) for i, s in enumerate(shape))
    if sparse:
        return grids
    parts = [emit("expand_dims", broadcast_to(g, shape), axes=(0,)) for g in grids]
    return emit("concatenate", *parts, axis=0) if parts else zeros((0,), dtype)


FUNCTIONS: dict[Any, Any] = {
    np.zeros_like: zeros_like, np.ones_like: ones_like, np.empty_like: empty_like, np.full_like: full_like,
    np.tril_indices_from: tril_indices_from, np.triu_indices_from: triu_indices_from,
    np.diag_indices_from: diag_indices_from, np.ix_: ix_,
    np.copy: copy, np.linspace: linspace, np.logspace: logspace, np.geomspace: geomspace, np.meshgrid: meshgrid,
}  # fmt: skip


def _literal(function: Any, handler: Any) -> Any:
    """A handler that leaves numbers of the program to NumPy: its values to the last bit."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if has_traced(args) or has_traced(kwargs):
            return handler(*args, **kwargs)
        found = function(*args, **kwargs)
        return (constant(found[0]), float(found[1])) if isinstance(found, tuple) else constant(found)

    return call


CREATION: dict[Any, Any] = {
    **FUNCTIONS, np.linspace: _literal(np.linspace, linspace), np.logspace: _literal(np.logspace, logspace),
    np.geomspace: _literal(np.geomspace, geomspace),
    np.zeros: zeros, np.ones: ones, np.empty: empty, np.full: full, np.array: array_, np.asarray: asarray,
    np.asanyarray: asarray, np.ascontiguousarray: ascontiguousarray, np.asfortranarray: ascontiguousarray,
    np.arange: arange, np.eye: eye, np.identity: identity, np.tri: tri, np.tril_indices: tril_indices,
    np.triu_indices: triu_indices, np.diag_indices: diag_indices, np.indices: indices,
}  # fmt: skip
