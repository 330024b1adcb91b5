"""Rows in tiles: what is computed once a row is computed for sixteen rows at a time, as a vector.

``for i: (for j: A); s; (for j: B)`` becomes, for each tile of rows, ``for i: (for j: A)``, then ``for i: s``, then
``for i: (for j: B)``. That pays where `s` calls vector math, and is allowed where rows leave nothing for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...kernel import Accumulate, Affine, Cell, Check, If, Let, Load, Loop, Result, Statement, Store, Update, Wrap
from ...rows import defines, scalars_read, within
from .code import stored_type
from .vmath import FUNCTIONS

if TYPE_CHECKING:
    from .body import Body

TILE = 16
Segment = tuple[bool, tuple[Statement, ...]]  # whether it is straight-line code, and its statements


def segments(item: Loop, root: dict[str, str]) -> list[Segment]:
    """The parts of a loop over rows that are run for a tile of rows each; none where tiles don't pay or aren't allowed.

    `root` names for each buffer the memory it lies in.
    """
    if not any(isinstance(s, Loop) for s in item.body):
        return []
    parts: list[tuple[bool, list[Statement]]] = [(False, [])]
    for s in item.body:
        straight, inside = parts[-1]
        if isinstance(s, Loop | Cell):
            if straight:
                parts.append((False, []))
        elif not straight and not isinstance(s, Result) and any(isinstance(t, Loop) for t in inside):
            parts.append((True, []))
        parts[-1][1].append(s)
    found = [(straight, tuple(inside)) for straight, inside in parts]
    dear = any(straight and any(map(_is_math, inside)) for straight, inside in found)
    return found if dear and _allowed(item, found, root) else []


def _is_math(s: Statement) -> bool:
    return isinstance(s, Let) and s.op in FUNCTIONS and s.dtype.kind == "f"


def _allowed(item: Loop, found: list[Segment], root: dict[str, str]) -> bool:
    here = Affine(((item.name, 1),))
    own = {s.name for s in within(item.body) if isinstance(s, Cell)}
    users: dict[str, set[int]] = {}
    shared: set[str] = set()  # memory that rows may hand on to each other
    written: set[str] = set()
    for number, (straight, inside) in enumerate(found):
        for s in within(inside):
            if isinstance(s, If) or (straight and isinstance(s, Check | Wrap)):
                return False
            if isinstance(s, Accumulate) and s.cell not in own and s.how not in ("sum", "prod", "max", "min"):
                return False  # the order of rows counts, or what is running is read
            if isinstance(s, Load | Store | Update):
                memory = root.get(s.buffer, s.buffer)
                users.setdefault(memory, set()).add(number)
                if not s.index or s.index[0] != here:
                    shared.add(memory)
                if not isinstance(s, Load):
                    written.add(memory)
    return not any(memory in shared and len(users[memory]) > 1 for memory in written)


def write_tiles(body: Body, item: Loop, found: list[Segment], end: str) -> None:
    """Write a loop over rows part by part. Scalars that a later part reads wait in arrays of a tile's length."""
    code = body.code
    made = [{name for s in inside for name in defines(s)} for _, inside in found]
    read = [{name for s in within(inside) for name in scalars_read(s)} for _, inside in found]
    waiting: dict[str, str] = {}
    with code.blocks(end, TILE) as (low, high):
        for number, (straight, inside) in enumerate(found):
            later = set().union(*read[number + 1 :])
            before = set().union(*made[:number])

            def take(index: str, names: set[str] = read[number] & before) -> None:
                for name in sorted(names):
                    body.define(name, body.names.dtypes[name], body.read(body.names.dtypes[name], place(name, index)))

            def keep(index: str, names: set[str] = made[number] & later) -> None:
                for name in sorted(names):
                    body.put(body.names.dtypes[name], body.values[name], place(name, index))

            def place(name: str, index: str) -> str:
                kind = stored_type(body.names.dtypes[name])
                if name not in waiting:
                    waiting[name] = code.variable(f"[{TILE} x {kind}]")
                offset = code.emit(f"sub nsw i64 {index}, {low}")
                return code.emit(f"getelementptr inbounds {kind}, ptr {waiting[name]}, i64 {offset}")

            part = Loop(item.name, item.extent, inside)
            body.turns(part, low, high, body.sums_of(part) if straight else [], straight, (take, keep))
