"""Captures: a recording runs a copy of the user's function whose cells, globals and attributes yield traced values.

So what the body reads from outside is a hidden input, read again at each call, and never a number frozen in. The copy
shares the code object: line numbers, recursion and side effects are the function's own.
"""

from __future__ import annotations

import dis
import functools
import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .library import is_users
from .objects import FrozenDict, FrozenList, holds_numbers, is_users_object, refuse_traced, shadow
from .paths import Path, Static, content_of, describe, resolve
from .standins import BUILTINS, MATH, ModuleStandin, NumpyStandin, RandomSource, original
from .values import is_traced

_ATOMS = (str, bytes, bool, type(None), complex, type, np.dtype, types.EllipsisType)
_CONTAINERS = (list, tuple, dict)


class Captures:
    """What one recording has read from outside its arguments.

    Parameters
    ----------
    lift : (path, value, label) -> Tensor or runtime scalar
        Makes a hidden input of an array or a number.
    constant : (array) -> Tensor
        Makes a constant of an array that the user's code spells out.
    """

    def __init__(self, lift: Callable[[Path, Any, str], Any], constant: Callable[[Any], Any]) -> None:
        self.lift = lift
        self.constant = constant
        self.paths: list[Path] = []
        self.statics: list[Static] = []
        self.stored: set[str] = set()  # attributes that the body itself writes: read as plain values
        self._seen: set[Path] = set()
        self._memo: dict[int, Any] = {}
        self._globals: dict[int, Globals] = {}
        self._inner: dict[int, Path] = {}  # functions that compiled functions wrap, and where they are found
        self._real: dict[int, Any] = {}  # stand-in -> what it stands for
        self._numpy = NumpyStandin(np, self)

    # -- what a value becomes ------------------------------------------------------------------------------------

    def hide(self, value: Any, path: Path) -> Any:
        """What the copy sees in place of a value that stands at a path."""
        kind = type(value)
        if is_traced(value):
            return self._traced(value, path)
        if isinstance(value, np.ndarray | np.generic) or kind is int or kind is float:
            if kind is int and not -(2**63) <= value < 2**63:
                return self._static(path, "equal", value)
            return self._input(value, path)
        if isinstance(value, _ATOMS) and not isinstance(value, type):
            return self._static(path, "equal", value)
        if isinstance(value, types.ModuleType):
            return self._module(value, path)
        if isinstance(value, types.FunctionType) and is_users(value):
            self._static(path, "code", value.__code__)
            return self.copy(value, path)
        if isinstance(value, types.MethodType):
            owner = self.hide(value.__self__, (*path, ("attr", "__self__")))
            return types.MethodType(self.copy(value.__func__, (*path, ("attr", "__func__"))), owner)
        if isinstance(value, functools.partial):
            return self._partial(value, path)
        if getattr(value, "__numtape_transform__", False):
            self._inner[id(value._function)] = (*path, ("attr", "_function"))
            return self._static(path, "key", value._key, value)
        if isinstance(value, _CONTAINERS):
            return self._container(value, path)
        if isinstance(value, np.random.Generator | np.random.RandomState) or type(value).__module__ == "random":
            return RandomSource(value)
        standin = self._numpy.standin(value)
        if standin is not value:
            return self._static(path, "same", value, standin)
        if is_users_object(value):
            return self._object(value, path)
        return self._static(path, "same", value)

    def _static(self, path: Path, how: str, expected: Any, value: Any = None) -> Any:
        if path not in self._seen and path:
            self._seen.add(path)
            self.statics.append(Static(path, how, expected))
        return expected if value is None else value

    def _traced(self, value: Any, path: Path) -> Any:
        if getattr(type(value), "__numtape_variable__", False):
            return self._static(path, "same", value)
        if value._read().trace is not None:
            return value
        return self._input(value, path)

    def _input(self, value: Any, path: Path) -> Any:
        key = ("input", path)
        if key not in self._memo:
            label = describe(path)
            self.paths.append(path)
            self._memo[key] = self.lift(path, value, label)  # type: ignore[index]
        return self._memo[key]  # type: ignore[index]

    def _module(self, module: types.ModuleType, path: Path) -> Any:
        if module is np:
            return self._numpy
        if module is math:
            return MATH
        if module.__name__.partition(".")[0] == "numpy":
            return NumpyStandin(module, self)
        if is_users(module):
            return ModuleStandin(module, lambda name, found: self.hide(found, (*path, ("attr", name))))
        return self._static(path, "same", module)

    def _partial(self, value: Any, path: Path) -> Any:
        function = self.hide(value.func, (*path, ("attr", "func")))
        args = [self.hide(a, (*path, ("attr", "args"), ("item", i))) for i, a in enumerate(value.args)]
        keywords = {k: self.hide(v, (*path, ("attr", "keywords"), ("item", k))) for k, v in value.keywords.items()}
        return functools.partial(function, *args, **keywords)

    def _container(self, value: Any, path: Path) -> Any:
        if not holds_numbers(value):
            # plain content: the body may count in it or append to it, so it gets the real object
            if path not in self._seen and path:
                self._seen.add(path)
                self.statics.append(Static(path, "content", content_of(value), value))
            return value
        if isinstance(value, dict):
            self._static(path, "keys", (type(value), tuple(value)))
            parts = {k: self.hide(v, (*path, ("item", k))) for k, v in value.items()}
            return FrozenDict(parts, describe(path))
        self._static(path, "length", (type(value), len(value)))
        items = [self.hide(v, (*path, ("item", i))) for i, v in enumerate(value)]
        if isinstance(value, list):
            return FrozenList(items, describe(path))
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)

    def _object(self, value: Any, path: Path) -> Any:
        """A stand-in of the object's own class: reads of arrays and numbers become inputs, methods are copies."""
        found = self._memo.get(id(value))
        if found is None:
            found = self._memo[id(value)] = shadow(self, value, path)
            self._real[id(found)] = value
            if path and path[0][0] != "arg":
                self._static(path, "same", value)
        return found

    # -- functions -----------------------------------------------------------------------------------------------

    def copy(self, function: Any, path: Path) -> Any:
        """The copy of a user's function, found at a path from the recorded function (which itself is at ())."""
        if not isinstance(function, types.FunctionType) or not is_users(function):
            return function
        if isinstance(function.__globals__, Globals):
            return function  # made inside the recording: it sees traced values already
        found = self._memo.get(id(function))
        if found is not None:
            return found
        code = function.__code__
        kept_cells, kept_globals = self._written(code)
        cells = tuple([types.CellType() for _ in code.co_freevars])
        real = function.__closure__ or ()
        cells = tuple([r if n in kept_cells else c for n, r, c in zip(code.co_freevars, real, cells, strict=True)])
        scope = self._globals.get(id(function.__globals__))
        if scope is None:
            scope = self._globals[id(function.__globals__)] = Globals(function.__globals__, self, path)
        scope.plain |= kept_globals
        copied = types.FunctionType(code, scope, function.__name__, function.__defaults__, cells)
        self._memo[id(function)] = copied
        self._real[id(copied)] = function
        for name, source, cell in zip(code.co_freevars, real, cells, strict=True):
            if name not in kept_cells:
                try:
                    inside = source.cell_contents
                except ValueError:  # a cell that is filled later, such as a recursive definition's
                    continue
                cell.cell_contents = self.hide(inside, (*path, ("cell", name)))
        if path:
            copied.__defaults__ = self._defaults(function.__defaults__, path)
            copied.__kwdefaults__ = self._keyword_defaults(function.__kwdefaults__, path)
        else:
            copied.__kwdefaults__ = function.__kwdefaults__
        copied.__dict__.update(function.__dict__)
        copied.__qualname__ = function.__qualname__
        return copied

    def _defaults(self, defaults: tuple[Any, ...] | None, path: Path) -> tuple[Any, ...] | None:
        if defaults is None:
            return None
        return tuple([self._default(v, (*path, ("default", i))) for i, v in enumerate(defaults)])

    def _keyword_defaults(self, defaults: dict[str, Any] | None, path: Path) -> dict[str, Any] | None:
        if defaults is None:
            return None
        return {k: self._default(v, (*path, ("kwdefault", k))) for k, v in defaults.items()}

    def _default(self, value: Any, path: Path) -> Any:
        # a number among the defaults belongs to the program; only another function object brings another one
        if type(value) in (int, float):
            return self._static(path, "equal", value)
        return self.hide(value, path)

    def _written(self, code: types.CodeType) -> tuple[set[str], set[str]]:
        """Closure and global names that the code itself writes; attributes go into `stored`."""
        cells: set[str] = set()
        scope: set[str] = set()
        free = set(code.co_freevars)
        for instruction in dis.get_instructions(code):
            match instruction.opname:
                case "STORE_DEREF" | "DELETE_DEREF" if instruction.argval in free:
                    cells.add(instruction.argval)
                case "STORE_GLOBAL" | "DELETE_GLOBAL":
                    scope.add(instruction.argval)
                case "STORE_ATTR":
                    self.stored.add(instruction.argval)
        for part in code.co_consts:
            if isinstance(part, types.CodeType):
                inner_cells, inner_scope = self._written(part)
                cells |= inner_cells & free
                scope |= inner_scope
        return cells, scope

    def inline(self, function: Any) -> Any:
        """The copy of a function that a compiled function wraps, where that one is called inside this recording."""
        path = self._inner.get(id(function))
        return instrument_at(function, self, () if path is None else path)

    # -- arguments and results -----------------------------------------------------------------------------------

    def argument(self, index: int, leaf: Any) -> Any:
        """What the body sees of a static argument."""
        if isinstance(leaf, _ATOMS) or type(leaf) in (int, float):
            return leaf
        return self.hide(leaf, (("arg", index),))

    def plain(self, leaf: Any) -> Any:
        """A leaf of the result with stand-ins replaced by what they stand for."""
        return original(self._real.get(id(leaf), leaf))

    def finish(self) -> None:
        """After the run: globals that the body wrote are handed on; containers that it changed are its own state."""
        for scope in self._globals.values():
            scope.settle()
        self.statics = [s for s in self.statics if s.how != "content" or content_of(s.item) == s.expected]

    # -- at a call -----------------------------------------------------------------------------------------------

    @property
    def free(self) -> bool:
        return not self.paths and not self.statics

    def label(self, index: int) -> str:
        """How the user writes a captured value."""
        return describe(self.paths[index])

    def reader(self) -> Callable[[Any, Sequence[Any]], Any]:
        """Reads all captured values at a call; a tuple (label, before, after) says what no longer fits."""
        paths, statics = tuple(self.paths), tuple(self.statics)
        if not paths and not statics:
            return lambda function, leaves: []

        def read(function: Any, leaves: Sequence[Any]) -> Any:
            known: dict[Path, Any] = {(): function}
            for static in statics:
                try:
                    found = resolve(function, leaves, static.path, known)
                except (AttributeError, KeyError, IndexError, ValueError, TypeError):
                    return describe(static.path), static.text(static.expected), "gone"
                if not static.holds(found):
                    return describe(static.path), static.text(static.expected), static.text(static.of(found))
            out = []
            for path in paths:
                try:
                    out.append(resolve(function, leaves, path, known))
                except (AttributeError, KeyError, IndexError, ValueError, TypeError):
                    return describe(path), "a value", "gone"
            return out

        return read


class Globals(dict[str, Any]):
    """A module's globals as the copies see them: read through, live. LOAD_GLOBAL asks a dict subclass's __getitem__."""

    def __init__(self, real: dict[str, Any], captures: Captures, path: Path) -> None:
        super().__init__(real)
        self["__builtins__"] = BUILTINS
        self.real, self.captures, self.path = real, captures, path
        self.plain: set[str] = set()
        self.cache: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name in self.plain or name.startswith("__"):
            # STORE_GLOBAL writes into this dict itself; `settle` hands it on to the module
            return super().__getitem__(name)
        if name not in self.cache:
            self.cache[name] = self.captures.hide(self.real[name], (*self.path, ("global", name)))
        return self.cache[name]

    def settle(self) -> None:
        """Carry what the body wrote into its globals over to the module."""
        for name in self.plain:
            if name not in self:
                self.real.pop(name, None)
                continue
            value = super().__getitem__(name)
            refuse_traced(value, f"the global {name}")
            self.real[name] = self.captures.plain(value)


def instrument(function: Callable[..., Any], captures: Captures) -> Callable[..., Any]:
    """The copy of the recorded function itself, whose captured values are hidden inputs."""
    return instrument_at(function, captures, ())


def instrument_at(function: Any, captures: Captures, path: Path) -> Any:
    """The copy of a function that is found at a path from the recorded one."""
    if isinstance(function, types.FunctionType):
        return captures.copy(function, path)
    if getattr(function, "__numtape_transform__", False):
        return function
    if isinstance(function, types.MethodType | functools.partial) or is_users_object(function):
        return captures.hide(function, path)
    return function
