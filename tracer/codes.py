"""What is known of code without running it: which outer names it reads, and which it writes."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple


class Facts(NamedTuple):
    """The outer names of a code object and of the code nested in it."""

    copied: bool
    """Whether a copy could behave differently: it reads a global or a cell."""
    stored_globals: dict[str, int]
    """Globals that it writes, with the line."""
    stored_cells: dict[str, int]
    """Free variables that it writes, with the line."""
    counters: frozenset[str]
    """Attributes that it counts up: ``self.calls += 1``."""
    body_names: tuple[str, ...]
    """Globals that class bodies in it may read: they ask the dict itself, not its __missing__."""


def _lines(code: types.CodeType) -> Iterator[tuple[dis.Instruction, int]]:
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        positions = instruction.positions
        line = (positions.lineno if positions is not None else None) or line
        yield instruction, line


@lru_cache(8192)
def facts_of(code: types.CodeType) -> Facts:
    """Read a code object once."""
    stored_globals: dict[str, int] = {}
    stored_cells: dict[str, int] = {}
    body_names: set[str] = set()
    counters: set[str] = set()
    before: list[dis.Instruction] = []
    copied = bool(set(code.co_freevars) - {"__class__"})
    for instruction, line in _lines(code):
        match instruction.opname:
            case "LOAD_GLOBAL" | "IMPORT_NAME":
                copied = True
            case "STORE_GLOBAL" | "DELETE_GLOBAL":
                copied = True
                stored_globals.setdefault(instruction.argval, line)
            case "STORE_DEREF" | "DELETE_DEREF" if instruction.argval in code.co_freevars:
                stored_cells.setdefault(instruction.argval, line)
            case "LOAD_NAME" | "LOAD_FROM_DICT_OR_GLOBALS":
                copied = True
                body_names.add(instruction.argval)
            case "STORE_ATTR" if _counts(before, instruction.argval):
                copied = True
                counters.add(instruction.argval)
        before = [*before[-4:], instruction]
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            inner = facts_of(part)
            copied |= inner.copied
            stored_globals = {**inner.stored_globals, **stored_globals}
            stored_cells = {**{k: v for k, v in inner.stored_cells.items() if k in code.co_freevars}, **stored_cells}
            body_names.update(inner.body_names)
            counters.update(inner.counters)
    return Facts(copied, stored_globals, stored_cells, frozenset(counters), tuple(sorted(body_names)))


def _counts(before: list[dis.Instruction], name: str) -> bool:
    """Whether an attribute of this name was read, a whole number added, and nothing else done before it is stored."""
    for read, one, add in zip(before, before[1:], before[2:], strict=False):
        if (read.opname, read.argval, add.opname) == ("LOAD_ATTR", name, "BINARY_OP") and type(one.argval) is int:
            return True
    return False


_CHANGES = {
    "append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add", "discard", "sort", "reverse",
    "popitem", "appendleft", "extendleft", "popleft", "STORE_SUBSCR", "DELETE_SUBSCR", "STORE_ATTR",
}  # fmt: skip


def line_of_change(code: types.CodeType, name: str) -> int | None:
    """The first line that seems to change the container of a name: it stores an item or calls a mutating method."""
    mentioned: set[int] = set()
    changed: set[int] = set()
    for instruction, line in _lines(code):
        if instruction.argval == name and instruction.opname.startswith("LOAD_"):
            mentioned.add(line)
        if instruction.opname in _CHANGES or (isinstance(instruction.argval, str) and instruction.argval in _CHANGES):
            changed.add(line)
    inner = [line_of_change(part, name) for part in code.co_consts if isinstance(part, types.CodeType)]
    return min([*(mentioned & changed), *(line for line in inner if line is not None)], default=None)


def positional_name(function: Any, index: int) -> str:
    """What a function calls an argument that is given by position."""
    method = isinstance(function, types.MethodType)
    code = getattr(function.__func__ if method else function, "__code__", None)
    names = () if code is None else code.co_varnames[method : code.co_argcount]
    return names[index] if index < len(names) else f"argument {index}"
