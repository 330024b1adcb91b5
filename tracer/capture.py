"""Captures: a recording runs a copy of the user's function whose cells, globals and attributes yield traced values.

So what the body reads from outside is a hidden input, read again at each call, and never a number frozen in. The copy
shares the code object: line numbers, recursion and side effects are the function's own.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import objects
from .codes import line_of_change, positional_name
from .containers import Handed, captured_container, is_container, leaks, settle
from .context import context
from .copies import Cells, Globals, copy_function
from .dims import WHOLE
from .library import is_users_function, is_users_name, root_package
from .numpy_standins import standin
from .paths import Check, Path, Reader, alike, describe, is_constant, is_plain, numbers_of
from .readers import Given, compile_call, compile_reader
from .results import Body, real_value
from .scalar import Scalar
from .standins import active, real_class, refuse
from .tensor import Tensor

_METHODS = (types.MethodType, types.BuiltinMethodType)


class _IsTransform(type):
    def __instancecheck__(cls, item: Any) -> bool:
        return hasattr(type(item), "__numtape_transform__")


class _Transform(metaclass=_IsTransform):
    """What `jit` and its kin return, known by its mark: they live above the tracer."""

    _function: Any
    _key: Any


class Captures:
    """What one recording has read from outside its arguments.

    Parameters
    ----------
    lift : (path, value, label) -> Tensor or runtime scalar
        Makes a hidden input of an array, a number or a Tensor.
    constant : (array) -> Tensor
        Makes a constant of an array that the user's code spells out.
    """

    def __init__(self, lift: Callable[[Path, Any, str], Any], constant: Callable[[Any], Any]) -> None:
        self._lift: Callable[[Path, Any, str], Any] | None = lift
        self.constant = constant
        self.inputs: list[Path] = []
        self.handed: list[Handed] = []
        self.watched: list[tuple[Any, Path, dict[str, Any]]] = []
        self.settled: list[Check] = []  # checks of containers that the body only read, known when it has ended
        self.home = ""  # the package of the recorded function: all of it is the user's
        self.codes: list[types.CodeType] = []  # of the copies, to find the line of a write
        self.counters: set[str] = set()  # attributes that the copies count up
        self.globals: dict[tuple[int, bool], Globals] = {}
        self.cells = Cells()
        self._log: list[Path | Check] = []
        self._known: dict[int, tuple[Any, Any, Path]] = {}  # id -> the object, what stands for it, where it was found
        self._real: dict[int, tuple[Any, Any]] = {}  # id of a stand-in -> the stand-in, what it stands for
        self._members: dict[tuple[type, str], tuple[Any, Any]] = {}
        self._inner: dict[int, Path] = {}  # functions that transforms wrap
        self._root: Any = None
        self.describe = describe

    # -- what a value becomes --------------------------------------------------------------------------------------

    def capture(self, value: Any, path: Path) -> Any:
        """What the copy sees in place of a value that stands at a path."""
        if self._lift is None:
            return value  # a copy that has outlived its recording
        kind = type(value)
        if kind is float or (kind is int and value in WHOLE):
            return self._input(value, path)
        if is_constant(value):
            self.check(path, "like", value)
            return value
        if isinstance(value, np.generic):
            self._refuse_unfit(value.dtype, path)
            return self._input(value, path)
        known = self._known.get(id(value))
        if known is not None and known[0] is value:
            if known[2] != path:
                self.check(path, "same", known[2])
            return known[1]
        given = self._given(value, path)
        self.remember(value, given, path)
        return given

    def remember(self, value: Any, given: Any, path: Path) -> None:
        """Hand out one stand-in for one object, wherever it is found again."""
        self._known[id(value)] = (value, given, path)
        if given is not value and not isinstance(given, Tensor):
            self._real[id(given)] = (given, value)

    def check(self, path: Path, kind: str, expected: Any) -> None:
        """Note what must hold at a call for this recording to be valid."""
        self._log.append(Check(path, kind, expected))

    def grown(self, path: Path) -> None:
        """Note that the body itself adds to a container, so that its size at a call says nothing."""
        inside = (path, (*path, ("inner", "__dict__")))
        sizes = [i for i in self._log if isinstance(i, Check) and i.path in inside and i.kind in ("len", "keys")]
        self._log = [i for i in self._log if i not in sizes]

    def lacks(self, path: Path, name: str) -> None:
        """Note that the body asked for an attribute that is not there."""
        self.check(path, "lacks", name)

    def _input(self, value: Any, path: Path) -> Any:
        assert self._lift is not None
        given = self._lift(path, value, describe(path))
        self.inputs.append(path)
        self._log.append(path)
        return given

    def _given(self, value: Any, path: Path) -> Any:
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        if isinstance(value, Tensor | Scalar):
            return self._traced(value, path)
        if isinstance(value, _Transform):
            return self._transform(value, path)
        if isinstance(value, types.FunctionType):
            return self._function(value, path)
        if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType | _Transform):
            function = self.capture(value.__func__, (*path, ("inner", "__func__")))
            return types.MethodType(function, self.capture(value.__self__, (*path, ("self",))))
        if isinstance(value, functools.partial):
            return self._partial(value, path)
        if isinstance(value, types.BuiltinMethodType) and isinstance(value.__self__, np.ndarray):
            return getattr(self.capture(value.__self__, (*path, ("self",))), value.__name__)
        found = standin(value)
        if found is not value or isinstance(value, types.MethodType):
            # a method is another object each time; one of compiled code must keep the object that it knows
            self.check(path, "like" if isinstance(value, _METHODS) else "is", value)
            return found
        inner = _wrapped(value)
        if inner:
            return self.capture(getattr(value, inner), (*path, ("inner", inner)))
        if isinstance(value, type):
            self.check(path, "is", value)
            return self.class_seen(value)
        if is_container(value):
            return captured_container(self, value, path)
        if isinstance(value, types.ModuleType):
            self.check(path, "is", value)
            return objects.UserModule(self, value, path) if self.is_users_name(value.__name__) else value
        if self.is_users_name(type(value).__module__):
            given = objects.object_standin(self, value, path)
            self.check(path, "type" if given is not value else "is", type(value) if given is not value else value)
            if given is value:
                self.watch(value, path)
            return given
        self.check(path, "is", value)
        if _is_iterator(value):
            text = f"the function reads on in the iterator `{describe(path)}`, which a compiled call would not move"
            raise refuse(text, "Take the values outside and pass them in as arguments.")
        self.watch(value, path)
        return value

    def watch(self, value: Any, path: Path) -> None:
        """Note the numbers of an object that the copy gets as it is: its attributes are read without being captured."""
        if hasattr(value, "__dict__") and not isinstance(value, types.ModuleType | type | types.FunctionType):
            self.watched.append((value, path, numbers_of(value)))

    def _array(self, value: Any, path: Path) -> Any:
        if type(value) is not np.ndarray and not isinstance(value, np.memmap):
            text = f"`{describe(path)}` is a {type(value).__module__}.{type(value).__name__}, not a plain array"
            raise refuse(text, "Capture np.asarray(x) of it, or the parts of it that the function needs.")
        self._refuse_unfit(value.dtype, path)
        return self._input(value, path)

    def _refuse_unfit(self, dtype: np.dtype[Any], path: Path) -> None:
        if dtype.kind not in "biufc":
            text = f"`{describe(path)}` has dtype {dtype}, which can't be recorded"
            raise refuse(text, "Convert it to numbers outside, or keep it in a list if it is only looked up.")

    def _traced(self, value: Any, path: Path) -> Any:
        if hasattr(type(value), "__numtape_variable__"):
            self.check(path, "is", value)
            return value
        if isinstance(value, Scalar) or (context.trace is not None and value._read().trace is context.trace):
            return value  # a value of this recording itself, or a number of an older one
        return self._input(value._current().array, path)

    def _transform(self, value: Any, path: Path) -> Any:
        self.check(path, "key", (type(value), value._key))
        inside: Any = value
        while isinstance(inside, _Transform):
            inside, path = inside._function, (*path, ("inner", "_function"))
            self._inner[id(inside)] = path
        return value

    def _function(self, value: types.FunctionType, path: Path) -> Any:
        scope = value.__globals__
        if isinstance(scope, Globals):
            if scope.captures is self:
                return value  # made inside of this recording: it sees traced values already
            value = scope.restored(value)
        if is_users_function(value, self.home):
            self.check(path, "code", (value.__code__, value.__globals__))
            return copy_function(self, value, path)
        if hasattr(value, "registry") and hasattr(value, "dispatch"):
            self.check(path, "is", value)
            return objects.Dispatch(self, value, path)
        found = standin(value)
        if found is value and any(map(_is_callable_cell, value.__closure__ or ())):
            self.check(path, "code", (value.__code__, value.__globals__))
            return copy_function(self, value, path, library=True)
        self.check(path, "is", value)
        return found

    def _partial(self, value: functools.partial[Any], path: Path) -> Any:
        self.check((*path, ("inner", "args")), "len", (tuple, len(value.args)))
        self.check((*path, ("inner", "keywords")), "keys", (dict, list(value.keywords)))
        function = self.capture(value.func, (*path, ("inner", "func")))
        name = functools.partial(positional_name, value.func)
        args = [self.capture(a, (*path, ("bound", i, name(i)))) for i, a in enumerate(value.args)]
        keywords = {k: self.capture(v, (*path, ("bound", k, k))) for k, v in value.keywords.items()}
        return functools.partial(function, *args, **keywords)

    # -- classes and their members ---------------------------------------------------------------------------------

    def is_users_name(self, name: object) -> bool:
        """Whether a module of this name is the user's."""
        return is_users_name(name, self.home)

    def class_seen(self, cls: type) -> type:
        """The class that the copy sees in place of a class, or of another stand-in of it."""
        cls = real_class(cls)
        return objects.class_copy(self, cls) if self.is_users_name(cls.__module__) else cls

    def member(self, definer: type, name: str, raw: Any) -> Any:
        """The copy of what a class body defined."""
        known = self._members.get((definer, name))
        if known is None or known[0] is not raw:
            path = (("fixed", definer), ("member", name))
            known = self._members[(definer, name)] = (raw, objects.member(self, path, raw))
        return known[1]

    # -- functions of this recording, arguments and results --------------------------------------------------------

    def root(self, function: Any) -> Callable[..., Any]:
        """The copy of the recorded function itself."""
        if self._root is None:
            inner = getattr(function, "__func__", function)
            self.home = root_package(getattr(inner, "__module__", None))
            self._root = (function, Body(self, self.capture(function, ())))
        return self._root[1]

    def inline(self, function: Any) -> Callable[..., Any]:
        """The copy of a function that a transform wraps, where that one is called inside this recording."""
        if self._root is None or function is self._root[0]:
            return self.root(function)
        known = self._known.get(id(function))
        if known is not None and known[0] is function:
            copy = known[1]
        elif id(function) in self._real or isinstance(getattr(function, "__globals__", None), Globals):
            copy = function
        else:
            copy = self.capture(function, self._inner.get(id(function), (("fixed", function),)))
        return copy if active.captures is self else Body(self, copy)

    def argument(self, index: int, leaf: Any, label: str = "") -> Any:
        """What the body sees of a static argument: numbers, names and containers as they are, objects captured."""
        if is_constant(leaf) or isinstance(leaf, float | np.generic) or (is_container(leaf) and is_plain(leaf)):
            return leaf
        return self.capture(leaf, (("arg", index, label or f"argument {index}"),))

    def kept(self, value: Any) -> str:
        """What writing a value to an attribute would keep: a "traced" value, a "number", or something "plain"."""
        if leaks(value):
            return "traced"
        if type(value) in (int, float) or isinstance(value, np.ndarray | np.generic):
            return "number"
        return "plain"

    def real(self, value: Any) -> Any:
        """A value with stand-ins replaced by what they stand for, inside of containers too."""
        return real_value(self, value)

    def stood_for(self, value: Any) -> Any:
        """What a stand-in of this recording stands for; anything else as it is."""
        found = self._real.get(id(value))
        return value if found is None or is_container(value) else found[1]

    def plain(self, leaf: Any) -> Any:
        """A leaf of the result that is not an array: what stands for it is replaced, what is traced is refused."""
        leaf = self.real(leaf)
        if not isinstance(leaf, type | types.ModuleType) and any(map(leaks, getattr(leaf, "__dict__", {}).values())):
            text = f"the function returns a {type(leaf).__name__} that holds traced values"
            raise refuse(text, "Return the arrays themselves, or a list, tuple, dict or dataclass of them.")
        return leaf

    # -- the end of the recording, and each call -------------------------------------------------------------------

    def settle(self, strict: bool = True) -> None:
        """Carry over what the body wrote to globals, cells and containers. Raises CaptureError for traced values."""
        if self._lift is None:
            return
        self.settled = [Check(p, "numbers", then) for v, p, then in self.watched if alike(numbers_of(v), then)]
        self.settled += self._apart()
        for handed in self.handed:
            settle(self, handed, strict)
        for scope in self.globals.values():
            scope.settle(strict)
        self.cells.settle(self, strict)

    def _apart(self) -> list[Check]:
        """Objects and functions that each call may bring anew, and others of their sort that they are not."""
        known = [(_sort_of(value, given), path) for value, given, path in self._known.values()]
        fresh = [(sort, path) for sort, path in known if sort and path and path[-1][0] in ("arg", "self", "bound")]
        return [Check(p, "other", q) for sort, p in fresh for other, q in known if other == sort and q != p]

    def finish(self) -> None:
        """Carry over what can be, after a run that may have failed."""
        self.settle(strict=False)

    def _release(self) -> None:
        """Let go of what only the recording needed; copies that outlive it see plain values."""
        self._known, self._real, self._members, self._inner = {}, {}, {}, {}
        self.handed, self.watched, self.codes, self.globals, self.cells = [], [], [], {}, Cells()
        self._root = self._lift = None
        self.constant = lambda array: array

    def line_of_change(self, label: str) -> str:
        """The line on which the body seems to change a container, as file:line, or nothing."""
        name = label.partition("[")[0].rpartition(".")[2]
        for code in self.codes:
            line = line_of_change(code, name)
            if line is not None:
                return f"{code.co_filename.rpartition('/')[2]}:{line}"
        return ""

    @property
    def free(self) -> bool:
        """Whether nothing at all was read from outside."""
        return not self._log and not self.settled

    def caller(self, given: Given) -> Callable[..., Any]:
        """Binds a native function of the arguments and the captured values to checks of what was read outside."""
        return compile_call([*self._log, *self.settled], self.inputs, given)

    def label(self, index: int) -> str:
        """How the user writes a captured value."""
        return describe(self.inputs[index])

    def reader(self, wanted: Sequence[int] | None = None) -> Reader:
        """Reads the captured values, or those wanted; (what, before, after) says what no longer fits."""
        self._release()
        paths = self.inputs if wanted is None else [self.inputs[i] for i in wanted]
        log = [item for item in self._log if isinstance(item, Check)] if wanted is not None else self._log
        return compile_reader([*log, *self.settled], paths)


def _wrapped(value: Any) -> str:
    """The attribute that holds the user's function in what a cache or numba has made of it, or nothing."""
    if isinstance(value, functools._lru_cache_wrapper):
        return "__wrapped__"
    return "py_func" if type(value).__module__.startswith("numba.") and hasattr(value, "py_func") else ""


def _sort_of(value: Any, given: Any) -> Any:
    """What is checked of a value that need not be the same object: the code of a function, the class of an object."""
    if isinstance(value, types.FunctionType):
        return value.__code__
    replaced = given is not value and (isinstance(value, functools.partial) or objects.real_object(given) is value)
    return type(value) if replaced else None


def _is_iterator(value: Any) -> bool:
    return hasattr(type(value), "__next__") and type(value).__module__ in ("builtins", "itertools")


def _is_callable_cell(cell: types.CellType) -> bool:
    try:
        inside = cell.cell_contents
    except ValueError:
        return False
    return isinstance(inside, types.FunctionType) and is_users_function(inside)


def instrument(function: Callable[..., Any], captures: Captures) -> Callable[..., Any]:
    """The copy of the recorded function, whose captured values are hidden inputs."""
    return captures.root(function)
