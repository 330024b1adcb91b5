"""Buffers of the same dtype and shape that live one after the other share memory."""

from __future__ import annotations

from typing import Any

from ..tracer.plain import replace
from .kernel import Alloc, Call, Fill, If, Kernel, Load, Loop, Statement, Store, Update, View
from .rows import root, within


def reuse(body: tuple[Statement, ...], results: set[str]) -> tuple[Statement, ...]:
    """The statements of a program, where a new buffer takes the place of one that nothing reads any more."""
    views = {s.buffer.name: s.source for s in body if isinstance(s, View)}
    kept = {root(name, views) for name in results}
    last: dict[str, int] = {}
    for number, item in enumerate(body):
        for name in mentioned(item):
            last[root(name, views)] = number
    ends: dict[int, list[str]] = {}
    for name, number in last.items():
        ends.setdefault(number, []).append(name)
    made = {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc)}
    free: dict[Any, list[str]] = {}
    names: dict[str, str] = {}
    out: list[Statement] = []
    for number, item in enumerate(body):
        if isinstance(item, Alloc) and item.source is None and item.buffer.name not in kept:
            waiting = free.get((item.buffer.dtype, item.buffer.shape))
            if waiting:
                names[item.buffer.name] = waiting.pop()
                if item.fill is not None:
                    out.append(Fill(names[item.buffer.name], item.fill))
                continue
        out.append(_renamed(item, names))
        for name in ends.get(number, []):
            if name in made and name not in kept:
                buffer = made[name]
                free.setdefault((buffer.dtype, buffer.shape), []).append(names.get(name, name))
    return tuple(out)


def mentioned(item: Statement) -> list[str]:
    """The buffers that a statement names."""
    out: list[str] = []
    for s in within((item,)):
        match s:
            case Load(buffer=name) | Store(buffer=name) | Update(buffer=name) | View(source=name):
                out.append(name)
            case Alloc(buffer=buffer, source=source):
                out += [buffer.name, *([source] if source else [])]
            case Call(args=args, outs=outs):
                out += [a for a in (*args, *outs) if isinstance(a, str)]
    return out


def _renamed(item: Statement, names: dict[str, str]) -> Statement:
    match item:
        case Load(buffer=name) | Store(buffer=name) | Update(buffer=name):
            return replace(item, buffer=names[name]) if name in names else item
        case View(source=name):
            return replace(item, source=names.get(name, name))
        case Alloc(source=str(name)):
            return replace(item, source=names.get(name, name))
        case Call(args=args, outs=outs):
            moved = tuple(names.get(a, a) if isinstance(a, str) else a for a in args)
            return replace(item, args=moved, outs=tuple(names.get(o, o) for o in outs))
        case Kernel(body=body) | Loop(body=body) | If(body=body):
            return replace(item, body=tuple(_renamed(s, names) for s in body)) if names else item
        case _:
            return item
