"""Stand-ins for Python's own names in a recording: `len`, `int`, `float`, `max`, `isinstance`, `super`, `math`.

They belong to the copies of the user's functions alone; libraries and other threads keep the real ones. Where nothing
is recorded, or nothing traced is passed, they do what the real ones do.
"""

from __future__ import annotations

import builtins
import math
import sys
import threading
import types
from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from . import dims
from .context import user_loc
from .errors import CaptureError, layout
from .scalar import Scalar, as_int, as_user_size
from .tensor import Tensor
from .values import emit, facts, has_traced, is_traced, to_size

if TYPE_CHECKING:
    from .capture import Captures


class Active(threading.local):
    """The captures of the recording that runs on this thread."""

    captures: Captures | None = None


active = Active()


def refuse(what: str, fix: str, where: str | None = None) -> CaptureError:
    """The error for what a recording can't follow, with the user's line."""
    return CaptureError(layout(what, str(user_loc()) if where is None else where, fix=fix))


REAL, MADE = "_numtape_real", "_numtape_made"  # attributes of stand-in classes

# -- classes that stand for others: isinstance asks for the real one and for traced values ---------------------------


class Stand(type):
    """The class of stand-ins for classes: they know what they stand for, and what calling them does."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = vars(cls).get(MADE)
        return super().__call__(*args, **kwargs) if made is None else made(*args, **kwargs)

    def __instancecheck__(cls, item: Any) -> bool:
        real = vars(cls).get(REAL)
        return super().__instancecheck__(item) if real is None else isinstance_(item, real)

    def __subclasscheck__(cls, other: type) -> bool:
        real = vars(cls).get(REAL)
        return super().__subclasscheck__(other) if real is None else issubclass(real_class(other), real)

    def __eq__(cls, other: object) -> bool:
        return other is cls or (other is not None and other is vars(cls).get(REAL))

    def __hash__(cls) -> int:
        real = vars(cls).get(REAL)
        return super().__hash__() if real is None else hash(real)

    def __repr__(cls) -> str:
        real = vars(cls).get(REAL)
        return super().__repr__() if real is None else repr(real)


def stand(real: type, made: Callable[..., Any]) -> Any:
    """A class that stands for another one and is called as `made`. NumPy takes it as the dtype of the real one."""
    body: dict[str, Any] = {REAL: real, MADE: staticmethod(made), "__slots__": (), "__doc__": real.__doc__}
    if real in (float, int):
        body["dtype"] = np.dtype(real)
    cls = Stand(real.__name__, (real,), body)
    _stands[real] = cls
    return cls


_stands: dict[type, type] = {}


def real_class(cls: Any) -> Any:
    """What a class stands for; any other class as it is."""
    return vars(cls).get(REAL, cls) if isinstance(cls, type) else cls


def pretended(item: Any) -> type | None:
    """The type that a traced value has in plain NumPy; None for anything else."""
    if isinstance(item, Scalar):
        return item.kind
    if isinstance(item, Tensor):
        return type(item._current().array)
    return None


def isinstance_(item: Any, classes: Any) -> bool:
    """isinstance() that takes a traced value for what it is in plain NumPy."""
    kind = pretended(item)
    if kind is None:
        return isinstance(item, classes)
    if isinstance(classes, types.UnionType):
        classes = classes.__args__
    if isinstance(classes, tuple):
        return any(isinstance_(item, c) for c in classes)
    return issubclass(kind, real_class(classes)) or isinstance(item, real_class(classes))


def _type(*args: Any, **kwargs: Any) -> Any:
    if len(args) != 1:
        return type(*args, **kwargs)
    kind = pretended(args[0]) or type(args[0])
    captures = active.captures
    return _stands.get(kind) or (captures.class_seen(kind) if captures is not None else kind)


# -- conversions -----------------------------------------------------------------------------------------------------


def _weaken(item: Any, kind: str) -> Any:
    if isinstance(item, Tensor) and item.ndim:
        if any(size != 1 for size in item.shape):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        item = item.reshape(())
    return emit("weaken", item, kind=kind)


def to_float(item: Any = 0.0, /) -> Any:
    """float() that keeps a traced value in the graph."""
    if active.captures is None or not is_traced(item):
        return float(item)
    return item if isinstance(item, Scalar) and item.kind is float else _weaken(item, "f")


def to_int(item: Any = 0, /, *args: Any, **kwargs: Any) -> Any:
    """int() that keeps a traced value in the graph."""
    if active.captures is None or not is_traced(item):
        return int(item, *args, **kwargs)
    return as_int(item) if isinstance(item, Scalar) else _weaken(item, "i")


def length(item: Any, /) -> Any:
    """len() that keeps the length of a traced array symbolic."""
    if isinstance(item, Tensor) and item.ndim and active.captures is not None:
        return item.shape[0]
    return len(item)


def rounded(number: Any, ndigits: Any = None) -> Any:
    """round() that keeps a traced value in the graph."""
    if active.captures is None or not is_traced(number) or (isinstance(number, Tensor) and number.ndim):
        return round(number) if ndigits is None else round(number, ndigits)
    if isinstance(number, Scalar) and number.kind is not float:
        return round(number)
    if ndigits is None:
        return to_int(emit("rint", number))
    result = np.round(number, ndigits)
    return _weaken(result, "f") if isinstance(number, Scalar) else result


def has_attribute(item: Any, name: str, /) -> bool:
    """hasattr() that asks a traced value what it has in plain NumPy; a Variable is what it is."""
    kind = None if hasattr(type(item), "__numtape_variable__") else pretended(item)
    return hasattr(item if kind is None else kind, name)


def _present(item: Any) -> Any:
    if type(item) in (tuple, list):
        return type(item)(map(_present, item))
    return item.present if isinstance(item, Scalar) else item


def printed(*args: Any, **kwargs: Any) -> None:
    """print() of the numbers of this run: what is printed becomes no key, so no length is guarded."""
    print(*map(_present, args), **kwargs)


# -- folds -----------------------------------------------------------------------------------------------------------


def total(iterable: Iterable[Any], /, start: Any = 0) -> Any:
    """sum() that is one operation on a traced array, whatever its length."""
    if not isinstance(iterable, Tensor) or active.captures is None or not iterable.ndim:
        return sum(iterable, start)
    if iterable.dtype.kind != "f" and iterable.dtype not in (np.int64, np.bool_):
        return sum(iterable, start)  # a narrow integer: NumPy's sum would widen it, Python's does not
    result: Any = np.sum(iterable, axis=0)
    return result if type(start) is int and start == 0 else start + result


def _whole(item: Any) -> bool:
    return type(item) is int or (isinstance(item, Scalar) and item.kind is int)


def _scalar(item: Any) -> bool:
    return type(item) in (int, float, bool) or (is_traced(item) and item.ndim == 0) or isinstance(item, np.generic)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    if not is_traced(condition):
        return a if condition else b
    return emit("where", condition, a, b)


def _extreme(real: Callable[..., Any], exact: Callable[..., Any], better: Callable[[Any, Any], Any]) -> Any:
    """max() and min(): the first of the best, as Python has it, without a branch."""

    def fold(a: Any, b: Any) -> Any:
        if _whole(a) and _whole(b):
            return as_user_size(exact(to_size(a), to_size(b), facts().bounds()))
        return _chosen(better(b, a), b, a)

    def choose(*args: Any, **kwargs: Any) -> Any:
        if active.captures is None or kwargs:
            return real(*args, **kwargs)
        items = args
        if len(args) == 1:
            if isinstance(args[0], Tensor) and args[0].ndim == 1:
                return _of_array(args[0], real)
            items = tuple(args[0])
        if items and has_traced(items) and all(map(_scalar, items)):
            return reduce(fold, items)
        return real(items) if len(args) == 1 else real(*args)

    return choose


def _of_array(x: Any, real: Callable[..., Any]) -> Any:
    if x.dtype.kind != "f":
        return np.max(x) if real is max else np.min(x)
    # Python's comparisons with nan are false: a nan stays only where it comes first
    best = np.nanmax(x) if real is max else np.nanmin(x)
    return emit("where", emit("isnan", x[0]), x[0], best)


def _truth(real: Callable[..., Any], whole: Callable[..., Any]) -> Callable[..., Any]:
    """any() and all(): one question about a traced array instead of one for each element."""

    def ask(iterable: Iterable[Any], /) -> Any:
        if isinstance(iterable, Tensor) and active.captures is not None and iterable.ndim == 1:
            return bool(whole(iterable))
        return real(iterable)

    return ask


# -- what would escape the copy --------------------------------------------------------------------------------------


def _no_eval(name: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if active.captures is None:
            return getattr(builtins, name)(*args, **kwargs)
        raise refuse(f"{name}() in a recorded function can't be followed", "Write the code out, or call a function.")

    return call


class Super:
    """super() whose methods are copies as well: looks a name up behind one class of the object's order."""

    def __init__(self, cls: type, item: Any) -> None:
        self.__dict__.update(__thisclass__=cls, __self__=item)

    def __getattribute__(self, name: str) -> Any:
        if name == "__dict__":
            return object.__getattribute__(self, name)
        cls, item = self.__dict__["__thisclass__"], self.__dict__["__self__"]
        captures = active.captures
        owner = item if isinstance(item, type) and issubclass(item, cls) else type(item)
        order = iter(owner.__mro__)
        next(definer for definer in order if definer is cls)  # by identity: a stand-in equals the class itself
        for definer in order:
            if name in vars(definer):
                raw = vars(definer)[name]
                if captures is not None and captures.is_users_name(definer.__module__):
                    raw = captures.member(definer, name, raw)
                bind = getattr(type(raw), "__get__", None)
                if isinstance(raw, staticmethod) or bind is None:
                    return raw.__func__ if isinstance(raw, staticmethod) else raw
                return bind(raw, None if owner is item else item, owner)
        return getattr(builtins.super(cls, item), name)


def super_(*args: Any) -> Any:
    """super(): without arguments it finds class and object where Python's own does, in the caller's frame."""
    if len(args) == 2:
        cls, item = args
    elif not args:
        frame = sys._getframe(1)
        code, inside = frame.f_code, frame.f_locals
        cls, item = inside["__class__"], inside[code.co_varnames[0]]
    else:
        return builtins.super(*args)
    return Super(real_class(cls), item)


def _import(name: str, globals_: Any = None, locals_: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    module = builtins.__import__(name, globals_, locals_, fromlist, level)
    captures = active.captures
    return module if captures is None else captures.capture(module, (("module", module.__name__),))


# -- math ------------------------------------------------------------------------------------------------------------

_RENAMED = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "fabs": "absolute", "degrees": "rad2deg", "radians": "deg2rad", "pow": "power",
}  # fmt: skip
_ROWS = {
    **{name: name for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log1p", "log2", "log10", "sqrt", "cbrt",
        "copysign", "fmod", "erf", "isnan", "isinf", "isfinite",
    )}, **_RENAMED,
}  # fmt: skip


def _log(x: Any, *base: Any) -> Any:
    return emit("log", x) if not base else emit("divide", emit("log", x), emit("log", *base))


def _hypot(*parts: Any) -> Any:
    return reduce(lambda a, b: emit("hypot", a, b), parts) if len(parts) > 1 else emit("absolute", *parts)


def _modf(x: Any) -> Any:
    whole = emit("trunc", x)
    rest = emit("where", emit("isinf", x), 0.0, emit("subtract", x, whole))
    return emit("copysign", rest, x), whole


_COMPOSED: dict[str, Callable[..., Any]] = {
    "log": _log, "hypot": _hypot, "modf": _modf, "ldexp": lambda x, i: emit("multiply", x, emit("exp2", i)),
    "floor": lambda x: to_int(emit("floor", x)), "ceil": lambda x: to_int(emit("ceil", x)),
    "trunc": lambda x: to_int(x), "fsum": lambda xs: total(xs, 0.0),
    "dist": lambda p, q: _hypot(*(a - b for a, b in zip(p, q, strict=True))),
    "sumprod": lambda p, q: total(a * b for a, b in zip(p, q, strict=True)),
    "prod": lambda xs, *, start=1: reduce(lambda a, b: a * b, xs, start),
}  # fmt: skip
_ON_INTEGERS = {"floor", "ceil", "trunc"}


def _as_float(item: Any) -> Any:
    """An argument of a math function, which takes everything for a Python float."""
    return to_float(item) if is_traced(item) else item


def math_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the module math that stays in the graph: its results are weak, as Python floats are."""
    name = function.__name__
    row, composed = _ROWS.get(name), _COMPOSED.get(name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if active.captures is None or not has_traced(args):
            return function(*args, **kwargs)
        if name in _ON_INTEGERS and _whole(args[0]):
            return args[0]
        if row is not None:
            return emit(row, *map(_as_float, args))
        if composed is not None:
            single = not isinstance(args[0], list | tuple | types.GeneratorType) and getattr(args[0], "ndim", 0) == 0
            return composed(*map(_as_float, args), **kwargs) if single else composed(*args, **kwargs)
        if all(_whole(a) or not is_traced(a) for a in args):
            return function(*args, **kwargs)  # gcd, comb and their kin: of these very numbers
        fix = "Use NumPy functions that are recorded, or move this line out of the function."
        raise refuse(f"math.{name} of a traced value has no recorded form", fix)

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = function  # type: ignore[attr-defined]
    return call


# -- the tables ------------------------------------------------------------------------------------------------------

FLOAT, INT = stand(float, to_float), stand(int, to_int)
TYPE = _stands[type] = Stand("type", (type,), {REAL: type, MADE: staticmethod(_type)})
BUILTINS: dict[str, Any] = {
    **vars(builtins),
    "float": FLOAT, "int": INT, "type": TYPE, "len": length, "round": rounded, "sum": total, "isinstance": isinstance_,
    "print": printed, "hasattr": has_attribute,
    "max": _extreme(max, dims.maximum, lambda b, a: b > a), "min": _extreme(min, dims.minimum, lambda b, a: b < a),
    "any": _truth(any, np.any), "all": _truth(all, np.all), "super": super_, "__import__": _import,
    "eval": _no_eval("eval"), "exec": _no_eval("exec"),
}  # fmt: skip
PYTHON: dict[Any, Any] = {
    **{getattr(builtins, name): BUILTINS[name] for name in (
        "float", "int", "type", "len", "round", "sum", "isinstance", "max", "min", "any", "all", "eval", "exec",
    )},
    **{f: math_function(f) for f in vars(math).values() if isinstance(f, types.BuiltinFunctionType)},
}  # fmt: skip
"""What stands for functions and classes of Python, however the user has named them."""
