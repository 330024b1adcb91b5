"""Paths to captured values: how a call finds again what a recording found, and whether it is still the same.

A path is a tuple of steps from the root function (or from an argument, a module, a fixed object). Checks and reads of
one recording are compiled into one function, since they run at every call.
"""

from __future__ import annotations

import collections
import enum
import keyword
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .context import recordings
from .dims import WHOLE

# The steps of a path:
#   ("arg", i, name) ("module", name) ("fixed", object)       where it starts, if not at the function itself
#   ("global", name) ("cell", name, index)                    of a function
#   ("default", index, name) ("kwdefault", name)              of a function
#   ("attr", name) ("item", key) ("member", name)             of an object; a member is what the class body defined
#   ("self",) ("inner", name) ("type",)                       an attribute or type that the user doesn't write down
Step = tuple[Any, ...]
Path = tuple[Step, ...]
Reader = Callable[[Any, Sequence[Any]], "list[Any] | tuple[str, str, str]"]

_LOST = (AttributeError, KeyError, IndexError, ValueError, TypeError)


class Check(NamedTuple):
    """What must hold of the value at a path for a recording to be valid.

    kind     "is" the same object, "like" equal in value and type, "type" of this type, "same" the object at another
             path, "lacks" no attribute of this name, "without" no key of this name, "code" a function of this (code,
             globals), "key" a transform of this (type, program), "len" a (type, length), "keys" a (type, list of
             keys), "numbers" an object whose plain attributes are these

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
        case "type":
            return type(value)
        case "arg":
            return leaves[step[1]]
        case "module":
            return sys.modules[step[1]]
        case _:
            return step[1]


def resolve(function: Any, path: Path, leaves: Sequence[Any] = ()) -> Any:
    """The value at a path now."""
    for step in path:
        function = read_step(function, step, leaves)
    return function


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
            case "default" | "arg":
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


def _holds(check: Check, now: Any, other: Any) -> bool:
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
        case "key":
            return type(now) is expected[0] and now._key == expected[1]
        case "without":
            return expected not in now
        case "numbers":
            return alike(numbers_of(now), expected)
        case _:
            return not hasattr(now, expected)


# the condition under which a check fails, for values v (now), c (expected) and o (the other path)
_FAILS = {
    "is": "{v} is not {c}",
    "like": "{v} is not {c} and not alike({v}, {c})",
    "type": "type({v}) is not {c}",
    "code": "({v}.__code__ is not {c}[0] or {v}.__globals__ is not {c}[1]) and not same_code({v}, {c})",
    "len": "type({v}) is not {c}[0] or len({v}) != {c}[1]",
    "keys": "type({v}) is not {c}[0] or [*{v}] != {c}[1]",
    "same": "{v} is not {o}",
    "key": "type({v}) is not {c}[0] or {v}._key != {c}[1]",
    "lacks": "hasattr({v}, {c})",
    "without": "{c} in {v}",
    "numbers": "not alike(numbers_of({v}), {c})",
}


class _Source:
    """Python source that reads paths, each prefix once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Path, str] = {(): "function"}
        self.env: dict[str, Any] = {
            "alike": alike, "same_code": same_code, "numbers_of": numbers_of, "modules": sys.modules,
        }  # fmt: skip

    def follow(self, log: Iterable[Path | Check], otherwise: str) -> None:
        """Read paths and check checks in their order; a check that fails runs the statement `otherwise`."""
        for number, item in enumerate(log):
            now = self.value(item.path if isinstance(item, Check) else item)
            if not isinstance(item, Check):
                continue
            other = self.value(item.expected) if item.kind == "same" else ""
            expected = "" if item.kind == "same" else self.constant(item.expected)
            condition = _FAILS[item.kind].format(v=now, c=expected, o=other)
            self.lines.append(f"if {condition}: {otherwise.format(number=number)}")

    def constant(self, value: Any) -> str:
        name = f"c{len(self.env)}"
        self.env[name] = value
        return name

    def value(self, path: Path) -> str:
        """The variable that holds the value at a path."""
        found = self.names.get(path)
        if found is not None:
            return found
        step = path[-1]
        if step[0] == "fixed":
            name = self.constant(step[1])
        elif step[0] == "global":
            table = self._table((*path[:-1], ("inner", "__globals__")))
            name = self._line(f"{table}[{step[1]!r}]")
        else:
            name = self._line(self._expression(self.value(path[:-1]), step))
        self.names[path] = name
        return name

    def _table(self, path: Path) -> str:
        if path not in self.names:
            self.names[path] = self._line(f"{self.value(path[:-1])}.__globals__")
        return self.names[path]

    def _line(self, expression: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {expression}")
        return name

    def _expression(self, base: str, step: Step) -> str:
        match step[0]:
            case "cell":
                return f"{base}.__closure__[{step[2]}].cell_contents"
            case "attr" | "inner" if step[1].isidentifier() and not keyword.iskeyword(step[1]):
                return f"{base}.{step[1]}"
            case "attr" | "inner":
                return f"getattr({base}, {step[1]!r})"
            case "item":
                plain = type(step[1]) in (int, str)
                return f"{base}[{repr(step[1]) if plain else self.constant(step[1])}]"
            case "member":
                return f"{base}.__dict__[{step[1]!r}]"
            case "default":
                return f"{base}.__defaults__[{step[1]}]"
            case "kwdefault":
                return f"{base}.__kwdefaults__[{step[1]!r}]"
            case "self":
                return f"{base}.__self__"
            case "type":
                return f"type({base})"
            case "arg":
                return f"leaves[{step[1]}]"
            case _:
                return f"modules[{step[1]!r}]"


def compile_reader(log: Iterable[Path | Check], wanted: Sequence[Path]) -> Reader:
    """A function ``(function, leaves) -> values at wanted``, or (what, before, after) if a check no longer holds.

    Paths and checks of `log` are read in its order: a check protects what is read after it.
    """
    log, source = tuple(log), _Source()
    source.follow(log, "return lost({number}, function, leaves)")
    values = [source.value(path) for path in wanted]

    def lost(number: int, function: Any, leaves: Sequence[Any]) -> tuple[str, str, str]:
        return _explain(log[number:], function, leaves)

    def gone(function: Any, leaves: Sequence[Any]) -> tuple[str, str, str]:
        return _explain((*log, *wanted), function, leaves)

    source.env.update(lost=lost, gone=gone, LOST=_LOST)
    body = "".join(f"        {line}\n" for line in [*source.lines, f"return [{', '.join(values)}]"])
    text = f"def read(function, leaves=()):\n    try:\n{body}    except LOST:\n        return gone(function, leaves)\n"
    exec(compile(text, "<numtape reader>", "exec"), source.env)
    return source.env.pop("read")  # or it would hold itself


def compile_call(
    log: Iterable[Path | Check], wanted: Sequence[Path], count: int, whole: Iterable[int] = ()
) -> Callable[..., Any]:
    """A function ``(function, native, following) -> call``.

    ``call(*args)`` is ``native(*args, *values at wanted)`` for `count` arguments, where all checks of `log` hold and
    nothing is being recorded; else ``following(*args)``. The inputs numbered in `whole` are ints of `WHOLE`.
    """
    source = _Source()
    source.follow(log, "break")
    values = [source.value(path) for path in wanted]
    for number in whole:
        value = f"leaves[{number}]" if number < count else values[number - count]
        source.lines.append(f"if type({value}) is not int or not {WHOLE[0]} <= {value} <= {WHOLE[-1]}: break")
    source.env.update(LOST=_LOST, recordings=recordings)
    body = "".join(f"                {line}\n" for line in source.lines) or "                pass\n"
    # `following` is called outside of the try: what it raises is for the caller, and no reason to call it again
    text = (
        "def bind(function, native, following):\n"
        "    def call(*leaves, **named):\n"
        f"        if named or recordings or len(leaves) != {count}: return following(*leaves, **named)\n"
        "        while True:\n"
        f"            try:\n{body}"
        "            except LOST: break\n"
        f"            return native(*leaves{''.join(f', {value}' for value in values)})\n"
        "        return following(*leaves)\n"
        "    return call\n"
    )
    exec(compile(text, "<numtape call>", "exec"), source.env)
    return source.env.pop("bind")


def _explain(log: Iterable[Path | Check], function: Any, leaves: Sequence[Any]) -> tuple[str, str, str]:
    """The first thing that is not as it was: its name, before and after."""
    for item in log:
        path = item.path if isinstance(item, Check) else item
        try:
            now = resolve(function, path, leaves)
            if not isinstance(item, Check):
                continue
            other = resolve(function, item.expected, leaves) if item.kind == "same" else None
            if _holds(item, now, other):
                continue
        except _LOST:
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
