"""Rows in tiles: what is computed once a row is computed for sixteen rows at a time, as a vector.

``for i: (for j: A); s; (for j: B)`` becomes, for each tile of rows, ``for i: (for j: A)``, then ``for i: s``, then
``for i: (for j: B)``. That pays where `s` calls vector math, and is allowed where rows leave nothing for each other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...kernel import Accumulate, Affine, Cell, Check, If, Let, Load, Loop, Result, Statement, Store, Update, Wrap
from ...rows import defines, scalars_read, within
from .code import stored_type, type_of
from .vmath import FUNCTIONS
from .writer import INTEGER

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


def _adds_up(body: Body, row: str, inside: tuple[Statement, ...]) -> bool:
    """Whether all that a part does is to add something of each row to one and the same row of floats."""
    if len(inside) != 1 or not isinstance(inside[0], Loop):
        return False
    *steps, last = inside[0].body
    memory = body.names.root(last.buffer) if isinstance(last, Update) else ""
    return (
        isinstance(last, Update)
        and last.how == "sum"
        and isinstance(last.value, str)
        and all(isinstance(s, Let | Load) for s in steps)
        and body.names.dtypes[last.buffer].kind == "f"
        and not any(isinstance(s, Load) and body.names.root(s.buffer) == memory for s in steps)
        and not any(name == row for a in last.index for name, _ in a.terms)
    )


def _four_rows(
    body: Body, row: str, inside: tuple[Statement, ...], low: str, high: str, take: Callable[[str], None]
) -> str:
    """Add four rows at a time: the row that they are added to is read and written once. Returns the first row left."""
    code, (loop,) = body.code, inside
    assert isinstance(loop, Loop)
    *steps, last = loop.body
    assert isinstance(last, Update)
    count = code.emit(f"sub nsw i64 {high}, {low}")
    fours = code.emit(f"lshr i64 {count}, 2")
    dtype = body.names.dtypes[last.buffer]
    with code.loop("0", fours) as four:
        first = code.emit(f"add nsw i64 {low}, {code.emit(f'shl nsw i64 {four}, 2')}")
        rows = []
        for k in range(4):
            body.define(row, INTEGER, code.emit(f"add nsw i64 {first}, {k}"))
            take(body.values[row])
            rows.append(dict(body.values))
        with code.loop("0", body.size(loop.extent)) as index:
            values = []
            for known in rows:
                body.values = dict(known)
                body.define(loop.name, INTEGER, index)
                body.block(tuple(steps))
                values.append(body.operand(last.value))
            add = [("fadd", values[0], values[1]), ("fadd", values[2], values[3])]
            sums = [code.emit(f"{op} {type_of(dtype)} {a}, {b}") for op, a, b in add]
            whole = code.emit(f"fadd {type_of(dtype)} {sums[0]}, {sums[1]}")
            address = body.address(last.buffer, last.index)
            total = code.emit(f"fadd {type_of(dtype)} {body.read(dtype, address)}, {whole}")
            body.put(dtype, total, address)
    return code.emit(f"add nsw i64 {low}, {code.emit(f'shl nsw i64 {fours}, 2')}")


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
            if not straight and _adds_up(body, item.name, inside):
                low_rest = _four_rows(body, item.name, inside, low, high, take)
                body.turns(part, low_rest, high, [], False, (take, keep))
                continue
            body.turns(part, low, high, body.sums_of(part) if straight else [], straight, (take, keep))
