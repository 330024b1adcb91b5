"""Stand-ins that the copies of a user's functions see for `np`, `math`, `len`, `int`, `float` and their kin."""

from __future__ import annotations

import builtins
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from .context import user_loc
from .errors import CaptureError, layout
from .scalar import Scalar, as_int
from .tensor import Tensor
from .values import emit, has_traced, is_traced

_UFUNC_OF_MATH = {
    "fabs": "absolute", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh", "degrees": "rad2deg", "radians": "deg2rad", "pow": "power",
}  # fmt: skip
_DIRECT_MATH = (
    "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log1p", "log2", "log10", "sqrt", "cbrt", "exp2",
    "hypot", "fmod", "copysign", "isnan", "isinf", "isfinite", "erf",
)  # fmt: skip


class RandomSource:
    """A captured random generator: a draw would be frozen into the compiled function, so it is refused."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        _refuse_draw(name)


def _refuse_draw(name: str) -> None:
    text = f"the function draws random numbers ({name})"
    fix = "They would be drawn once, while recording. Draw them outside and pass them in as arguments."
    raise CaptureError(layout(text, str(user_loc()), fix=fix))


class ModuleStandin:
    """A module of the user's own: what is read from it is captured."""

    def __init__(self, module: types.ModuleType, hide: Callable[[str, Any], Any]) -> None:
        self.__dict__["_module"], self.__dict__["_hide"] = module, hide

    def __getattr__(self, name: str) -> Any:
        found = self._hide(name, getattr(self._module, name))
        self.__dict__[name] = found
        return found


class NumpyStandin:
    """NumPy, or a submodule of it, as the user's code sees it: functions that make arrays make traced ones."""

    def __init__(self, module: types.ModuleType, captures: Any) -> None:
        self.__dict__.update(_module=module, _captures=captures)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if self._module is np.random and callable(found) and name not in ("default_rng", "Generator", "SeedSequence"):
            return lambda *args, **kwargs: _refuse_draw(f"np.random.{name}")
        if isinstance(found, types.ModuleType):
            made: Any = NumpyStandin(found, self._captures)
        elif found is np.ndarray:
            made = ARRAY
        else:
            made = self.standin(found)
        self.__dict__[name] = made
        return made

    def standin(self, function: Any) -> Any:
        """What stands for one of NumPy's functions; anything else comes back as it is."""
        if isinstance(function, type) or not callable(function):
            return function
        if isinstance(function, np.ufunc):
            return function
        module = getattr(function, "__module__", None) or ""
        if module.partition(".")[0] != "numpy":
            return function
        return _NumpyFunction(function, self._captures)

    def __setattr__(self, name: str, value: Any) -> None:
        raise CaptureError(layout("the function writes into the module numpy", fix="Keep the value in a variable."))

    def __repr__(self) -> str:
        return repr(self._module)


class _NumpyFunction:
    """One of NumPy's functions inside a recording."""

    def __init__(self, function: Callable[..., Any], captures: Any) -> None:
        self._function, self._captures = function, captures
        self.__name__ = getattr(function, "__name__", "function")
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .numpy_api import CREATION, call_function

        handler = CREATION.get(self._function)
        if handler is not None:
            return handler(*args, **kwargs)
        if has_traced(args) or has_traced(kwargs):
            return call_function(self._function, args, kwargs)
        result = self._function(*args, **kwargs)
        if has_traced(result):
            return result
        return _constants(result, self._captures.constant)

    def __repr__(self) -> str:
        return repr(self._function)


def _constants(item: Any, constant: Callable[[Any], Any]) -> Any:
    """Arrays that NumPy made of literals, as constants of the recording."""
    if type(item) is np.ndarray and item.dtype.kind in "biuf":
        return constant(item)
    if type(item) in (list, tuple):
        return type(item)(_constants(part, constant) for part in item)
    return item


def original(item: Any) -> Any:
    """What a stand-in stands for; anything else comes back as it is."""
    if isinstance(item, _NumpyFunction):
        return item._function
    if isinstance(item, NumpyStandin | ModuleStandin):
        return item.__dict__["_module"]
    if isinstance(item, RandomSource):
        return item._real
    if isinstance(item, _Class):
        return item.real
    return item


class MathStandin:
    """The module math: on traced values its functions are recorded; a runtime scalar stays one."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(math, name)
        made = found if not callable(found) else _math_function(name, found)
        self.__dict__[name] = made
        return made


def _math_function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    ufunc = _UFUNC_OF_MATH.get(name, name if name in _DIRECT_MATH else None)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_traced(args):
            return function(*args, **kwargs)
        if name in ("floor", "ceil", "trunc"):
            return getattr(_as_scalar(args[0]), f"__{name}__")() if name != "trunc" else n_int(args[0])
        if name == "log":
            if len(args) == 2:
                return call(args[0]) / call(args[1])
            return _weak("log", *args)
        if name == "prod" or name == "fsum":
            total: Any = 1 if name == "prod" else 0.0
            for part in args[0]:
                total = total * part if name == "prod" else total + part
            return total
        if ufunc is None:
            text = f"math.{name} of a traced value is not recorded"
            raise CaptureError(layout(text, str(user_loc()), fix="Use the NumPy function of that meaning."))
        return _weak(ufunc, *args)

    return call


def _as_scalar(item: Any) -> Any:
    return item if isinstance(item, Scalar) else emit("weaken", item, kind="f" if item.dtype.kind == "f" else "i")


def _weak(name: str, *args: Any) -> Any:
    """A function of Python floats: the result is a Python float too, and keeps its derivatives."""
    return emit(name, *[_as_scalar(a) if is_traced(a) else a for a in args])


# -- builtins ------------------------------------------------------------------------------------------------------


def n_len(item: Any) -> Any:
    """len() that keeps the length of a traced array symbolic."""
    if isinstance(item, Tensor) and item.ndim:
        return item.shape[0]
    return len(item)


class _Class(type):
    """The class of stand-ins for int, float and ndarray: isinstance asks for the real one and for traced values."""

    real: type

    def __instancecheck__(cls, item: Any) -> bool:
        if isinstance(item, Scalar):
            return issubclass(item.kind, cls.real)
        if isinstance(item, Tensor):
            return cls.real is np.ndarray
        return isinstance(item, cls.real)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.real)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is cls.real

    def __hash__(cls) -> int:
        return hash(cls.real)

    def __repr__(cls) -> str:
        return repr(cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)

    def __or__(cls, other: Any) -> Any:
        return cls.real | original(other)

    def __ror__(cls, other: Any) -> Any:
        return original(other) | cls.real


class n_float(metaclass=_Class):
    """float() that keeps a traced value in the graph."""

    real = float
    dtype = np.dtype(float)

    def __new__(cls, item: Any = 0.0) -> Any:
        if isinstance(item, Tensor):
            if item.ndim and all(s == 1 for s in item.shape):
                item = item.reshape(())
            return emit("weaken", item, kind="f")
        if isinstance(item, Scalar):
            return item if item.kind is float else emit("weaken", item, kind="f")
        return float(item)


class n_int(metaclass=_Class):
    """int() that keeps a traced value in the graph."""

    real = int
    dtype = np.dtype(int)

    def __new__(cls, item: Any = 0, *base: Any) -> Any:
        if isinstance(item, Tensor):
            return emit("weaken", item, kind="i")
        if isinstance(item, Scalar):
            return as_int(item)
        return int(item, *base)


class ARRAY(metaclass=_Class):
    """np.ndarray: traced arrays are instances of it."""

    real = np.ndarray

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return np.ndarray(*args, **kwargs)


BUILTINS: dict[str, Any] = {**vars(builtins), "len": n_len, "float": n_float, "int": n_int}
MATH = MathStandin()
