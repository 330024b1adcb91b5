"""Long loop bodies in pieces: functions of their own, each of which runs for a block of indices before the next does.

What LLVM takes for a body grows faster than its length, and a body with hundreds of values in flight keeps few of them
in registers. So what a later piece reads of an earlier one waits in a workspace that stays in the processor's cache.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ...kernel import Accumulate, Kernel, Let, Load, Loop, Position, Statement, Store, Update, Within
from ...rows import defines, scalars_read
from .body import Running
from .code import stored_type

if TYPE_CHECKING:
    from .functions import Part

LONGEST = 300  # statements from which a body is cut
LENGTH = 150  # statements of a piece, or some less, where fewer values cross the cut
TURNS = 64  # indices that a piece runs for at a time
MEMORY = -4
ORDERED = ("last", "argmax", "argmin")


def pieces_of(item: Loop, part: Part) -> list[tuple[Statement, ...]]:
    """The body of a loop in pieces; none where it is short, or where the order of statements and indices counts."""
    if len(item.body) <= LONGEST:
        return []
    if not all(isinstance(s, Let | Load | Position | Within | Store | Update | Accumulate) for s in item.body):
        return []
    if any(isinstance(s, Accumulate) and s.how in ORDERED for s in item.body):
        return []
    places: dict[str, set[object]] = {}
    for s in item.body:
        if isinstance(s, Load | Store | Update):
            places.setdefault(part.names.root(s.buffer), set()).add((s.buffer, s.index))
    if any(len(places[memory]) > 1 for memory in part.written if memory in places):
        return []
    return _cut(item.body)


def _cut(body: tuple[Statement, ...]) -> list[tuple[Statement, ...]]:
    last = {name: number for number, s in enumerate(body) for name in scalars_read(s)}
    crossing, open_ = [], 0
    ends: dict[int, int] = {}
    for number, s in enumerate(body):
        open_ -= ends.pop(number, 0)
        for name in defines(s):
            if last.get(name, -1) > number:
                open_ += 1
                ends[last[name]] = ends.get(last[name], 0) + 1
        crossing.append(open_)
    out: list[tuple[Statement, ...]] = []
    begin = 0
    while len(body) - begin > LENGTH:
        choices = range(begin + LENGTH // 2, begin + LENGTH)
        end = min(choices, key=lambda number: (crossing[number], -number)) + 1
        out.append(body[begin:end])
        begin = end
    return [*out, body[begin:]]


def write_pieces(part: Part, item: Loop, pieces: list[tuple[Statement, ...]], end: str) -> None:
    """Write the loop: a block of indices after the other, and for each block piece after piece."""
    code = part.code
    pieces = _read_again(part, pieces)
    made = [{name for s in piece for name in defines(s)} for piece in pieces]
    read = [{name for s in piece for name in scalars_read(s)} for piece in pieces]
    last = {name: number for number, names in enumerate(read) for name in names}
    times = Counter(name for names in made for name in names)
    slots, free, count = dict[str, int](), list[int](), 0
    for number, names in enumerate(made):
        free += [slots[name] for name in sorted(slots) if last[name] == number - 1]
        for name in sorted(names):
            if last.get(name, -1) > number and times[name] == 1:  # what is read again needs no slot
                count += not free
                slots[name] = free.pop() if free else count - 1
    memory = code.emit(f"call ptr @nt_alloc(i64 {8 * TURNS * max(1, count)})")
    part.leave_if(code.emit(f"icmp eq ptr {memory}, null"), MEMORY)
    with code.blocks(end, TURNS) as (low, high):
        for number, piece in enumerate(pieces):
            taken = sorted(name for name in read[number] if name in slots and name not in made[number])
            kept = sorted(name for name in made[number] if name in slots)
            code.do(_write_piece(part, item, piece, low, high, memory, slots, taken, kept))
    code.do(f"call void @nt_free(ptr {memory}, i64 {8 * TURNS * max(1, count)})")


def _read_again(part: Part, pieces: list[tuple[Statement, ...]]) -> list[tuple[Statement, ...]]:
    """The pieces, where each reads itself what it needs of memory that none of them writes."""
    loads = {
        s.name: s
        for piece in pieces
        for s in piece
        if isinstance(s, Load) and s.mask is None and part.names.root(s.buffer) not in part.written
    }
    made = {name for piece in pieces for s in piece for name in defines(s)}
    loads = {k: s for k, s in loads.items() if not any(n in made for a in s.index for n, _ in a.terms)}
    out = []
    for piece in pieces:
        own = {name for s in piece for name in defines(s)}
        needed = dict.fromkeys(n for s in piece for n in scalars_read(s) if n in loads and n not in own)
        out.append((*(loads[name] for name in needed), *piece))
    return out


def _write_piece(
    owner: Part, item: Loop, piece: tuple[Statement, ...], low: str, high: str, memory: str,
    slots: dict[str, int], taken: list[str], kept: list[str],
) -> str:  # fmt: skip
    """Write the function of a piece; returns the text of its call."""
    from .functions import Part

    inner = Part(owner, Kernel("", piece))
    first, limit = inner.parameter("i64", low), inner.parameter("i64", high)
    workspace = inner.parameter("ptr noalias", memory)
    for name in dict.fromkeys(s.cell for s in piece if isinstance(s, Accumulate)):
        cell = owner.cells[name]
        rest = inner.parameter("ptr noalias", cell.rest) if cell.rest else ""
        inner.cells[name] = Running(cell.dtype, cell.how, inner.parameter("ptr noalias", cell.value), rest)

    def place(name: str, index: str) -> str:
        kind, code = stored_type(inner.names.dtypes[name]), inner.code
        row = code.emit(f"getelementptr inbounds i64, ptr {workspace}, i64 {TURNS * slots[name]}")
        return code.emit(f"getelementptr inbounds {kind}, ptr {row}, i64 {code.emit(f'sub nsw i64 {index}, {first}')}")

    def take(index: str) -> None:
        for name in taken:
            inner.define(name, inner.names.dtypes[name], inner.read(inner.names.dtypes[name], place(name, index)))

    def keep(index: str) -> None:
        for name in kept:
            inner.put(inner.names.dtypes[name], inner.values[name], place(name, index))

    part = Loop(item.name, item.extent, piece)
    inner.turns(part, first, limit, inner.sums_of(part), True, (take, keep))
    return inner.text("piece")
