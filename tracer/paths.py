"""Paths to captured values: steps from the recorded function, read again at each call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Step = tuple[str, Any]
Path = tuple[Step, ...]
"""Its steps: "global", "cell" or "kwdefault" with a name, "default" or "arg" with a position, "attr", "item"."""


def resolve(function: Any, leaves: Sequence[Any], path: Path, known: dict[Path, Any]) -> Any:
    """The value at a path now. `known` keeps prefixes of this call that were read already."""
    found = known.get(path, known)
    if found is not known:
        return found
    owner = resolve(function, leaves, path[:-1], known) if len(path) > 1 else function
    kind, name = path[-1]
    match kind:
        case "global":
            found = owner.__globals__[name]
        case "cell":
            found = owner.__closure__[owner.__code__.co_freevars.index(name)].cell_contents
        case "default":
            found = owner.__defaults__[name]
        case "kwdefault":
            found = owner.__kwdefaults__[name]
        case "attr":
            found = getattr(owner, name)
        case "item":
            found = owner[name]
        case _:
            found = leaves[name]
    known[path] = found
    return found


def describe(path: Path) -> str:
    """A path as the user would write it: ``W``, ``params['w']``, ``self.k``."""
    text = ""
    for kind, name in path:
        match kind:
            case "global" | "cell" | "kwdefault":
                text = str(name)
            case "default":
                text = f"{text or 'function'}'s default {name}"
            case "attr":
                if name in ("__func__", "__self__", "_function", "__class__"):
                    continue
                text = f"{text}.{name}" if text else str(name)
            case "item":
                text = f"{text}[{name!r}]"
            case _:
                text = f"argument {name}"
    return text or "the function"


@dataclass(frozen=True)
class Static:
    """Something captured that is part of the compiled program, and how it must compare at a call."""

    path: Path
    how: str  # "equal", "same", "code", "key", "keys", "length", "content"
    expected: Any
    item: Any = None

    def of(self, found: Any) -> Any:
        """The part of a value that is compared."""
        match self.how:
            case "code":
                return getattr(found, "__code__", None)
            case "key":
                return getattr(found, "_key", None)
            case "keys":
                return (type(found), tuple(found)) if isinstance(found, dict) else type(found)
            case "length":
                return (type(found), len(found)) if isinstance(found, list | tuple) else type(found)
            case "content":
                return content_of(found)
            case _:
                return found

    def holds(self, found: Any) -> bool:
        """Whether a value is still what the program was compiled for."""
        if self.how == "same":
            return found is self.expected
        now = self.of(found)
        return type(now) is type(self.expected) and bool(now == self.expected)

    def text(self, part: Any) -> str:
        """A short text of what is compared."""
        return getattr(part, "co_name", None) or (repr(part)[:60])


def content_of(item: Any) -> Any:
    """A snapshot of a plain container: values of plain leaves, identities of the others."""
    if isinstance(item, dict):
        return ("dict", tuple((k, content_of(v)) for k, v in item.items()))
    if isinstance(item, list | tuple):
        return (type(item).__name__, tuple(map(content_of, item)))
    if isinstance(item, str | bytes | int | float | complex | bool | type(None) | np.dtype):
        return (type(item).__name__, item)
    return ("id", id(item))
