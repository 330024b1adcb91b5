"""Captured objects and classes of the user's: stand-ins with hidden inputs for attributes and copies for methods.

The stand-in of a class is a subclass of it, so that isinstance holds everywhere; it keeps nothing of a recording and
is made once. The stand-in of an object reads the object itself, attribute by attribute, when it is asked.
"""

from __future__ import annotations

import abc
import enum
import functools
import types
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .codes import facts_of
from .library import is_users_function
from .paths import is_plain
from .standins import REAL, active, pretended, real_class, refuse

if TYPE_CHECKING:
    from .capture import Captures
    from .paths import Path

_WRITE = "Return the value, or keep it in an nt.Variable and assign that."


class _Copies:
    """What stand-in classes have in common; mixed into a metaclass of the class's own metaclass."""

    def __instancecheck__(cls, item: Any) -> bool:
        return isinstance(item, vars(cls)[REAL]) if REAL in vars(cls) else super().__instancecheck__(item)  # type: ignore[misc]

    def __subclasscheck__(cls, other: type) -> bool:
        if REAL in vars(cls):
            return issubclass(real_class(other), vars(cls)[REAL])
        return super().__subclasscheck__(other)  # type: ignore[misc]

    def __eq__(cls, other: object) -> bool:
        return other is cls or (REAL in vars(cls) and other is vars(cls)[REAL])

    def __hash__(cls) -> int:
        return hash(vars(cls)[REAL]) if REAL in vars(cls) else super().__hash__()

    def __setattr__(cls, name: str, value: Any) -> None:
        if active.captures is not None and REAL in vars(cls) and not name.startswith(("_abc", "__")):
            raise refuse(f"`{cls.__name__}.{name} = ...` would happen only while recording", _WRITE)  # type: ignore[attr-defined]
        super().__setattr__(name, value)


class _PlainCopies(_Copies, type):
    pass


class _AbstractCopies(_Copies, abc.ABCMeta):
    pass


class _Blank:
    pass


def _subclass(cls: type, body: dict[str, Any]) -> type | None:
    """A subclass of a class that runs none of its code: no metaclass of the user's, no __init_subclass__."""
    body = {
        "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__, REAL: real_class(cls),
        **body,
    }  # fmt: skip
    meta = type(cls)
    silent = getattr(cls.__init_subclass__, "__func__", None) is None
    try:
        if silent and issubclass(meta, _Copies):
            return meta(cls.__name__, (cls,), {"__slots__": (), **body})
        if silent and meta in (type, abc.ABCMeta):
            return (_PlainCopies if meta is type else _AbstractCopies)(cls.__name__, (cls,), {"__slots__": (), **body})
        made = _PlainCopies(cls.__name__, (_Blank,), body)
        made.__bases__ = (cls,)
    except TypeError:  # its layout in memory does not allow it, or it is final
        return None
    return made


# -- classes ---------------------------------------------------------------------------------------------------------

_KEPT = {"__init_subclass__", "__class_getitem__", "__del__", "__getattribute__", "__set_name__"}


class Member:
    """What a class body defined, as the copy of the recording that is active."""

    __slots__ = ("definer", "name")

    def __init__(self, definer: type, name: str) -> None:
        self.definer, self.name = definer, name

    def _raw(self) -> Any:
        raw = vars(self.definer)[self.name]
        captures = active.captures
        return raw if captures is None else captures.member(self.definer, self.name, raw)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        raw = self._raw()
        bind = getattr(type(raw), "__get__", None)
        found = raw if bind is None else bind(raw, instance, owner)
        return (lambda: bool(found())) if self.name == "__bool__" else found  # Python takes no other answer


class DataMember(Member):
    """A property: it comes before the instance's own attributes, and may be written."""

    __slots__ = ()

    def __set__(self, instance: Any, value: Any) -> None:
        self._raw().__set__(instance, value)

    def __delete__(self, instance: Any) -> None:
        self._raw().__delete__(instance)


_copies: weakref.WeakValueDictionary[type, type] = weakref.WeakValueDictionary()
_objects: weakref.WeakValueDictionary[type, type] = weakref.WeakValueDictionary()


def _members(captures: Captures, cls: type) -> Iterator[tuple[str, type, Any]]:
    """The names of a class that are the user's and may behave differently as copies."""
    seen: set[str] = set()
    fields: Any = getattr(cls, "__dataclass_fields__", None) or getattr(cls, "_fields", ())  # defaults, not attributes
    seen.update(fields, ("_fields", "_field_defaults") if issubclass(cls, tuple) else ())
    for definer in cls.__mro__[:-1]:
        users = captures.is_users_name(definer.__module__)
        for name, raw in vars(definer).items():
            if name in seen or name in _KEPT:
                continue
            seen.add(name)
            if users and differs(captures, raw, name):
                yield name, definer, raw


def differs(captures: Captures, raw: Any, name: str) -> bool:
    """Whether what a class body defined may behave differently as a copy."""
    match raw:
        case types.FunctionType():
            data = [*(raw.__defaults__ or ()), *(raw.__kwdefaults__ or {}).values()]
            changed = (
                name == "__bool__"
                or facts_of(raw.__code__).copied
                or any(isinstance(v, float) or not is_plain(v) for v in data)
            )
            return changed and is_users_function(raw, captures.home)
        case staticmethod() | classmethod():
            return differs(captures, raw.__func__, name)
        case property():
            return any(differs(captures, f, name) for f in (raw.fget, raw.fset, raw.fdel) if f is not None)
        case functools.cached_property():
            return differs(captures, raw.func, name)
        case types.MemberDescriptorType() | types.GetSetDescriptorType():
            return False
        case _:
            return not (name.startswith("__") and name.endswith("__")) and not name.startswith(("_abc_", "_numtape"))


def class_copy(captures: Captures, cls: type) -> type:
    """The class whose methods are copies; the class itself where that makes no difference or can't be made."""
    if issubclass(cls, enum.Enum | BaseException) or REAL in vars(cls):
        return cls
    found = list(_members(captures, cls))
    if not found:
        return cls
    known = _copies.get(cls)
    if known is not None and vars(known)["_numtape_members"] == {name: definer for name, definer, _ in found}:
        return known
    body: dict[str, Any] = {"_numtape_members": {name: definer for name, definer, _ in found}}
    for name, definer, raw in found:
        body[name] = (DataMember if hasattr(type(raw), "__set__") else Member)(definer, name)
    if "__eq__" in body and "__hash__" not in body:
        body["__hash__"] = cls.__hash__  # a class body with __eq__ alone makes its objects unhashable
    made = _subclass(cls, body)
    if made is not None:
        _copies[cls] = made
    return cls if made is None else made


def member(captures: Captures, path: Path, raw: Any) -> Any:
    """The copy of what a class body defined: functions inside of it are copied, values captured."""

    def inner(name: str) -> Any:
        part = getattr(raw, name)
        return None if part is None else captures.capture(part, (*path, ("inner", name)))

    if isinstance(raw, staticmethod | classmethod):
        return type(raw)(inner("__func__"))
    if isinstance(raw, property):
        return property(inner("fget"), inner("fset"), inner("fdel"), raw.__doc__)
    if isinstance(raw, functools.singledispatchmethod):
        return DispatchMethod(inner("dispatcher"))
    if isinstance(raw, functools.cached_property):
        copy = functools.cached_property(inner("func"))
        copy.__set_name__(object, raw.attrname or "")
        return copy
    return captures.capture(raw, path)


class Dispatch:
    """A singledispatch function: it chooses by what a traced value is in plain NumPy, and calls a copy."""

    def __init__(self, captures: Captures, real: Any, path: Path) -> None:
        self.captures, self.real, self.path = captures, real, path

    def chosen(self, item: Any) -> Any:
        """The copy of the implementation for an argument."""
        found = self.real.dispatch(pretended(item) or real_class(type(item)))
        key = next(key for key, value in self.real.registry.items() if value is found)
        return self.captures.capture(found, (*self.path, ("inner", "registry"), ("item", key)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.chosen(args[0])(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class DispatchMethod:
    """A singledispatchmethod of a copied class."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch = dispatch

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.dispatch.chosen(args[0]).__get__(instance, owner)(*args, **kwargs)

        return call


# -- objects ---------------------------------------------------------------------------------------------------------


class State:
    """What an object's stand-in knows: whose it is, the object, and where it was found."""

    __slots__ = ("cache", "captures", "path", "real")

    def __init__(self, captures: Captures, real: Any, path: Path) -> None:
        self.captures, self.real, self.path = captures, real, path
        self.cache: dict[str, Any] = {}


_MISSING = object()
_plain_get, _plain_set = object.__getattribute__, object.__setattr__


def _found(cls: type, name: str) -> Any:
    for definer in cls.__mro__:
        if name in vars(definer):
            return vars(definer)[name]
    return _MISSING


def _get(self: Any, name: str) -> Any:
    state: State = _plain_get(self, "_numtape_state")
    found = state.cache.get(name, _MISSING)
    if found is not _MISSING:
        return found
    real, captures = state.real, state.captures
    cls = type(real)
    if name == "__class__":
        return captures.class_seen(cls)
    if name == "__dict__":
        return {key: _get(self, key) for key in vars(real)}
    if name.startswith("__") and name.endswith("__"):
        return _plain_get(self, name)
    defined = _found(cls, name)
    if hasattr(type(defined), "__set__"):
        if isinstance(defined, property) and captures.is_users_name(cls.__module__):
            return _plain_get(self, name)
        value = getattr(real, name)  # a slot, or a descriptor of somebody's own
    elif name in getattr(real, "__dict__", ()):
        value = vars(real)[name]
    elif defined is not _MISSING and not isinstance(defined, str | bool | None):
        if hasattr(real, "__dict__"):  # the instance may get one of its own later
            captures.check((*state.path, ("inner", "__dict__")), "without", name)
        return _plain_get(self, name)
    else:
        try:
            value = getattr(real, name)  # what its own __getattr__ makes up
        except AttributeError:
            captures.lacks(state.path, name)
            raise
    if name in captures.counters and type(value) is int:
        return value  # the program's own count of its recordings
    found = state.cache[name] = captures.capture(value, (*state.path, ("attr", name)))
    return found


def _set(self: Any, name: str, value: Any) -> None:
    state: State = _plain_get(self, "_numtape_state")
    if value is state.cache.get(name, _MISSING):
        return  # `self.w += x` has written into the array already; Python then stores the array itself
    defined = _found(type(state.real), name)
    if isinstance(defined, property):
        _found(type(self), name).__set__(self, value)
        return
    counted = name in state.captures.counters and type(value) is int
    kind = "plain" if counted else state.captures.kept(value)
    label = f"{state.captures.describe(state.path)}.{name}"
    if kind == "traced":
        raise refuse(f"a traced value is written to `{label}`, where it would outlive the recording", _WRITE)
    if kind == "number":
        raise refuse(f"`{label} = ...` would happen only while recording, not at each call", _WRITE)
    state.cache.pop(name, None)
    setattr(state.real, name, state.captures.real(value))


def _delete(self: Any, name: str) -> None:
    state: State = _plain_get(self, "_numtape_state")
    label = f"{state.captures.describe(state.path)}.{name}"
    raise refuse(f"`del {label}` would happen only while recording, not at each call", _WRITE)


def _same(self: Any, other: Any) -> bool:
    return real_object(self) is real_object(other)


def _object_class(captures: Captures, cls: type) -> type | None:
    base = class_copy(captures, cls)
    known = _objects.get(base)
    if known is not None:
        return known
    body: dict[str, Any] = {
        "__getattribute__": _get, "__setattr__": _set, "__delattr__": _delete, "__del__": lambda self: None,
        "__slots__": () if cls.__dictoffset__ else ("_numtape_state",),
    }  # fmt: skip
    if cls.__eq__ is object.__eq__:
        body.update(__eq__=_same, __hash__=lambda self: hash(real_object(self)))
    else:
        body["__hash__"] = cls.__hash__
    made = _subclass(base, body)
    if made is not None:
        _objects[base] = made
    return made


def object_standin(captures: Captures, value: Any, path: Path) -> Any:
    """The stand-in of a captured object; the object itself where none can be made."""
    cls = type(value)
    if cls.__getattribute__ is not object.__getattribute__:
        return value
    standin_class = _object_class(captures, cls)
    if standin_class is None:
        return value
    try:
        made: Any = object.__new__(standin_class)
    except TypeError:  # an object that is more than its attributes, such as an exception
        return value
    _plain_set(made, "_numtape_state", State(captures, value, path))
    return made


def real_object(item: Any) -> Any:
    """The object behind a stand-in; anything else as it is."""
    if type(item).__dict__.get("__getattribute__") is _get:
        return _plain_get(item, "_numtape_state").real
    return item


class UserModule(types.ModuleType):
    """A module of the user's as the copies see it."""

    def __init__(self, captures: Captures, real: types.ModuleType, path: Path) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__[REAL] = State(captures, real, path)

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__[REAL]
        value = getattr(state.real, name)
        found = self.__dict__[name] = state.captures.capture(value, (*state.path, ("attr", name)))
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if value is self.__dict__.get(name, _MISSING):
            return
        raise refuse(f"`{self.__name__}.{name} = ...` would happen only while recording", _WRITE)

    def __repr__(self) -> str:
        return repr(self.__dict__[REAL].real)
