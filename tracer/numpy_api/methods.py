"""Methods of Tensors, by name: NumPy's signatures, where the first argument is the Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import context
from ..errors import DtypeError, layout
from ..tensor import Tensor
from ..values import dtype_of, emit, rank_of, sizes
from . import gathers, joins, linear, reductions, selection, shapes, writes
from .common import NOTHING, cast, force, given, reshape, unsupported

Handler = Callable[..., Any]


def _spread(shape: tuple[Any, ...]) -> Any:
    """Axes or sizes that stand for themselves or in one tuple."""
    return shape[0] if len(shape) == 1 and (shape[0] is None or isinstance(shape[0], list | tuple)) else shape


def _reshape(x: Tensor, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return shapes.reshape(x, _spread(shape), order, copy=copy)


def _transpose(x: Tensor, *axes: Any) -> Any:
    return shapes.transpose(x, _spread(axes) if axes else None)


def _sort(x: Tensor, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    x[...] = gathers.sort(x.read(), axis, kind, order, stable=stable)


def _astype(
    x: Tensor, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise TypeError(
            f"Cannot cast array data from {x.dtype!r} to {np.dtype(dtype)!r} according to the rule '{casting}'"
        )
    y = cast(x, dtype)
    return emit("copy", x) if y is x and copy else y


def _copy(x: Tensor, order: str = "C") -> Any:
    return emit("copy", x)


def _flatten(x: Tensor, order: str = "C") -> Any:
    return emit("copy", shapes.ravel(x, order))


def _fill(x: Tensor, value: Any) -> None:
    x[...] = value


def _item(x: Tensor, *args: Any) -> Any:
    """One element as a Python number; it stays recorded where anything records."""
    if context.trace is None and not context.recorders:
        return x.numpy().item(*args)
    if args:
        key = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        x = shapes.ravel(x)[key[0]] if len(key) == 1 else x[key]
    elif rank_of(x):
        if any(force(s) != 1 for s in sizes(x)):
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        x = reshape(x, ())
    kind = dtype_of(x).kind
    return emit("weaken", x, kind="i" if kind == "u" else kind)


def _tolist(x: Tensor) -> Any:
    if context.trace is None and not context.recorders:
        return x.numpy().tolist()
    if not rank_of(x):
        return _item(x)
    return [_tolist(x[i]) for i in range(force(sizes(x)[0]))]


def _clip(x: Tensor, min: Any = NOTHING, max: Any = NOTHING, out: Any = None, **kwargs: Any) -> Any:
    return selection.clip(x, min if given(min) else None, max if given(max) else None, out, **kwargs)


def _dot(x: Tensor, b: Any, out: Any = None) -> Any:
    return linear.dot(x, b, out)


def _refused(name: str, fix: str) -> Handler:
    def method(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        raise DtypeError(layout(f"Tensor.{name} is not supported", fix=fix))

    return method


def _choose(x: Tensor, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    return gathers.choose(x, choices, out, mode)


def _compress(x: Tensor, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return gathers.compress(condition, x, axis, out)


def _partition(x: Tensor, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    x[...] = gathers.partition(x.read(), kth, axis, kind, order)


def _tobytes(x: Tensor, order: str = "C") -> Any:
    return x.numpy().tobytes(order)


def _byteswap(*args: Any, **kwargs: Any) -> Any:
    raise unsupported("ndarray.byteswap", "a byte order", "Convert the array before it is traced.")


METHODS: dict[str, Handler] = {
    "sum": reductions.sum_, "prod": reductions.prod, "mean": reductions.mean, "std": reductions.std,
    "var": reductions.var, "max": reductions.max_, "min": reductions.min_, "any": reductions.any_,
    "all": reductions.all_, "argmax": reductions.argmax, "argmin": reductions.argmin, "cumsum": reductions.cumsum,
    "cumprod": reductions.cumprod, "reshape": _reshape, "transpose": _transpose, "swapaxes": shapes.swapaxes,
    "ravel": shapes.ravel, "flatten": _flatten, "squeeze": shapes.squeeze, "repeat": joins.repeat, "take": gathers.take,
    "put": writes.put, "choose": _choose, "compress": _compress, "trace": gathers.trace, "diagonal": gathers.diagonal,
    "nonzero": gathers.nonzero, "argsort": gathers.argsort, "sort": _sort, "partition": _partition,
    "argpartition": gathers.argpartition, "searchsorted": gathers.searchsorted, "clip": _clip,
    "round": selection.round_,
    "dot": _dot, "conj": selection.real, "conjugate": selection.real, "astype": _astype, "copy": _copy, "fill": _fill,
    "item": _item, "tolist": _tolist, "tobytes": _tobytes, "byteswap": _byteswap,
    "resize": _refused("resize", "Use np.resize, which returns a new array."),
    "tofile": _refused("tofile", "Write x.numpy() to the file."),
    "setflags": _refused("setflags", "A traced value has no flags."),
}  # fmt: skip
