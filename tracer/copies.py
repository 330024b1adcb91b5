"""Copies of functions: the same code with other globals, cells and defaults."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

from .codes import facts_of
from .containers import leaks
from .paths import is_plain
from .standins import BUILTINS, refuse

if TYPE_CHECKING:
    from .capture import Captures
    from .paths import Path

_OF_MODULE = ("__name__", "__package__", "__spec__", "__file__", "__loader__", "__doc__", "__path__", "__debug__")
_RETURN = "Return the value from the function, or keep it in an nt.Variable and assign that."


def _is_counter(value: Any) -> bool:
    """Whether a name that the body itself writes is state of the program rather than data."""
    return type(value) in (int, float)


class Globals(dict[str, Any]):
    """A module's globals as the copies see them: LOAD_GLOBAL asks a dict subclass's __missing__ for what it lacks.

    There are two for a module: functions that write globals have one of their own, in which the numbers that they
    write are plain. What is written goes to the module when the recording ends.
    """

    def __init__(self, real: dict[str, Any], captures: Captures, path: Path) -> None:
        super().__init__({name: real[name] for name in _OF_MODULE if name in real})
        self["__builtins__"] = BUILTINS
        self.real, self.captures, self.path = real, captures, path
        self.stored: dict[str, tuple[str, int]] = {}
        self.given: dict[str, Any] = {}

    def __missing__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        value = self.real[name]
        if name in self.stored and _is_counter(value):
            found = value
        else:
            found = self.captures.capture(value, (*self.path, ("global", name)))
        self[name] = self.given[name] = found
        return found

    def holds(self, name: str) -> bool:
        """Whether a name has been read or written here."""
        return super().__contains__(name)

    def __contains__(self, name: object) -> bool:
        if super().__contains__(name) or name in self.real:
            return True
        if name not in BUILTINS:
            self.captures.check((*self.path, ("inner", "__globals__")), "without", name)
        return False

    def get(self, name: str, default: Any = None) -> Any:
        """What ``globals().get(name)`` asks for."""
        try:
            return self[name]
        except KeyError:
            return default

    def settle(self, strict: bool) -> None:
        """Carry writes over to the module."""
        for name, (file, line) in self.stored.items():
            if self.holds(name) and self[name] is not self.given.get(name, self):
                value = self[name]
                if leaks(value):
                    if strict:
                        raise _leaked(f"the global `{name}`", file, line)
                    continue
                self.real[name] = self.captures.real(value)
                self.given[name] = value
            elif not self.holds(name) and name in self.given:
                self.real.pop(name, None)  # `del name`

    def restored(self, function: types.FunctionType) -> types.FunctionType:
        """A function that was made in a recording, with its module's own globals."""
        for cell in function.__closure__ or ():
            if _content(cell, None) is not None and leaks(cell.cell_contents):
                text = f"the function `{function.__name__}`, made while recording, keeps a traced value"
                raise refuse(text, "Return the value itself, or make the function outside.")
        made = types.FunctionType(
            function.__code__, self.real, function.__name__, function.__defaults__, function.__closure__
        )  # fmt: skip
        return _dressed(made, function, function.__kwdefaults__)


def _leaked(what: str, file: str, line: int) -> Exception:
    text = f"a traced value is written to {what}, where it would outlive the recording"
    return refuse(text, _RETURN, f"{file.rpartition('/')[2]}:{line}")


def _content(cell: types.CellType, default: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return default


class Cells:
    """The cells of copies: functions that share a cell share its copy."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[types.CellType, types.CellType]] = {}
        self._stored: dict[int, tuple[types.CellType, types.CellType, Any, str, str, int]] = {}

    def copy(self, real: types.CellType) -> tuple[types.CellType, bool]:
        """The copy of a cell, and whether it was made just now."""
        known = self._copies.get(id(real))
        if known is not None:
            return known[1], False
        made = types.CellType()
        self._copies[id(real)] = (real, made)
        return made, True

    def stores(self, real: types.CellType, made: types.CellType, name: str, file: str, line: int) -> None:
        """Note that a function writes a cell: its number is plain, and what is written is carried over."""
        value = _content(real, self)
        if _is_counter(value):
            made.cell_contents = value
        self._stored.setdefault(id(real), (real, made, _content(made, self), name, file, line))

    def settle(self, captures: Captures, strict: bool) -> None:
        """Carry writes over to the user's cells."""
        for key, (real, made, given, name, file, line) in self._stored.items():
            value = _content(made, self)
            if value is given or value is self:
                continue
            if leaks(value):
                if strict:
                    raise _leaked(f"the enclosing function's `{name}`", file, line)
                continue
            real.cell_contents = captures.real(value)
            self._stored[key] = (real, made, value, name, file, line)


def copy_function(captures: Captures, function: types.FunctionType, path: Path, library: bool = False) -> Any:
    """The copy of a function found at a path; the function itself where a copy would do the same.

    Of a library's function only the cells that hold functions are replaced: `contextmanager` and its kin.
    """
    code = function.__code__
    facts = facts_of(code)
    data = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if not facts.copied and all(map(is_plain, data)):
        return function
    closure = function.__closure__ or ()
    fresh: list[tuple[str, int, types.CellType, types.CellType]] = []
    cells = []
    for index, (name, real) in enumerate(zip(code.co_freevars, closure, strict=True)):
        inside = _content(real, captures)
        if inside is captures or name == "__class__" or (library and not isinstance(inside, types.FunctionType)):
            cells.append(real)  # empty as yet, what super() needs, or a library's own
            continue
        made, new = captures.cells.copy(real)
        cells.append(made)
        if new:
            fresh.append((name, index, real, made))
    scope = function.__globals__ if library else _scope(captures, function, path)
    copy = types.FunctionType(code, scope, function.__name__, function.__defaults__, tuple(cells))
    _dressed(copy, function, function.__kwdefaults__)
    captures.remember(function, copy, path)  # before the cells: a function may hold itself
    captures.codes.append(code)
    captures.counters |= facts.counters
    for name, index, real, made in fresh:
        made.cell_contents = captures.capture(real.cell_contents, (*path, ("cell", name, index)))
    for name, real, made in zip(code.co_freevars, closure, cells, strict=True):
        if name in facts.stored_cells and made is not real:
            captures.cells.stores(real, made, name, code.co_filename, facts.stored_cells[name])
    if path:
        _give_defaults(captures, function, copy, path)
    if isinstance(scope, Globals):
        for name in facts.body_names:
            if name in scope.real and not scope.holds(name):
                scope[name]  # a class body asks the dict itself, not __missing__
    return copy


def _scope(captures: Captures, function: types.FunctionType, path: Path) -> Globals:
    stored = facts_of(function.__code__).stored_globals
    key = (id(function.__globals__), bool(stored))
    scope = captures.globals.get(key)
    if scope is None:
        scope = captures.globals[key] = Globals(function.__globals__, captures, path)
    for name, line in stored.items():
        scope.stored.setdefault(name, (function.__code__.co_filename, line))
        if scope.holds(name) and _is_counter(scope.real.get(name)) and scope[name] is scope.given.get(name):
            del scope[name]  # read before it was known to be written
    return scope


def _dressed(copy: types.FunctionType, function: types.FunctionType, kwdefaults: Any) -> types.FunctionType:
    copy.__kwdefaults__ = kwdefaults
    copy.__dict__ = function.__dict__  # the same one: what the body notes on its function is the user's
    copy.__qualname__, copy.__module__, copy.__doc__ = function.__qualname__, function.__module__, function.__doc__
    copy.__annotations__ = function.__annotations__
    return copy


def _give_defaults(captures: Captures, function: types.FunctionType, copy: types.FunctionType, path: Path) -> None:
    """Defaults as hidden inputs; plain ones of a function that is made once belong to the program."""
    defaults, keywords = function.__defaults__, function.__kwdefaults__
    made_once = "<locals>" not in function.__qualname__
    code = function.__code__

    def fixed(values: Any) -> bool:
        return all(is_plain(v) or (made_once and isinstance(v, float | np.generic)) for v in values) and (
            made_once or not any(type(v) in (int, float) for v in values)
        )

    if defaults and fixed(defaults):
        captures.check((*path, ("inner", "__defaults__")), "like", defaults)
    elif defaults:
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]
        given = [captures.capture(v, (*path, ("default", i, names[i]))) for i, v in enumerate(defaults)]
        copy.__defaults__ = tuple(given)
    if keywords and fixed(keywords.values()):
        captures.check((*path, ("inner", "__kwdefaults__")), "like", keywords)
    elif keywords:
        copy.__kwdefaults__ = {k: captures.capture(v, (*path, ("kwdefault", k))) for k, v in keywords.items()}
