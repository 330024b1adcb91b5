"""Stand-ins for NumPy and SciPy in a recording: what they make of literals is a constant of the recorded program.

`np.zeros(n)` and `np.array([x, y])` never ask a traced value what to do, so here they call the recorded form at once.
Random draws are refused: a compiled call would not repeat them.
"""

from __future__ import annotations

import itertools
import random
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .library import public_module
from .standins import PYTHON, REAL, active, refuse, stand
from .types import SHORT
from .values import attempt, has_traced, is_traced

_LITERALS = (
    bool, int, float, complex, str, bytes, type(None), types.EllipsisType, slice, range, type, np.dtype,
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, np.ufunc,
)  # fmt: skip
_EXACT = {"numpy", "numpy.linalg", "numpy.fft", "numpy.random", "scipy", "scipy.special", "scipy.linalg", "scipy.fft"}
_FILES = {"load", "loadtxt", "genfromtxt", "fromfile", "memmap", "fromregex", "open_memmap"}


def _literal(item: Any) -> bool:
    """Whether a value is spelled out in the program: the same at each call."""
    if isinstance(item, list | tuple | set | frozenset):
        return all(map(_literal, item))
    if isinstance(item, dict):
        return all(map(_literal, item.values()))
    return isinstance(item, _LITERALS) and not isinstance(item, np.generic)


def blessed(result: Any) -> Any:
    """What a function made of literals, as constants of the recording."""
    captures = active.captures
    if captures is None:
        return result
    if isinstance(result, np.ndarray | np.generic):
        known = type(result) is np.ndarray or isinstance(result, np.generic)
        return captures.constant(result) if known and result.dtype.name in SHORT else result
    if type(result) in (list, tuple):
        return type(result)(map(blessed, result))
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*map(blessed, result))
    return result


class Function:
    """A function or ufunc of NumPy or SciPy as the user's code sees it."""

    def __init__(self, real: Any, method: str = "") -> None:
        self.__dict__.update(_real=real, _method=method, __wrapped__=getattr(real, method) if method else real)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.__wrapped__
        if active.captures is None:
            return function(*args, **kwargs)
        if has_traced(args) or has_traced(kwargs):
            return self._recorded(args, kwargs)
        if not (_literal(args) and _literal(kwargs)):
            return function(*args, **kwargs)
        if function in _creation() and function not in _FROM_VALUES:
            return _creation()[function](*args, **kwargs)
        result = function(*args, **kwargs)
        return result if self._real.__name__ in _FILES else blessed(result)

    def _recorded(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from .numpy_api import FUNCTIONS, FUNCTIONS_BY_NAME, call_function, call_ufunc

        real = self._real
        if isinstance(real, np.ufunc):
            if self._method or not any(map(is_traced, args)):
                return attempt(call_ufunc, real, self._method or "__call__", args, kwargs)
            return real(*args, **kwargs)
        if real in _creation():
            return attempt(_creation()[real], *args, **kwargs)
        if real in FUNCTIONS or (public_module(real), real.__name__) in FUNCTIONS_BY_NAME:
            return call_function(real, args, kwargs)
        return real(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__["_real"]
        if isinstance(real, np.ufunc) and name in ("reduce", "accumulate", "reduceat", "outer", "at"):
            return Function(real, name)
        return getattr(real, name)

    def __eq__(self, other: object) -> bool:
        return other is self or (not self._method and other is self._real)

    def __hash__(self) -> int:
        return hash(self._real)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _creation() -> dict[Any, Callable[..., Any]]:
    from .numpy_api import CREATION

    return CREATION


# of literals, these are what NumPy makes of them; of traced values, their handlers stack
_FROM_VALUES = {np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.copy}


# -- what has no single handler --------------------------------------------------------------------------------------


def _isscalar(element: Any) -> bool:
    return element.ndim == 0 if is_traced(element) else np.isscalar(element)


def _fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    items = list(iter if count < 0 else itertools.islice(iter, count))
    return _ARRAY(items, dtype)


def _fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **rest: Any
) -> Any:
    return function(*_INDICES(shape, dtype=dtype), **rest)


def _ndindex(*shape: Any) -> Iterator[tuple[int, ...]]:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return itertools.product(*map(range, sizes))


def _ndenumerate(x: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    return ((place, x[place]) for place in _ndindex(*np.shape(x)))


class _Limits:
    """np.finfo and np.iinfo whose numbers are constants of the recording."""

    def __init__(self, info: Any) -> None:
        self._info = info

    def __getattr__(self, name: str) -> Any:
        return blessed(getattr(self._info, name))


def _finfo(dtype: Any) -> Any:
    return _Limits(np.finfo(dtype.dtype if is_traced(dtype) else dtype))


def _iinfo(dtype: Any) -> Any:
    return _Limits(np.iinfo(dtype.dtype if is_traced(dtype) else dtype))


class _Rows:
    """np.r_ and np.c_ for numbers, arrays and slices."""

    def __init__(self, real: Any, columns: bool) -> None:
        self._real, self._columns = real, columns

    def __getitem__(self, key: Any) -> Any:
        if active.captures is None:
            return self._real[key]
        parts = key if isinstance(key, tuple) else (key,)
        if any(isinstance(p, str) or (isinstance(p, slice) and isinstance(p.step, complex)) for p in parts):
            return blessed(self._real[key])
        arrays = [self._part(p) for p in parts]
        if self._columns:
            arrays = [a[:, None] if a.ndim == 1 else a for a in arrays]
        return np.concatenate(arrays, axis=-1 if self._columns else 0)

    def _part(self, part: Any) -> Any:
        if isinstance(part, slice):
            return _ARANGE(part.start or 0, part.stop, 1 if part.step is None else part.step)
        return np.atleast_1d(part if is_traced(part) else _ARRAY(part))


class _Grid:
    """np.mgrid and np.ogrid for slices with whole or traced steps."""

    def __init__(self, real: Any, sparse: bool) -> None:
        self._real, self._sparse = real, sparse

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        if active.captures is None or not has_traced([[p.start, p.stop, p.step] for p in parts]):
            return blessed(self._real[key])
        ranges = [_ARANGE(p.start or 0, p.stop, 1 if p.step is None else p.step) for p in parts]
        if not isinstance(key, tuple):
            return ranges[0]
        grids = np.meshgrid(*ranges, indexing="ij", sparse=self._sparse)
        return tuple(grids) if self._sparse else np.stack(grids)


# -- random numbers --------------------------------------------------------------------------------------------------


def _drawn(name: str) -> Callable[..., Any]:
    def draw(*args: Any, **kwargs: Any) -> Any:
        fix = "A compiled call would not draw again. Pass the draws in as arguments."
        raise refuse(f"{name} advances random state inside a recorded function", fix)

    return draw


class Generator:
    """A random generator that the body may not draw from; or, with a seed spelled out, whose draws are constants."""

    def __init__(self, real: Any, seeded: bool = False) -> None:
        self.__dict__.update(_real=real, _seeded=seeded)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if active.captures is None or not callable(found):
            return found
        if not self._seeded:
            return _drawn(f"{type(self._real).__name__}.{name}")

        def draw(*args: Any, **kwargs: Any) -> Any:
            result = found(*args, **kwargs)
            return blessed(result) if _literal(args) and _literal(kwargs) else result

        return draw

    def __setattr__(self, name: str, value: Any) -> None:
        _drawn(f"{type(self._real).__name__}.{name}")()


def _seeded(real: Callable[..., Any]) -> Callable[..., Any]:
    def make(*args: Any, **kwargs: Any) -> Any:
        if active.captures is None:
            return real(*args, **kwargs)
        given = [*args, *kwargs.values()]
        if not given or given[0] is None or not _literal(given):
            _drawn(f"{real.__name__} without a seed that is spelled out")()
        return Generator(real(*args, **kwargs), True)

    return make


def _generators() -> tuple[type, ...]:
    """The classes of random generators; numpy.random is not imported for their sake."""
    module = sys.modules.get("numpy.random")
    if module is None:
        return (random.Random,)
    return (module.Generator, module.RandomState, module.BitGenerator, random.Random)


def _by_hand(item: Any) -> Any:
    """The stand-in of an object that has one of its own, or None."""
    module = sys.modules.get("numpy.random")
    if module is not None and module.default_rng not in _HAND_MADE:
        for real in (module.default_rng, module.RandomState):
            _HAND_MADE[real] = made = _seeded(real)
            _ORIGINALS[id(made)] = real
            _KINDS.add(type(real))
    return _HAND_MADE.get(item) if type(item) in _KINDS else None


_DRAWING = {"numpy.random": "np.random", "random": "random"}


# -- modules ---------------------------------------------------------------------------------------------------------


class Module(types.ModuleType):
    """NumPy, SciPy, math or random, or a part of one, as the user's code sees it."""

    def __init__(self, real: types.ModuleType) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__[REAL] = real

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__[REAL]
        found = getattr(real, name)
        made = None
        if real.__name__ in _DRAWING and not isinstance(found, type | types.ModuleType) and callable(found):
            made = _by_hand(found)
            if made is None and not name.startswith("_"):
                made = _drawn(f"{_DRAWING[real.__name__]}.{name}")
        made = standin(found) if made is None else made
        self.__dict__[name] = made
        return made

    def __setattr__(self, name: str, value: Any) -> None:
        if active.captures is not None:
            raise refuse(f"the function writes into the module {self.__name__}", "Keep the value in a variable.")
        setattr(self.__dict__[REAL], name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__[REAL])

    def __repr__(self) -> str:
        return repr(self.__dict__[REAL])


_modules: dict[types.ModuleType, Module] = {}


def _module(module: types.ModuleType) -> types.ModuleType:
    top, name = module.__name__.partition(".")[0], module.__name__
    if name in ("math", "random") or name in _EXACT or top == "scipy" or name.startswith("numpy.lib"):
        if module not in _modules:
            _modules[module] = Module(module)
        return _modules[module]
    return module


def standin(item: Any) -> Any:
    """What stands for an object of Python, NumPy or SciPy; anything else as it is."""
    if isinstance(item, types.ModuleType):
        return _module(item)
    if isinstance(item, _generators()):
        return Generator(item)
    found = _by_hand(item)
    if found is not None:
        return found
    if isinstance(item, type):
        return item
    if isinstance(item, types.BuiltinMethodType | types.MethodType) and isinstance(item.__self__, _generators()):
        return _drawn(item.__name__)
    if isinstance(item, np.ufunc) or _is_library_function(item):
        made = _functions[item] = _functions.get(item) or Function(item)
        return made
    return item


_functions: dict[Any, Function] = {}


def _is_library_function(item: Any) -> bool:
    if not isinstance(item, types.FunctionType | types.BuiltinFunctionType | type(np.sum)):
        return False
    return (item.__module__ or "").partition(".")[0] in ("numpy", "scipy")


def _scalar_type(real: Any) -> Any:
    """A stand-in for np.float32 and its kin: called on a literal it makes a constant, on a traced value it casts."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if active.captures is None or not has_traced(args):
            return blessed(real(*args, **kwargs)) if _literal(args) else real(*args, **kwargs)
        return _ARRAY(args[0], real)

    return stand(real, make)


_ARRAY, _ARANGE, _INDICES = Function(np.array), Function(np.arange), Function(np.indices)
_HAND_MADE: dict[Any, Any] = {
    **PYTHON, np.isscalar: _isscalar, np.fromiter: _fromiter, np.fromfunction: _fromfunction, np.ndindex: _ndindex,
    np.ndenumerate: _ndenumerate, np.finfo: _finfo, np.iinfo: _iinfo,
    np.r_: _Rows(np.r_, False), np.c_: _Rows(np.c_, True), np.mgrid: _Grid(np.mgrid, False),
    np.ogrid: _Grid(np.ogrid, True),
}  # fmt: skip
_HAND_MADE.update({t: _scalar_type(t) for t in {*np.sctypeDict.values()} if np.dtype(t).name in SHORT})
_HAND_MADE[np.ndarray] = stand(np.ndarray, np.ndarray)
_KINDS = set(map(type, _HAND_MADE))  # nothing else is asked for its hash
_ORIGINALS: dict[int, Any] = {id(made): real for real, made in _HAND_MADE.items()}


def original(item: Any) -> Any:
    """What a stand-in stands for; anything else as it is."""
    if isinstance(item, Function):
        return item.__wrapped__
    if isinstance(item, Module):
        return item.__dict__[REAL]
    if isinstance(item, Generator) and not item.__dict__["_seeded"]:
        return item.__dict__["_real"]
    return _ORIGINALS.get(id(item), item)
