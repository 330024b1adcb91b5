"""Ufuncs: the ones that are rows, the ones composed of rows, their keywords and their methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DtypeError, layout
from ..ops import OPS
from ..tensor import Tensor
from ..types import loop_dtypes, weak_kind
from ..values import dtype_of, emit, lift, rank_of
from . import linear, reductions
from .common import NOTHING, array, cast, deliver, given, operand, strong, unsupported
from .special import logsumexp

Handler = Callable[..., Any]


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``ufunc(*inputs)`` or ``ufunc.method(*inputs)`` does with traced values."""
    match method:
        case "__call__":
            return _called(ufunc, inputs, dict(kwargs))
        case "reduce":
            return _table("reduce", REDUCTIONS, ufunc)(*inputs, **kwargs)
        case "accumulate":
            return _table("accumulate", ACCUMULATIONS, ufunc)(*inputs, **kwargs)
        case "outer":
            a, b = (array(i) for i in inputs)
            tall = emit("expand_dims", a, axes=tuple(range(rank_of(a), rank_of(a) + rank_of(b)))) if rank_of(b) else a
            return _called(ufunc, (tall, b), dict(kwargs))
        case "at":
            return _at(ufunc, *inputs)
    raise unsupported(f"{ufunc.__name__}.{method}", "this method", "Use slices or np.add.at instead.")


def _table(method: str, table: dict[str, Handler], ufunc: np.ufunc) -> Handler:
    handler = table.get(ufunc.__name__)
    if handler is None:
        known = ", ".join(f"np.{name}.{method}" for name in table)
        raise unsupported(f"{ufunc.__name__}.{method}", "this method", f"Recorded are {known}.")
    return handler


def _at(ufunc: np.ufunc, target: Any, key: Any, value: Any) -> None:
    from ..indexing import scatter_at

    if not isinstance(target, Tensor):
        text = f"np.{ufunc.__name__}.at would write a traced value into a plain array"
        raise DtypeError(layout(text, fix="Make the target a Tensor: nt.tensor(target)."))
    scatter_at(target, ufunc.__name__, key, array(value) if isinstance(value, list) else value)


def _called(ufunc: np.ufunc, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not kwargs and len(inputs) == ufunc.nin:
        found = _compute(ufunc, [operand(i) for i in inputs])
        return tuple(map(strong, found)) if isinstance(found, tuple) else strong(found)
    name = ufunc.__name__
    out = kwargs.pop("out", inputs[ufunc.nin :])
    out = out if isinstance(out, tuple) else (out,)
    operands = [operand(i) for i in inputs[: ufunc.nin]]
    dtype, casting = kwargs.pop("dtype", None), kwargs.pop("casting", "same_kind")
    where = kwargs.pop("where", True)
    kwargs.pop("order", None)  # layout in memory and subclasses are not part of a traced value
    kwargs.pop("subok", None)
    for argument in kwargs:
        raise unsupported(name, f"{argument}=", "Leave it away, or move the axes with np.moveaxis.")
    if dtype is not None and name not in _PREDICATES:
        for item in operands:
            if type(item) not in (int, float, bool) and not np.can_cast(dtype_of(item), dtype, casting):
                raise TypeError(
                    f"Cannot cast ufunc '{name}' input from {dtype_of(item)} to {np.dtype(dtype)} with {casting!r}"
                )
        operands = [cast(i, dtype) for i in operands]
    results = _compute(ufunc, operands)
    results = results if isinstance(results, tuple) else (results,)
    out = out + (None,) * (len(results) - len(out))
    if where is not True:
        if any(o is None for o in out):
            fix = "Without out= the other places are uninitialised: use np.where(condition, result, other)."
            raise unsupported(name, "where= without out=", fix)
        results = tuple(emit("where", where, cast(r, o.dtype), o) for r, o in zip(results, out, strict=True))
    finals = tuple(deliver(strong(r), o, casting) for r, o in zip(results, out, strict=True))
    return finals if len(finals) > 1 else finals[0]


def _compute(ufunc: np.ufunc, operands: list[Any]) -> Any:
    name = ufunc.__name__
    row = OPS.get(name)
    if row is not None and row.elementwise:
        return emit(name, *operands)
    handler = UFUNCS.get(name)
    if handler is None:
        fix = "Write it with other NumPy functions; on a tape, stop_gradient or x.numpy() gives the plain numbers."
        raise DtypeError(layout(f"the ufunc {name} has no recorded form", fix=fix))
    return handler(*operands)


_PREDICATES = {
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not",
    "logical_xor", "isnan", "isfinite", "isinf", "signbit",
}  # fmt: skip


# ufuncs that are composed of rows


def _in_loop(ufunc: np.ufunc, *items: Any) -> list[Any]:
    """Operands in the dtypes in which NumPy's loop takes them."""
    kinds = tuple(weak_kind(lift(i).type) for i in items)
    return [cast(i, d) for i, d in zip(items, loop_dtypes(ufunc, kinds), strict=False)]


def _ignoring_nan(name: str, ufunc: np.ufunc) -> Handler:
    def handler(a: Any, b: Any) -> Any:
        a, b = _in_loop(ufunc, a, b)
        if dtype_of(a).kind != "f":
            return emit(name, a, b)
        return emit(name, emit("where", emit("isnan", a), b, a), emit("where", emit("isnan", b), a, b))

    return handler


def _fabs(x: Any) -> Any:
    return emit("absolute", *_in_loop(np.fabs, x))


def _float_power(a: Any, b: Any) -> Any:
    return emit("power", *_in_loop(np.float_power, a, b))


def _modf(x: Any) -> Any:
    (x,) = _in_loop(np.modf, x)
    whole = emit("trunc", x)
    # inf - inf is nan, and the fraction of -1.0 is -0.0
    rest = emit("where", emit("isinf", x), 0.0, emit("subtract", x, whole))
    return emit("copysign", rest, x), whole


def _heaviside(x: Any, at_zero: Any) -> Any:
    x, at_zero = _in_loop(np.heaviside, x, at_zero)
    step = emit("where", emit("less", x, 0), 0.0, emit("where", emit("greater", x, 0), 1.0, x))
    return emit("where", emit("equal", x, 0), at_zero, step)


def _xlog(log: str) -> Handler:
    def handler(x: Any, y: Any) -> Any:
        silent = emit("logical_and", emit("equal", x, 0), emit("logical_not", emit("isnan", y)))
        return emit("where", silent, 0.0, emit("multiply", x, emit(log, y)))

    return handler


def _entr(x: Any) -> Any:
    inside = emit("where", emit("less", x, 0), -np.inf, emit("negative", emit("multiply", x, emit("log", x))))
    return emit("where", emit("equal", x, 0), 0.0, inside)


def _rel_entr(x: Any, y: Any) -> Any:
    nothing = emit("logical_and", emit("equal", x, 0), emit("greater_equal", y, 0))
    regular = emit("logical_and", emit("greater", x, 0), emit("greater", y, 0))
    value = emit("multiply", x, emit("log", emit("divide", x, y)))
    unknown = emit("logical_or", emit("isnan", x), emit("isnan", y))  # and so is the value
    return emit("where", nothing, 0.0, emit("where", emit("logical_or", regular, unknown), value, np.inf))


def signbit(x: Any) -> Any:
    """Whether the sign is set, that of -0.0 and nan included."""
    return emit("less", emit("copysign", 1.0, x), 0) if dtype_of(x).kind == "f" else emit("less", x, 0)


UFUNCS: dict[str, Handler] = {
    "matmul": linear.matmul, "vecdot": linear.vecdot, "matvec": linear.matvec, "vecmat": linear.vecmat,
    "fmax": _ignoring_nan("maximum", np.fmax), "fmin": _ignoring_nan("minimum", np.fmin),
    "divmod": lambda a, b: (emit("floor_divide", a, b), emit("remainder", a, b)), "modf": _modf,
    "signbit": signbit,
    "fabs": _fabs, "float_power": _float_power, "heaviside": _heaviside,
    "degrees": lambda x: emit("rad2deg", x), "radians": lambda x: emit("deg2rad", x),
    "conjugate": lambda x: emit("positive", x),
    # of scipy.special
    "expit": lambda x: emit("sigmoid", x),
    "log_expit": lambda x: emit("negative", emit("logaddexp", 0.0, emit("negative", x))),
    "logit": lambda x: emit("subtract", emit("log", x), emit("log1p", emit("negative", x))),
    "xlogy": _xlog("log"), "xlog1py": _xlog("log1p"), "entr": _entr, "rel_entr": _rel_entr,
}  # fmt: skip


# ufunc methods


def _reduced(handler: Handler) -> Handler:
    """A function of NumPy as the reduction that it is made of: along the first axis unless told otherwise."""

    def reduce(
        array_: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, **kwargs: Any
    ) -> Any:
        x = array(array_)
        if dtype is not None and handler not in (reductions.any_, reductions.all_):
            x = cast(x, dtype)
            if handler in (reductions.sum_, reductions.prod):
                kwargs["dtype"] = dtype
        return handler(x, axis=axis, out=out, keepdims=keepdims, **kwargs)

    return reduce


def _accumulated(handler: Handler) -> Handler:
    def accumulate(array_: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
        if rank_of(array(array_)) == 0:
            raise TypeError("cannot accumulate on a scalar")
        return handler(array_, axis, dtype, out)

    return accumulate


def _log_add_exp(
    x: Any, axis: Any = 0, out: Any = None, keepdims: Any = False, initial: Any = NOTHING, where: Any = True
) -> Any:
    x = x if where is True else emit("where", where, x, -np.inf)
    y = logsumexp(x, axis=axis, keepdims=keepdims)
    return deliver(emit("logaddexp", y, initial) if given(initial) else y, out)


REDUCTIONS: dict[str, Handler] = {
    "add": _reduced(reductions.sum_), "multiply": _reduced(reductions.prod),
    "maximum": _reduced(reductions.max_), "minimum": _reduced(reductions.min_),
    "logical_and": _reduced(reductions.all_), "logical_or": _reduced(reductions.any_),
    "logaddexp": _reduced(_log_add_exp),
}  # fmt: skip

ACCUMULATIONS: dict[str, Handler] = {
    "add": _accumulated(reductions.cumsum), "multiply": _accumulated(reductions.cumprod),
}  # fmt: skip
