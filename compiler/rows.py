"""Kernels that go through the same rows become phases in one loop over rows, and what they hand on stays in a row.

``for i: (for j: A)`` and then ``for i: (for j: B)`` is ``for i: (for j: A; for j: B)`` when B takes from A only what A
has left in the same row. A softmax, or a product with a matrix and its transpose, then reads each row once.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..tracer.plain import dataclass, replace
from .kernel import (
    Accumulate,
    Affine,
    Alloc,
    Bind,
    Call,
    Check,
    If,
    Index,
    Kernel,
    Let,
    Load,
    Loop,
    Operand,
    Position,
    Result,
    Statement,
    Store,
    Update,
    View,
    Within,
    Wrap,
)  # fmt: skip

LONGEST = 400  # statements in one kernel
MOST = 8  # kernels that one tries to join, the latest first


@dataclass(frozen=True, slots=True)
class Rows:
    """A kernel that is one loop over rows, with what stands before and after it."""

    kernel: Kernel
    before: tuple[Statement, ...]
    loop: Loop
    after: tuple[Statement, ...]


def join_rows(body: tuple[Statement, ...], outputs: set[str]) -> tuple[Statement, ...]:
    """The statements of a program with kernels joined where they can be; `outputs` are the names that it returns."""
    views = {s.buffer.name: s.source for s in body if isinstance(s, View)}
    out: list[Statement] = []
    open_: list[int] = []  # the positions in `out` of kernels that others may join
    for item in body:
        rows = _rows(item)
        if rows is not None:
            for place, last in [*enumerate(open_)][: -MOST - 1 : -1]:
                joined = _join(out, last, rows, views)
                if joined is not None:
                    others = {id(out[at]) for at in open_[place + 1 :]}
                    out, at = joined
                    behind = [n for n in range(at + 1, len(out)) if id(out[n]) in others]
                    open_ = [*open_[:place], at, *behind]
                    break
            else:
                out.append(item)
                open_.append(len(out) - 1)
            continue
        out.append(item)
        if isinstance(item, Kernel | Bind | Call) or (isinstance(item, Check) and item.status > 0):
            open_ = []
    return _shrink(tuple(out), outputs, views)


def _rows(item: Statement) -> Rows | None:
    if not isinstance(item, Kernel):
        return None
    places = [n for n, s in enumerate(item.body) if isinstance(s, Loop)]
    if len(places) != 1 or any(isinstance(s, Call) for s in item.body):
        return None
    (at,) = places
    loop = item.body[at]
    assert isinstance(loop, Loop)
    return Rows(item, item.body[:at], loop, item.body[at + 1 :])


def within(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """All statements, those inside of others too."""
    for item in body:
        yield item
        if isinstance(item, Loop | If | Kernel):
            yield from within(item.body)


def _join(out: list[Statement], last: int, rows: Rows, views: dict[str, str]) -> tuple[list[Statement], int] | None:
    first = _rows(out[last])
    if first is None or first.loop.extent != rows.loop.extent or first.loop.name != rows.loop.name:
        return None
    if sum(1 for _ in within((first.kernel, rows.kernel))) > LONGEST:
        return None
    if not _shares(first, rows, views) or not _ordered(first, rows, views):
        return None
    moved = _between(out[last + 1 :], first, rows, views)
    if moved is None:
        return None
    early, late = moved
    if {name for s in late for name in defines(s)} & {name for s in within((rows.kernel,)) for name in scalars_read(s)}:
        return None
    loop = Loop(rows.loop.name, rows.loop.extent, (*first.loop.body, *rows.loop.body))
    title = ", ".join(dict.fromkeys(f"{first.kernel.title}, {rows.kernel.title}".split(", ")))
    locs = tuple(dict.fromkeys((*first.kernel.locs, *rows.kernel.locs)))
    kernel = Kernel(title, (*first.before, *rows.before, loop, *first.after, *rows.after), locs)
    return [*out[:last], *early, kernel, *late], last + len(early)


def _shares(first: Rows, rows: Rows, views: dict[str, str]) -> bool:
    """Whether there is anything to gain: a result handed on, or a matrix that both read."""
    written = {root(s.buffer, views) for s in within((first.kernel,)) if isinstance(s, Store | Update)}
    loads = [s for s in within((rows.kernel,)) if isinstance(s, Load)]
    if any(root(s.buffer, views) in written for s in loads):
        return True
    matrices = {s.buffer for s in within((first.kernel,)) if isinstance(s, Load) and len(s.index) > 1}
    return any(s.buffer in matrices for s in loads)


def _ordered(first: Rows, rows: Rows, views: dict[str, str]) -> bool:
    """Whether row after row gives what one kernel after the other does."""
    here = Affine(((first.loop.name, 1),))

    def touched(part: Rows) -> dict[str, list[tuple[bool, str, bool]]]:
        found: dict[str, list[tuple[bool, str, bool]]] = {}
        inside = {id(s) for s in within(part.loop.body)}
        for s in within((part.kernel,)):
            if isinstance(s, Load | Store | Update):
                own_row = id(s) in inside and bool(s.index) and s.index[0] == here
                found.setdefault(root(s.buffer, views), []).append((not isinstance(s, Load), s.buffer, own_row))
        return found

    one, other = touched(first), touched(rows)
    for memory in one.keys() & other.keys():
        uses = one[memory] + other[memory]
        if any(writes for writes, _, _ in uses) and not (
            all(own_row for _, _, own_row in uses) and len({name for _, name, _ in uses}) == 1
        ):
            return False
    finished = {name for s in first.after for name in defines(s)}
    return not finished & {name for s in within((rows.kernel,)) for name in scalars_read(s)}


def _between(
    items: list[Statement], first: Rows, rows: Rows, views: dict[str, str]
) -> tuple[list[Statement], list[Statement]] | None:
    """What stands between two kernels: what can move before both, and what has to wait until after."""
    written = {root(s.buffer, views) for s in within((first.kernel,)) if isinstance(s, Store | Update)}
    finished = {name for s in first.after for name in defines(s)}
    early: list[Statement] = []
    late: list[Statement] = []
    for item in items:
        if isinstance(item, Kernel):  # it stays behind, and takes no part
            if _depends(rows, item, views):
                return None
            finished |= {name for s in item.body for name in defines(s)}
            written |= {root(s.buffer, views) for s in within((item,)) if isinstance(s, Store | Update)}
            late.append(item)
            continue
        if isinstance(item, Check) and (item.status > 0 or scalars_read(item)):
            return None
        if isinstance(item, Alloc) and item.source is not None and root(item.source, views) in written:
            return None
        waits = bool(finished & set(scalars_read(item)))
        waits |= isinstance(item, Load) and root(item.buffer, views) in written
        if waits:
            finished |= set(defines(item))
        (late if waits else early).append(item)
    return early, late


def _depends(rows: Rows, item: Kernel, views: dict[str, str]) -> bool:
    """Whether it matters which of two kernels comes first."""

    def uses(kernel: Kernel) -> tuple[set[str], set[str]]:
        inside = [*within((kernel,))]
        written = {root(s.buffer, views) for s in inside if isinstance(s, Store | Update)}
        return written, written | {root(s.buffer, views) for s in inside if isinstance(s, Load)}

    (here, all_here), (there, all_there) = uses(rows.kernel), uses(item)
    found = {name for s in item.body for name in defines(s)}
    return bool(here & all_there or there & all_here) or any(
        name in found for s in within((rows.kernel,)) for name in scalars_read(s)
    )


def root(buffer: str, views: dict[str, str]) -> str:
    while buffer in views:
        buffer = views[buffer]
    return buffer


def defines(item: Statement) -> list[str]:
    """The scalars that a statement gives a value."""
    return [item.name] if isinstance(item, Let | Position | Load | Within | Wrap | Result) else []


def scalars_read(item: Statement) -> list[str]:
    """The scalars that a statement reads, those of its indices included."""
    match item:
        case Let(args=args) | Call(args=args):
            return [a for a in args if isinstance(a, str)]
        case Position(index=index):
            return _in_index((index,))
        case Load(index=index, mask=mask):
            return [*_in_index(index), *([mask] if mask else [])]
        case Within(index=index, base=base):
            return [*_in_index((index,)), *([base] if base else [])]
        case Wrap(value=value, mask=mask):
            return [v for v in (value, mask) if isinstance(v, str)]
        case Store(index=index, value=value) | Update(index=index, value=value):
            return [*_in_index(index), *([value] if isinstance(value, str) else [])]
        case Accumulate(value=value, position=position):
            where = _in_index((position,)) if position is not None else []
            return [*where, *([value] if isinstance(value, str) else [])]
        case If(condition=condition):
            return [condition]
        case Check(left=left, right=right):
            return [v for v in (left, right) if isinstance(v, str)]
        case Bind(value=value):
            return [value] if isinstance(value, str) else []
        case _:
            return []


def _in_index(index: Index) -> list[str]:
    return [name for a in index for name, _ in a.terms]


# ------------------------------------------------------------------------------------------------------- memory
def _shrink(body: tuple[Statement, ...], outputs: set[str], views: dict[str, str]) -> tuple[Statement, ...]:
    """Buffers that only one loop over rows touches, each row in its own turn, hold one row, or are a scalar."""
    kept = outputs | {root(name, views) for name in outputs} | set(views.values()) | set(views)
    local: dict[str, str] = {}  # buffers and the loop over rows that they live in
    for item in body:
        for s in within((item,)):
            if isinstance(s, Call):
                kept |= {a for a in (*s.args, *s.outs) if isinstance(a, str)}
            if isinstance(s, Alloc) and s.source is not None:
                kept.add(s.source)
        rows = _rows(item)
        loop = rows.loop if rows is not None and any(isinstance(s, Loop) for s in rows.loop.body) else None
        inside = {id(s) for s in within(loop.body)} if loop is not None else set()
        for s in within((item,)):
            if isinstance(s, Load | Store | Update):
                own = loop is not None and id(s) in inside and s.index and s.index[0] == Affine(((loop.name, 1),))
                here = f"{id(item)}"
                if not own or local.setdefault(s.buffer, here) != here:
                    kept.add(s.buffer)
    allocs = {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc) and s.fill is None and s.source is None}
    small = {name for name in local if name in allocs and name not in kept}
    small = {name for name in small if len(allocs[name].shape) > 1 or _stored_once(name, body)}
    out: list[Statement] = []
    names: dict[str, Operand] = {}
    for item in body:
        if isinstance(item, Alloc) and item.buffer.name in small:
            if len(item.buffer.shape) > 1:
                out.append(Alloc(replace(item.buffer, shape=item.buffer.shape[1:])))
            continue
        out += _without_rows((item,), small, names)
    return tuple(out)


def _stored_once(name: str, body: tuple[Statement, ...]) -> bool:
    """Whether a value for each row is written by one statement of the loop over rows itself."""
    for item in body:
        rows = _rows(item)
        if rows is not None and any(isinstance(s, Store) and s.buffer == name for s in rows.loop.body):
            return sum(1 for s in within((item,)) if isinstance(s, Store | Update) and s.buffer == name) == 1
    return False


def _without_rows(body: tuple[Statement, ...], small: set[str], names: dict[str, Operand]) -> list[Statement]:
    out: list[Statement] = []
    for item in body:
        if isinstance(item, Load | Store | Update) and item.buffer in small and len(item.index) == 1:
            if isinstance(item, Load):
                names[item.name] = names[f"row of {item.buffer}"]
            else:
                names[f"row of {item.buffer}"] = _renamed(item, names).value  # type: ignore[union-attr]
            continue
        item = _renamed(item, names)
        if isinstance(item, Load | Store | Update) and item.buffer in small:
            item = replace(item, index=item.index[1:])
        if isinstance(item, Loop | If | Kernel):
            item = replace(item, body=tuple(_without_rows(item.body, small, names)))
        out.append(item)
    return out


def _renamed(item: Statement, names: dict[str, Operand]) -> Statement:
    """A statement that reads other scalars."""
    match item:
        case Let(args=args) if any(a in names for a in args if isinstance(a, str)):
            return replace(item, args=tuple(names.get(a, a) if isinstance(a, str) else a for a in args))
        case Store(value=str(value)) | Update(value=str(value)) | Accumulate(value=str(value)) | Wrap(value=str(value)):
            return replace(item, value=names[value]) if value in names else item
        case Check(left=str(left)) if left in names:
            return replace(item, left=names[left])
        case _:
            return item
