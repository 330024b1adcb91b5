"""Paths to captured values: how a call finds again what a recording found, and whether it is still the same.

A path is a tuple of steps from the root function (or from an argument, a module, a fixed object).
"""

from __future__ import annotations

import collections
import enum
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

# The steps of a path:
#   ("arg", i, name) ("module", name) ("fixed", object)       where it starts, if not at the function itself
#   ("global", name) ("cell", name, index)                    of a function
#   ("default", index, name) ("kwdefault", name)              of a function
#   ("attr", name) ("item", key) ("member", name)             of an object; a member is what the class body defined
#   ("bound", index or keyword, name)                         of a partial
#   ("self",) ("inner", name) ("type",)                       an attribute or type that the user doesn't write down
Step = tuple[Any, ...]
Path = tuple[Step, ...]
Reader = Callable[[Any, Sequence[Any]], "list[Any] | tuple[str, str, str]"]

LOST = (AttributeError, KeyError, IndexError, ValueError, TypeError)


class Check(NamedTuple):
    """What must hold of the value at a path for a recording to be valid.

    kind     "is" the same object, "like" equal in value and type, "type" of this type, "same" the object at another
             path, "other" not that object, "lacks" no attribute of this name, "without" no key of this name, "code" a
             function of this (code, globals), "key" a transform of this (type, program), "len" a (type, length),
             "keys" a (type, list of keys), "numbers" an object whose plain attributes are these

    What is expected keeps no function alive, and so none of the arrays in its cells.
    """

    path: Path
    kind: str
    expected: Any


def read_step(value: Any, step: Step, leaves: Sequence[Any] = ()) -> Any:
    """Follow one step."""
    match step[0]:
        case "global":
            return value.__globals__[step[1]]
        case "cell":
            return value.__closure__[step[2]].cell_contents
        case "attr" | "inner":
            return getattr(value, step[1])
        case "item":
            return value[step[1]]
        case "member":
            return value.__dict__[step[1]]
        case "default":
            return value.__defaults__[step[1]]
        case "kwdefault":
            return value.__kwdefaults__[step[1]]
        case "self":
            return value.__self__
        case "bound":
            return (value.keywords if isinstance(step[1], str) else value.args)[step[1]]
        case "type":
            return type(value)
        case "arg":
            return leaves[step[1]]
        case "module":
            return sys.modules[step[1]]
        case _:
            return step[1]


def resolve(value: Any, path: Path, leaves: Sequence[Any] = ()) -> Any:
    """The value at a path now."""
    for step in path:
        value = read_step(value, step, leaves)
    return value


def describe(path: Path) -> str:
    """A path as the user would write it: ``W``, ``params['w']``, ``self.k``.

    >>> describe((("global", "h"), ("cell", "params", 0), ("item", "w")))
    "params['w']"
    """
    text = ""
    for step in path:
        match step[0]:
            case "global" | "cell" | "kwdefault" | "module":
                text = step[1]
            case "default" | "arg" | "bound":
                text = step[2]
            case "attr" | "member":
                text = f"{text}.{step[1]}" if text else step[1]
            case "item":
                text = f"{text}[{step[1]!r}]"
            case "self":
                text = "self"
            case "fixed":
                text = getattr(step[1], "__name__", type(step[1]).__name__)
    return text


_CONSTANTS = (
    bool, int, str, bytes, complex, type(None), types.EllipsisType, type(NotImplemented), range, slice, np.dtype,
    enum.Enum,
)  # fmt: skip
_SIMPLE = {bool, int, str, bytes, type(None)}  # compared without a look inside


def is_constant(value: Any) -> bool:
    """Whether a value is compared by its content, and part of the recorded program."""
    return isinstance(value, _CONSTANTS)


def is_plain(value: Any, above: tuple[int, ...] = ()) -> bool:
    """Whether a container holds constants alone, however deep."""
    if isinstance(value, list | tuple | set | frozenset | collections.deque):
        parts: Any = value
    elif isinstance(value, dict):
        parts = value.values()
    else:
        return isinstance(value, _CONSTANTS)
    inside = (*above, id(value))
    return id(value) not in above and all([is_plain(part, inside) for part in parts])


def alike(a: Any, b: Any) -> bool:
    """Whether two plain values, or containers of such, are equal in value and in type: 1, 1.0 and True differ."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        types_a, types_b = list(map(type, a)), list(map(type, b))
        if types_a != types_b:
            return False
        return bool(a == b) if _SIMPLE.issuperset(types_a) else all(map(alike, a, b))
    if isinstance(a, dict):
        return len(a) == len(b) and all(map(alike, a, b)) and all(map(alike, a.values(), b.values()))
    if isinstance(a, set | frozenset):
        return len(a) == len(b) and {(type(x), x) for x in a} == {(type(x), x) for x in b}
    if isinstance(a, float | np.floating) and a == 0:
        return bool(b == 0 and np.signbit(a) == np.signbit(b))  # 1 / -0.0 is another number than 1 / 0.0
    return bool(a == b)


def numbers_of(value: Any) -> dict[str, Any]:
    """The numbers and texts among the attributes of an object that is handed out as it is."""
    kinds = (int, float, str, np.generic, type(None))
    return {name: part for name, part in vars(value).items() if isinstance(part, kinds)}


def same_code(now: Any, then: tuple[types.CodeType, dict[str, Any]]) -> bool:
    """Whether a function runs the same code in the same module; its cells are checked by themselves."""
    return type(now) is types.FunctionType and now.__globals__ is then[1] and now.__code__ == then[0]


def holds(check: Check, now: Any, other: Any) -> bool:
    expected = check.expected
    match check.kind:
        case "is":
            return now is expected
        case "like":
            return alike(now, expected)
        case "type":
            return type(now) is expected
        case "code":
            return same_code(now, expected)
        case "len":
            return type(now) is expected[0] and len(now) == expected[1]
        case "keys":
            return type(now) is expected[0] and list(now) == expected[1]
        case "same":
            return now is other
        case "other":
            return now is not other
        case "key":
            return type(now) is expected[0] and now._key == expected[1]
        case "without":
            return expected not in now
        case "numbers":
            return alike(numbers_of(now), expected)
        case _:
            return not hasattr(now, expected)


def first_change(log: Iterable[Path | Check], function: Any, leaves: Sequence[Any]) -> tuple[str, str, str]:
    """The first thing that is not as it was: its name, before and after."""
    for item in log:
        path = item.path if isinstance(item, Check) else item
        try:
            now = resolve(function, path, leaves)
            if not isinstance(item, Check):
                continue
            other = resolve(function, item.expected, leaves) if item.kind in ("same", "other") else None
            if holds(item, now, other):
                continue
        except LOST:
            return describe(path), "a value", "gone"
        if item.kind in ("lacks", "without"):
            name = ".".join(filter(None, (describe(path), item.expected)))
            return name, "absent", show(getattr(now, item.expected) if item.kind == "lacks" else now[item.expected])
        return describe(path), _before(item), _after(item, now)
    return "a captured value", "readable", "not readable"


def _before(check: Check) -> str:
    match check.kind:
        case "same":
            return f"the same object as {describe(check.expected)}"
        case "other":
            return f"another object than {describe(check.expected)}"
        case "type":
            return f"a {check.expected.__name__}"
        case "len":
            return f"a {check.expected[0].__name__} of length {check.expected[1]}"
        case "keys":
            return f"a {check.expected[0].__name__} with keys {show(check.expected[1])}"
        case "code":
            return f"function {check.expected[0].co_name}"
        case "key":
            return f"a {check.expected[0].__name__}"
        case _:
            return show(check.expected)


def _after(check: Check, now: Any) -> str:
    match check.kind:
        case "same":
            return "another object"
        case "other":
            return "the same object"
        case "type":
            return f"a {type(now).__name__}"
        case "len" | "keys" if isinstance(now, check.expected[0]):
            return f"length {len(now)}" if check.kind == "len" else f"keys {show(list(now))}"
    text = show(now)
    return f"another {text.removeprefix('a ')}" if text == _before(check) else text


def show(value: Any) -> str:
    """A short text for a value, without addresses."""
    if isinstance(value, types.FunctionType | type | types.ModuleType):
        return f"{type(value).__name__} {value.__name__}"
    text = repr(value)
    if " at 0x" in text:
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
