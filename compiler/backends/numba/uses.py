"""What statements of the kernel form read, and whether they may leave early."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...kernel import (
    Accumulate,
    Bind,
    Call,
    Check,
    If,
    Kernel,
    Let,
    Load,
    Loop,
    Position,
    Statement,
    Store,
    Update,
    Within,
    Wrap,
)  # fmt: skip


def fails(body: tuple[Statement, ...]) -> bool:
    for item in body:
        if isinstance(item, Check | Wrap):
            return True
        if isinstance(item, Loop | If | Kernel) and fails(item.body):
            return True
        if isinstance(item, Call) and item.name == "map" and fails(item.param("program").body):
            return True
    return False


def names(item: Any) -> list[str]:
    """The scalars that a statement reads."""
    match item:
        case Let(args=args):
            return [a for a in args if isinstance(a, str)]
        case Position(index=index):
            return [n for n, _ in index.terms]
        case Load(index=index, mask=mask):
            return [*(n for a in index for n, _ in a.terms), *([mask] if mask else [])]
        case Within(index=index, base=base):
            return [*(n for n, _ in index.terms), *([base] if base else [])]
        case Wrap(value=value, mask=mask):
            return [*([value] if isinstance(value, str) else []), *([mask] if mask else [])]
        case Store(index=index, value=value) | Update(index=index, value=value):
            return [*(n for a in index for n, _ in a.terms), *([value] if isinstance(value, str) else [])]
        case Accumulate(value=value, position=position):
            where = [n for n, _ in position.terms] if position is not None else []
            return [*where, *([value] if isinstance(value, str) else [])]
        case If(condition=condition):
            return [condition]
        case Check(left=left, right=right):
            return [v for v in (left, right) if isinstance(v, str)]
        case Bind(value=value):
            return [value] if isinstance(value, str) else []
        case Call(args=args):
            return list(args)
        case _:
            return []


def count_uses(body: tuple[Statement, ...], uses: Counter[str]) -> None:
    for item in body:
        uses.update(names(item))
        # what is written more than once in the text needs a name
        if isinstance(item, Wrap | Within):
            uses.update(names(item))
        if isinstance(item, Loop | If | Kernel):
            count_uses(item.body, uses)


def used_here(body: tuple[Statement, ...]) -> set[str]:
    return {name for item in body for name in names(item)}
