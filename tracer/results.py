"""Into the copy and out of it: arguments see copied classes, results and what the body keeps hold no stand-ins."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .copies import Globals
from .numpy_standins import original
from .objects import real_object
from .standins import REAL, active, real_class

if TYPE_CHECKING:
    from .capture import Captures


def real_value(captures: Captures, value: Any) -> Any:
    """A value with stand-ins replaced by what they stand for; containers are made anew only where that changes them."""
    found = captures.stood_for(value)
    if found is not value:
        return found
    value = real_object(original(value))
    kind = type(value)
    if kind in (list, tuple) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        parts = [real_value(captures, v) for v in value]
        if any(a is not b for a, b in zip(parts, value, strict=True)):
            value = tuple.__new__(real_class(kind), parts) if isinstance(value, tuple) else parts
    elif kind is dict:
        named = {k: real_value(captures, v) for k, v in value.items()}
        value = named if any(named[k] is not value[k] for k in value) else value
    elif isinstance(value, types.FunctionType) and isinstance(value.__globals__, Globals):
        return value.__globals__.restored(value)
    if REAL in vars(type(value)):
        object.__setattr__(value, "__class__", vars(type(value))[REAL])
        for name, part in list(getattr(value, "__dict__", {}).items()):
            fixed = real_value(captures, part)
            if fixed is not part:
                object.__setattr__(value, name, fixed)
    elif isinstance(value, type):
        return real_class(value)
    return value


def enter(captures: Captures, value: Any, entered: list[tuple[Any, type]]) -> None:
    """Give the dataclasses and namedtuples among the arguments classes whose methods are copies."""
    kind = type(value)
    if kind in (list, tuple):
        for part in value:
            enter(captures, part, entered)
    elif kind is dict:
        for part in value.values():
            enter(captures, part, entered)
    elif (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")) and captures.is_users_name(kind.__module__):
        for part in list(value) if isinstance(value, tuple) else list(getattr(value, "__dict__", {}).values()):
            enter(captures, part, entered)
        seen = captures.class_seen(kind)
        if seen is not kind:
            object.__setattr__(value, "__class__", seen)  # a frozen dataclass refuses its own way
            entered.append((value, kind))


class Body:
    """The copy of the recorded function: while it runs, stand-ins record."""

    def __init__(self, captures: Captures, function: Callable[..., Any]) -> None:
        self.captures, self.function = captures, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        entered: list[tuple[Any, type]] = []
        enter(self.captures, [args, kwargs], entered)
        before, active.captures = active.captures, self.captures
        try:
            result = self.function(*args, **kwargs)
        except BaseException:
            self.captures.settle(strict=False)
            raise
        finally:
            active.captures = before
            for value, kind in entered:
                object.__setattr__(value, "__class__", kind)
        self.captures.settle()
        return self.captures.real(result)
