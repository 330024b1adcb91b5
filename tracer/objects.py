"""Captured containers and objects as copies see them: reading is recorded, lasting changes are refused."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import CaptureError, layout
from .library import is_users
from .paths import Path, describe
from .values import is_traced

_RETURN = "The change would happen while recording only. Return the new values instead."


class FrozenList(list[Any]):
    """A captured list of arrays: reading is recorded, changing it would outlive the recording."""

    def __init__(self, items: Sequence[Any], label: str) -> None:
        super().__init__(items)
        self._label = label

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        text = f"the function changes the captured list {self._label}"
        raise CaptureError(layout(text, fix=_RETURN))

    append = extend = insert = remove = pop = clear = sort = reverse = __setitem__ = __delitem__ = __iadd__ = _refuse


class FrozenDict(dict[Any, Any]):
    """A captured dict of arrays; see FrozenList."""

    def __init__(self, items: dict[Any, Any], label: str) -> None:
        super().__init__(items)
        self._label = label

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        text = f"the function changes the captured dict {self._label}"
        raise CaptureError(layout(text, fix=_RETURN))

    update = pop = popitem = clear = setdefault = __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]


def refuse_traced(value: Any, where: str) -> None:
    if is_traced(value) and not getattr(type(value), "__numtape_variable__", False):
        text = f"a traced value is written into {where}"
        fix = "It would outlive the recording. Return it from the function, or keep it in a nt.Variable."
        raise CaptureError(layout(text, fix=fix))


def holds_numbers(item: Any) -> bool:
    """Whether arrays, floats or objects with state stand in a container, however deep."""
    if isinstance(item, dict):
        return any(map(holds_numbers, item.values()))
    if isinstance(item, list | tuple):
        return any(map(holds_numbers, item))
    if getattr(type(item), "__numtape_variable__", False):
        return False
    return (
        isinstance(item, np.ndarray | np.generic | float | types.FunctionType)
        or is_traced(item)
        or is_users_object(item)
    )


def is_users_object(item: Any) -> bool:
    cls = type(item)
    heap = cls.__flags__ & (1 << 9)
    return (
        bool(heap) and cls.__getattribute__ is object.__getattribute__ and hasattr(item, "__dict__") and is_users(cls)
    )


def shadow(captures: Any, value: Any, path: Path) -> Any:
    cls = type(value)
    cache: dict[str, Any] = {}

    def get(self: Any, name: str) -> Any:
        if name == "__class__":
            return cls
        if name.startswith("__") and name.endswith("__"):
            return getattr(value, name)
        if name in cache:
            return cache[name]
        found = getattr(value, name)
        if isinstance(found, types.MethodType) and found.__self__ is value:
            found = types.MethodType(captures.copy(found.__func__, (*path, ("attr", name), ("attr", "__func__"))), self)
        elif name in captures.stored and type(found) in (int, float, bool, str, type(None), list, dict):
            return found  # state that the body writes itself: a counter, a flag
        else:
            found = captures.hide(found, (*path, ("attr", name)))
        cache[name] = found
        return found

    def put(self: Any, name: str, item: Any) -> None:
        refuse_traced(item, f"{describe(path)}.{name}")
        cache.pop(name, None)
        setattr(value, name, captures.plain(item))

    body: dict[str, Any] = {"__getattribute__": get, "__setattr__": put, "__module__": cls.__module__, "__slots__": ()}
    for base in cls.__mro__:
        for name, item in vars(base).items():
            special = (
                name.startswith("__") and name.endswith("__") and name not in ("__init__", "__new__", "__getattr__")
            )
            if special and isinstance(item, types.FunctionType) and is_users(item) and name not in body:
                body[name] = captures.copy(item, (*path, ("attr", "__class__"), ("attr", name)))
    made: Any = type(cls)(cls.__name__, (cls,), body)
    return object.__new__(made)
