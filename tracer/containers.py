"""Captured lists, dicts and their kin: the copy sees one of the same type whose leaves are hidden inputs.

Containers that hold no data (counters, logs, names) are handed out as they are, so that what the body does to them is
real; what it has read from them must then be the same at the next call.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .objects import class_copy
from .paths import Check, alike, is_plain
from .scalar import Scalar
from .standins import refuse
from .tensor import Tensor

if TYPE_CHECKING:
    from .capture import Captures
    from .paths import Path

_CONTAINERS = (
    list, tuple, dict, collections.deque, types.MappingProxyType, types.SimpleNamespace, argparse.Namespace,
)  # fmt: skip


def is_container(value: Any) -> bool:
    """Whether a value is a container whose leaves are captured one by one."""
    kind = type(value)
    if isinstance(value, _CONTAINERS):
        return True
    return kind in (set, frozenset) or (dataclasses.is_dataclass(kind) and not issubclass(kind, BaseException))


def leaks(value: Any) -> bool:
    """Whether a traced value (but for Variables) stands in a value: keeping it would outlive the recording."""
    if isinstance(value, list | tuple | set | frozenset | collections.deque):
        return any(map(leaks, value))
    if isinstance(value, dict):
        return any(map(leaks, value.values()))
    return isinstance(value, Tensor | Scalar) and not hasattr(type(value), "__numtape_variable__")


def snapshot(value: Any) -> Any:
    """A copy of a plain container, to compare with later."""
    if isinstance(value, dict):
        return _empty(value, {k: snapshot(v) for k, v in value.items()})
    if isinstance(value, list | collections.deque | set):
        return _empty(value, [snapshot(v) for v in value])
    return value


def _empty(value: Any, content: Any) -> Any:
    made = _new(type(value), value)
    if isinstance(value, dict):
        for key, part in content.items():
            _base(value).__setitem__(made, key, part)
    elif isinstance(value, set):
        set.update(made, content)
    else:
        _base(value).extend(made, content)
    return made


def _base(value: Any) -> Any:
    """The type of Python's own that a container is, or is derived from."""
    bases = (collections.OrderedDict, collections.defaultdict, dict, list, set, collections.deque)
    return next((base for base in bases if isinstance(value, base)), object)


class _Attribute(str):
    """The name of an attribute, as a place in a container."""


class Handed(NamedTuple):
    """A container that the body got: the user's, what stands for it, and what it held at first."""

    real: Any
    given: Any
    first: Any
    path: Path


def captured_container(captures: Captures, value: Any, path: Path) -> Any:
    """What the copy sees of a captured container."""
    if is_plain(value) or isinstance(value, set | frozenset):
        if isinstance(value, tuple | frozenset):
            captures.check(path, "like", value)
        else:
            captures.handed.append(Handed(value, value, snapshot(value), path))
        return value
    given = _made(captures, value, path)
    if not isinstance(value, tuple | types.MappingProxyType):
        captures.handed.append(Handed(value, given, list(_content(given)), path))
    return given


def _made(captures: Captures, value: Any, path: Path) -> Any:
    kind = type(value)
    if isinstance(value, types.MappingProxyType):
        captures.check(path, "keys", (kind, list(value)))
        return types.MappingProxyType({k: captures.capture(v, (*path, ("item", k))) for k, v in value.items()})
    cls = class_copy(captures, kind) if captures.is_users_name(kind.__module__) else kind
    given = _new(cls, value)
    captures.remember(value, given, path)  # before its content: a container may hold itself
    if isinstance(value, dict):
        captures.check(path, "keys", (kind, list(value)))
        for key, part in value.items():
            _base(value).__setitem__(given, key, captures.capture(part, (*path, ("item", key))))
    elif isinstance(value, list | tuple | collections.deque):
        captures.check(path, "len", (kind, len(value)))
        names = getattr(value, "_fields", None)
        steps = [("item", i) if names is None else ("attr", names[i]) for i in range(len(value))]
        parts = [captures.capture(part, (*path, step)) for part, step in zip(value, steps, strict=True)]
        if isinstance(value, tuple):
            given = tuple.__new__(cls, parts)
            captures.remember(value, given, path)
        else:
            _base(value).extend(given, parts)
    else:
        captures.check(path, "type", kind)
    if hasattr(value, "__dict__"):
        captures.check((*path, ("inner", "__dict__")), "keys", (dict, list(vars(value))))
    for name in _fields(value):
        object.__setattr__(given, name, captures.capture(getattr(value, name), (*path, ("attr", name))))
    return given


def _new(cls: type, value: Any) -> Any:
    """An empty container of a type, made without running code of the user's."""
    if isinstance(value, tuple):
        return ()
    base = _base(value)
    made = base.__new__(cls) if not isinstance(value, types.SimpleNamespace) else cls()
    if isinstance(value, collections.deque):
        collections.deque.__init__(made, [], value.maxlen)
    elif isinstance(value, collections.defaultdict):
        made.default_factory = value.default_factory
    return made


def _fields(value: Any) -> list[str]:
    names = list(getattr(value, "__dict__", ()))
    if dataclasses.is_dataclass(value):
        names += [f.name for f in dataclasses.fields(value) if f.name not in names and hasattr(value, f.name)]
    return [*names, "default_factory"] if isinstance(value, collections.defaultdict) else names


def _content(given: Any) -> Iterator[tuple[Any, Any]]:
    """Places and values of a container, attributes included."""
    if isinstance(given, dict):
        yield from given.items()
    elif isinstance(given, list | collections.deque):
        yield from enumerate(given)
    for name in getattr(given, "__dict__", ()):
        yield _Attribute(name), vars(given)[name]


def settle(captures: Captures, handed: Handed, strict: bool) -> None:
    """Carry what the body did to a container over to the user's own. Raises CaptureError for a traced value."""
    real, given, first, path = handed
    if given is real:
        if alike(real, first):
            captures.settled.append(Check(path, "like", first))  # it was only read
        elif leaks(real):
            _restore(real, first)
            if strict:
                raise _kept(captures, path)
        elif isinstance(real, dict | list):
            for place, part in list(_content(real)):
                if captures.real(part) is not part:
                    real[place] = captures.real(part)
        return
    now = list(_content(given))
    if len(now) == len(first) and all(a[1] is b[1] and a[0] == b[0] for a, b in zip(now, first, strict=True)):
        return
    before = {id(part): _at(real, place) for place, part in first}
    if any(leaks(part) for _, part in now if id(part) not in before):
        if strict:
            raise _kept(captures, path)
        return
    after = [(place, before[id(part)] if id(part) in before else captures.real(part)) for place, part in now]
    captures.grown(path)
    items = [(place, part) for place, part in after if not isinstance(place, _Attribute)]
    if isinstance(real, dict):
        _restore(real, dict(items))
    elif isinstance(real, list | collections.deque):
        _restore(real, [part for _, part in items])
    for place, part in after:
        if isinstance(place, _Attribute):
            object.__setattr__(real, place, part)


def _at(real: Any, place: Any) -> Any:
    return getattr(real, place) if isinstance(place, _Attribute) else real[place]


def _restore(real: Any, content: Any) -> None:
    real.clear()
    real.extend(content) if isinstance(real, list | collections.deque) else real.update(content)


def _kept(captures: Captures, path: Path) -> Exception:
    label = captures.describe(path)
    where = captures.line_of_change(label)
    text = f"the function changes the captured `{label}`: a traced value in it would outlive the recording"
    return refuse(text, "Return the value, or keep it in an nt.Variable and assign that.", where)
