"""The reading of captured values: the checks and paths of one recording, compiled into one function.

They run at every call, and so are written as Python source that reads each prefix of a path once.
"""

from __future__ import annotations

import keyword
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .context import context, recordings
from .dims import WHOLE
from .paths import LOST, Check, Path, Reader, Step, alike, first_change, numbers_of, same_code

REFUSED: Any = object()
"""What a native function returns for inputs that it doesn't take."""

# the condition under which a check fails, for values v (now), c (expected) and o (the other path)
_FAILS = {
    "is": "{v} is not {c}",
    "like": "{v} is not {c} and not alike({v}, {c})",
    "type": "type({v}) is not {c}",
    "code": "({v}.__code__ is not {c}[0] or {v}.__globals__ is not {c}[1]) and not same_code({v}, {c})",
    "len": "type({v}) is not {c}[0] or len({v}) != {c}[1]",
    "keys": "type({v}) is not {c}[0] or [*{v}] != {c}[1]",
    "same": "{v} is not {o}",
    "other": "{v} is {o}",
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
            two = item.kind in ("same", "other")
            other, expected = (self.value(item.expected), "") if two else ("", self.constant(item.expected))
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
            case "bound":
                return f"{base}.{'keywords' if isinstance(step[1], str) else 'args'}[{step[1]!r}]"
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
        return first_change(log[number:], function, leaves)

    def gone(function: Any, leaves: Sequence[Any]) -> tuple[str, str, str]:
        return first_change((*log, *wanted), function, leaves)

    source.env.update(lost=lost, gone=gone, LOST=LOST)
    body = "".join(f"        {line}\n" for line in [*source.lines, f"return [{', '.join(values)}]"])
    text = f"def read(function, leaves=()):\n    try:\n{body}    except LOST:\n        return gone(function, leaves)\n"
    exec(compile(text, "<numtape reader>", "exec"), source.env)
    return source.env.pop("read")  # or it would hold itself


class Given(NamedTuple):
    """What a call brings and a native function takes.

    `order` lists the function's inputs: ("leaf", position) for an argument, ("capture", position) for a value that is
    read from outside, ("variable", Variable). Those numbered in `whole` are ints of `WHOLE`. Of all `arguments` the
    first `given` come with the call, the others are the function's defaults. `fixed` are arguments that have to be one
    object: by position a weak reference to it, or a function that returns it.
    """

    arguments: int
    given: int
    order: Sequence[tuple[str, Any]]
    whole: Sequence[int] = ()
    fixed: Sequence[tuple[int, Callable[[], Any]]] = ()


def compile_call(log: Iterable[Path | Check], wanted: Sequence[Path], given: Given) -> Callable[..., Any]:
    """A function ``(function, native, following) -> call``.

    ``call(*args)`` is what ``native`` returns for its inputs, where all checks of `log` hold, nothing is being
    recorded, and that isn't `REFUSED`; else ``following(*args)``.
    """
    source = _Source()
    source.follow(log, "break")
    values = [source.value(path) for path in wanted]
    missing = range(given.given - given.arguments, 0)
    arguments = [f"leaves[{n}]" for n in range(given.given)] + [f"function.__defaults__[{n}]" for n in missing]
    for position, reference in given.fixed:
        source.lines.append(f"if {arguments[position]} is not {source.constant(reference)}(): break")
    inputs = []
    for kind, item in given.order:
        match kind:
            case "leaf":
                inputs.append(arguments[item])
            case "capture":
                inputs.append(values[item])
            case _:
                inputs.append(f"{source.constant(item)}._current().array")
    for number in given.whole:
        value = inputs[number]
        source.lines.append(f"if type({value}) is not int or not {WHOLE[0]} <= {value} <= {WHOLE[-1]}: break")
    taped = " or context.recorders" if any(kind == "variable" for kind, _ in given.order) else ""
    source.env.update(LOST=LOST, recordings=recordings, context=context, REFUSED=REFUSED)
    body = "".join(f"                {line}\n" for line in source.lines) or "                pass\n"
    whole = [f"leaves[{n}]" for n in range(given.arguments)]
    passed = ", ".join(["*leaves", *inputs[given.arguments :]] if inputs[: given.arguments] == whole else inputs)
    # `following` is called outside of the try: what it raises is for the caller, and no reason to call it again
    text = (
        "def bind(function, native, following):\n"
        "    def call(*leaves, **named):\n"
        f"        if named or recordings or len(leaves) != {given.given}{taped}: return following(*leaves, **named)\n"
        "        while True:\n"
        f"            try:\n{body}"
        "            except LOST: break\n"
        f"            found = native({passed})\n"
        "            if found is REFUSED: break\n"
        "            return found\n"
        "        return following(*leaves)\n"
        "    return call\n"
    )
    exec(compile(text, "<numtape call>", "exec"), source.env)
    bind: Callable[..., Any] = source.env.pop("bind")
    return bind
