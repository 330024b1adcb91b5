"""What statements of the kernel form read, and whether they may leave early."""

from __future__ import annotations

from collections import Counter

from ...kernel import (
    Alloc,
    Call,
    Check,
    If,
    Kernel,
    Load,
    Loop,
    Program,
    Statement,
    Store,
    Update,
    View,
    Within,
    Wrap,
)  # fmt: skip
from ...rows import scalars_read, within


def fails(body: tuple[Statement, ...]) -> bool:
    for item in body:
        if isinstance(item, Check | Wrap):
            return True
        if isinstance(item, Loop | If | Kernel) and fails(item.body):
            return True
        if isinstance(item, Call) and item.name == "map" and fails(item.param("program").body):
            return True
    return False


def count_uses(body: tuple[Statement, ...], uses: Counter[str]) -> None:
    for item in body:
        uses.update(scalars_read(item))
        # what is written more than once in the text needs a name
        if isinstance(item, Wrap | Within):
            uses.update(scalars_read(item))
        if isinstance(item, Loop | If | Kernel):
            count_uses(item.body, uses)


def used_here(body: tuple[Statement, ...]) -> set[str]:
    return {name for item in body for name in scalars_read(item)}


def written_in(body: tuple[Statement, ...]) -> set[str]:
    """The buffers that statements write."""
    out: set[str] = set()
    for item in body:
        match item:
            case Store(buffer=buffer) | Update(buffer=buffer):
                out.add(buffer)
            case Loop(body=inside) | If(body=inside) | Kernel(body=inside):
                out |= written_in(inside)
            case Call(outs=outs):
                out |= set(outs)
    return out


def buffers_in(program: Program) -> set[str]:
    """The buffers that anything but a view reads or writes, or that are returned."""
    out: set[str] = {o.value for o in program.outputs if isinstance(o.value, str)}
    for item in within(program.body):
        match item:
            case Load(buffer=buffer) | Store(buffer=buffer) | Update(buffer=buffer):
                out.add(buffer)
            case Alloc(source=str(source)):
                out.add(source)
            case Call(args=args, outs=outs):
                out |= {a for a in (*args, *outs) if isinstance(a, str)}
    for item in reversed(program.body):
        if isinstance(item, View) and item.buffer.name in out:
            out.add(item.source)
    return out
