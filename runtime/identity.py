"""What makes two objects the same to a call: being one object, or running the same code over what is captured."""

from __future__ import annotations

import functools
import types
from typing import Any

from ..tracer.library import is_users_name


class Same:
    """A static object, compared by identity: two objects with equal contents are two signatures."""

    __slots__ = ("item",)

    def __init__(self, item: object) -> None:
        self.item = item

    def __hash__(self) -> int:
        return id(self.item)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.item is other.item

    def __repr__(self) -> str:
        return f"{type(self.item).__name__} at {id(self.item):#x}"


class Code:
    """A static function, compared by its code: what it holds is captured, and so read anew and checked at each call."""

    __slots__ = ("__qualname__", "key")

    def __init__(self, function: Any) -> None:
        self.key = code_key(function)
        # its name, and not the function itself, which keeps the arrays in its cells alive
        self.__qualname__ = getattr(python_function(function), "__qualname__", type(function).__name__)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Code) and self.key == other.key

    def __repr__(self) -> str:
        return self.__qualname__


def code_key(function: Any) -> Any:
    """What makes two function objects the same program: their code, or the object itself."""
    if isinstance(function, types.FunctionType):
        # two modules, or two runs of exec, have their own globals, and so nothing to share
        return (function.__code__, function.__module__, function.__qualname__, id(function.__globals__))
    key = getattr(function, "_key", None) if hasattr(type(function), "__numtape_transform__") else None
    if key is not None:
        return key
    # what a method is bound to and what a partial holds is captured: read anew at each call, and checked
    if isinstance(function, types.MethodType):
        return ("method", code_key(function.__func__))
    if type(function) is functools.partial:
        return ("partial", code_key(function.func), len(function.args), tuple(function.keywords))
    call = vars(type(function)).get("__call__")
    if isinstance(call, types.FunctionType) and is_users_name(type(function).__module__):
        return ("object", code_key(call))
    # by identity, and kept alive with the table: an equal object may compute something else, an id may come back
    return Same(function)


def python_function(function: Any) -> types.FunctionType | None:
    """The Python function inside of a method, a partial, a transform or a callable object; None where there is none."""
    while not isinstance(function, types.FunctionType):
        if isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        elif hasattr(type(function), "__numtape_transform__"):
            function = function._function
        else:
            function = vars(type(function)).get("__call__")
            return function if isinstance(function, types.FunctionType) else None
    return function
