"""The words in which derivative rules are written: one function per op, on Exprs and Python numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..types import SHORT

if TYPE_CHECKING:
    from ..dims import Dim
    from ..graph import Builder, Expr

    Size: TypeAlias = int | Dim
    Shape: TypeAlias = tuple[Size, ...]
    Number: TypeAlias = Expr | float


def _emit(name: str, *args: Any, **params: Hashable) -> Expr:
    # graph.py imports the op tables, so an Expr is known here by the builder that it carries
    for arg in args:
        if hasattr(arg, "builder"):
            return arg.builder.op(name, *args, **params)
    raise TypeError(f"{name}: at least one argument must be an Expr")


def _word(name: str) -> Callable[..., Expr]:
    def word(*args: Number) -> Expr:
        return _emit(name, *args)

    word.__name__ = word.__qualname__ = name
    return word


# element by element
add, subtract, multiply, divide = map(_word, ("add", "subtract", "multiply", "divide"))
floor_divide, remainder, fmod, power = map(_word, ("floor_divide", "remainder", "fmod", "power"))
negative, positive, absolute, sign = map(_word, ("negative", "positive", "absolute", "sign"))
sqrt, cbrt, square, reciprocal = map(_word, ("sqrt", "cbrt", "square", "reciprocal"))
exp, exp2, expm1 = map(_word, ("exp", "exp2", "expm1"))
log, log2, log10, log1p = map(_word, ("log", "log2", "log10", "log1p"))
sin, cos, tan = map(_word, ("sin", "cos", "tan"))
arcsin, arccos, arctan, arctan2 = map(_word, ("arcsin", "arccos", "arctan", "arctan2"))
sinh, cosh, tanh = map(_word, ("sinh", "cosh", "tanh"))
arcsinh, arccosh, arctanh = map(_word, ("arcsinh", "arccosh", "arctanh"))
hypot, copysign, deg2rad, rad2deg = map(_word, ("hypot", "copysign", "deg2rad", "rad2deg"))
floor, ceil, rint, trunc = map(_word, ("floor", "ceil", "rint", "trunc"))
maximum, minimum, logaddexp, logaddexp2 = map(_word, ("maximum", "minimum", "logaddexp", "logaddexp2"))
less, less_equal, greater, greater_equal = map(_word, ("less", "less_equal", "greater", "greater_equal"))
equal, not_equal = map(_word, ("equal", "not_equal"))
logical_and, logical_or, logical_not, logical_xor = map(
    _word, ("logical_and", "logical_or", "logical_not", "logical_xor")
)
bitwise_and, bitwise_or, bitwise_xor, invert = map(_word, ("bitwise_and", "bitwise_or", "bitwise_xor", "invert"))
left_shift, right_shift = map(_word, ("left_shift", "right_shift"))
isnan, isfinite, isinf = map(_word, ("isnan", "isfinite", "isinf"))
where, erf, sigmoid = map(_word, ("where", "erf", "sigmoid"))
stop_gradient, cotangent = map(_word, ("stop_gradient", "cotangent"))


def sinc(x: Expr, order: int = 0) -> Expr:
    """The derivative of that order of ``sin(pi*x)/(pi*x)``."""
    return _emit("sinc", x, order=order) if order else _emit("sinc", x)


def astype(x: Expr, dtype: Any) -> Expr:
    """`x` in another dtype (a NumPy dtype or its short name); `x` itself where it has that dtype and isn't weak."""
    short = dtype if isinstance(dtype, str) and dtype in SHORT.values() else SHORT[str(dtype)]
    return x if SHORT[x.dtype.name] == short and not x.type.weak else _emit("astype", x, dtype=short)


def weaken(x: Expr, kind: str) -> Expr:
    """A 0-d value as a Python scalar: kind "f", "i" or "b"."""
    return _emit("weaken", x, kind=kind)


# constants and sizes
def constant(like: Expr, value: float) -> Expr:
    """A 0-d constant of the dtype of `like`."""
    return like.builder.const(value, like=like.type)


def full_like(x: Expr, value: float, shape: Shape | None = None) -> Expr:
    """An array of one value, in the dtype of `x` and its shape or another."""
    return broadcast_to(constant(x, value), x.shape if shape is None else shape)


def zeros_like(x: Expr, shape: Shape | None = None) -> Expr:
    return full_like(x, 0, shape)


def ones_like(x: Expr, shape: Shape | None = None) -> Expr:
    return full_like(x, 1, shape)


def size(builder: Builder, value: Size) -> Expr:
    """The number that a size stands for, as a weak integer."""
    return builder.size(value)


def iota(builder: Builder, length: Size, dtype: str = "i64") -> Expr:
    """``arange(length)``."""
    return builder.op("iota", size=length, dtype=dtype)


def count(shape: Shape, axes: Sequence[int] | None = None) -> Size:
    """The number of elements in these axes of a shape."""
    total: Size = 1
    for axis in range(len(shape)) if axes is None else axes:
        total = total * shape[axis]
    return total


# reductions and scans
def all_axes(x: Expr) -> tuple[int, ...]:
    return tuple(range(x.rank))


def _reduction(name: str) -> Callable[..., Expr]:
    def word(x: Expr, axes: Sequence[int] | None = None) -> Expr:
        return _emit(name, x, axes=all_axes(x) if axes is None else tuple(sorted(axes)))

    word.__name__ = word.__qualname__ = name
    return word


def _along(name: str) -> Callable[..., Expr]:
    def word(x: Expr, axis: int) -> Expr:
        return _emit(name, x, axis=axis)

    word.__name__ = word.__qualname__ = name
    return word


sum_, prod, max_, min_, any_, all_ = map(_reduction, ("sum", "prod", "max", "min", "any", "all"))
argmax, argmin, cumsum, cumprod, sort, argsort = map(
    _along, ("argmax", "argmin", "cumsum", "cumprod", "sort", "argsort")
)


def linrec(a: Expr, b: Expr, axis: int) -> Expr:
    """``s[i] = a[i]*s[i-1] + b[i]`` along an axis, from ``s[-1] = 0``."""
    return _emit("linrec", a, b, axis=axis)


# shapes
def reshape(x: Expr, shape: Shape) -> Expr:
    return x if x.shape == tuple(shape) else _emit("reshape", x, shape=tuple(shape))


def transpose(x: Expr, perm: Sequence[int]) -> Expr:
    return x if tuple(perm) == all_axes(x) else _emit("transpose", x, perm=tuple(perm))


def swapaxes(x: Expr, a: int, b: int) -> Expr:
    perm = list(all_axes(x))
    perm[a], perm[b] = perm[b], perm[a]
    return transpose(x, perm)


def inverse(perm: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


def expand_dims(x: Expr, axes: Sequence[int]) -> Expr:
    """Axes of length 1 at these positions of the result."""
    return _emit("expand_dims", x, axes=tuple(axes)) if axes else x


def squeeze(x: Expr, axes: Sequence[int]) -> Expr:
    return _emit("squeeze", x, axes=tuple(axes)) if axes else x


def broadcast_to(x: Expr, shape: Shape) -> Expr:
    return x if x.shape == tuple(shape) else _emit("broadcast_to", x, shape=tuple(shape))


def spread(x: Expr, axes: Sequence[int], shape: Shape) -> Expr:
    """The reverse of a reduction's shapes: put `axes` back and stretch them to `shape`."""
    return broadcast_to(expand_dims(x, axes), shape)


def concatenate(parts: Sequence[Expr], axis: int) -> Expr:
    return _emit("concatenate", *parts, axis=axis)


def slice_(x: Expr, start: Shape, size: Shape, step: Sequence[int]) -> Expr:
    return _emit("slice", x, start=tuple(start), size=tuple(size), step=tuple(step))


def unslice(x: Expr, shape: Shape, start: Shape, step: Sequence[int]) -> Expr:
    """Zeros of `shape` with `x` at that slice."""
    return _emit("unslice", x, shape=tuple(shape), start=tuple(start), step=tuple(step))


def set_slice(base: Expr, value: Expr, start: Shape, step: Sequence[int]) -> Expr:
    return _emit("set_slice", base, value, start=tuple(start), step=tuple(step))


def slice_axis(x: Expr, axis: int, start: Size, size: Size, step: int = 1) -> Expr:
    """A slice of one axis, the others whole."""
    starts: list[Size] = [0] * x.rank
    sizes, steps = list(x.shape), [1] * x.rank
    starts[axis], sizes[axis], steps[axis] = start, size, step
    return slice_(x, tuple(starts), tuple(sizes), steps)


def flip(x: Expr, axis: int) -> Expr:
    """`x` backwards along an axis. (Of an empty axis, the slice of size 0 starts at -1.)"""
    return slice_axis(x, axis, x.shape[axis] - 1, x.shape[axis], -1)


def shift(x: Expr, axis: int, fill: float) -> Expr:
    """`x` moved on by one place along an axis, `fill` in the first."""
    first = full_like(x, fill, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
    return slice_axis(concatenate((first, x), axis), axis, 0, x.shape[axis])


# indices
def gather(x: Expr, indices: Sequence[Expr], axes: Sequence[int], at: int) -> Expr:
    return _emit("gather", x, *indices, axes=tuple(axes), at=at)


def scatter_add(x: Expr, indices: Sequence[Expr], shape: Shape, axes: Sequence[int], at: int) -> Expr:
    """Zeros of `shape` with `x` added at the places that `gather` would read."""
    return _emit("scatter_add", x, *indices, shape=tuple(shape), axes=tuple(axes), at=at)


def scatter_set(base: Expr, value: Expr, indices: Sequence[Expr], axes: Sequence[int], at: int) -> Expr:
    return _emit("scatter_set", base, value, *indices, axes=tuple(axes), at=at)


def positions(index: Expr, axis: int) -> tuple[Expr, ...]:
    """Indices, one per axis, of the elements that `index` names along `axis` (as take_along_axis reads them)."""
    out = []
    for other, length in enumerate(index.shape):
        shape = tuple(length if other == i else 1 for i in range(index.rank))
        out.append(index if other == axis else broadcast_to(reshape(iota(index.builder, length), shape), index.shape))
    return tuple(out)


# products
matmul = _word("matmul")


def matrix_transpose(x: Expr) -> Expr:
    return swapaxes(x, x.rank - 2, x.rank - 1)


# the chain rule
def number(x: Expr) -> float | None:
    """The value of a real 0-d constant, else None."""
    node = x.builder.nodes[x.index]
    if node.op != "const" or x.rank or x.dtype.kind == "c":
        return None
    return float(node.param("value").array()[()])


def chain(outer: Expr, partial: Expr, product: str = "cotangent") -> Expr:
    """The product of the chain rule: `outer` (a cotangent or a tangent) times a partial derivative.

    `product` is the op that multiplies (`products` of a row). A partial that is a choice between numbers chooses what
    becomes of `outer` instead: in second derivatives and in forward mode the side not taken may be inf or nan, as the
    logarithm in ``where(x > 0, log(x), 0)``.
    """
    value = number(partial)
    if value is not None and math.isfinite(value):
        return outer if value == 1 else -outer if value == -1 else outer * value
    return _choose(outer, partial) if _is_choice(partial) else _emit(product, outer, partial)


def _branches(x: Expr) -> tuple[Expr, ...]:
    node = x.builder.nodes[x.index]
    return tuple(type(x)(x.builder, arg) for arg in node.args[1:]) if node.op == "where" else ()


def _is_choice(x: Expr, depth: int = 2) -> bool:
    # the depth is bounded, since the user's own nested choices would be copied for each factor
    branches = _branches(x) if depth else ()
    return bool(branches) and all(number(b) is not None or _is_choice(b, depth - 1) for b in branches)


def _choose(outer: Expr, partial: Expr) -> Expr:
    value = number(partial)
    if value is not None:
        return constant(outer, 0) if value == 0 else chain(outer, partial)
    condition = type(partial)(partial.builder, partial.builder.nodes[partial.index].args[0])
    return where(condition, *(_choose(outer, branch) for branch in _branches(partial)))
