"""Borders around an array: np.pad."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import Dim
from ..values import dtype_of, emit, facts, rank_of, sizes, to_size
from .common import array as as_array
from .common import axis_of, broadcast_to, cast, iota, size_value, unsupported

Size = int | Dim


def pad(array, pad_width, mode="constant", **kwargs):
    x = as_array(array)
    rank = rank_of(x)
    widths = _pairs(pad_width, rank, to_size)
    if any(facts().less(w, 0) for pair in widths for w in pair):
        raise ValueError("index can't contain negative values")
    if mode in ("constant", "empty"):
        values = _pairs(kwargs.pop("constant_values", 0), rank, lambda v: v)
        _no_more(mode, kwargs)
        for axis, (width, value) in enumerate(zip(widths, values, strict=True)):
            x = _with_borders(x, axis, width, value)
        return x
    if mode not in ("edge", "reflect", "symmetric", "wrap"):
        fix = "Modes constant, edge, reflect, symmetric and wrap are; else build the border and use np.concatenate."
        raise unsupported("pad", f"mode={mode!r}", fix)
    if kwargs.pop("reflect_type", "even") != "even":
        raise unsupported("pad", "reflect_type='odd'", "Compute 2*edge - np.pad(x, ..., mode='reflect') at the border.")
    _no_more(mode, kwargs)
    for axis, (before, after) in enumerate(widths):
        if (before, after) == (0, 0):
            continue
        length = sizes(x)[axis]
        if facts().sign(length) == 0:
            raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
        place = emit("subtract", iota(before + length + after), size_value(before))
        x = emit("gather", x, _border_index(mode, place, length), axes=(axis,), at=axis)
    return x


def _no_more(mode: Any, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(kwargs)}")


def _pairs(argument: Any, rank: int, convert: Any) -> list[tuple[Any, Any]]:
    """An argument of np.pad (one for all, one pair for all, a pair per axis, or a dict of axes) as a pair per axis."""
    if isinstance(argument, dict):
        found: list[tuple[Any, Any]] = [(0, 0)] * rank
        for axis, item in argument.items():
            found[axis_of(axis, rank)] = _pairs(item, 1, convert)[0]
        return found
    if isinstance(argument, np.ndarray):
        argument = argument.tolist()
    if not isinstance(argument, list | tuple):
        return [(convert(argument), convert(argument))] * rank
    items = [p.tolist() if isinstance(p, np.ndarray) else p for p in argument]
    if all(isinstance(p, list | tuple) for p in items):
        items = items * rank if len(items) == 1 else items
        if len(items) != rank:
            raise ValueError(f"operands could not be broadcast together: {len(items)} pairs for {rank} axes")
        return [(convert(p[0]), convert(p[-1])) for p in items]
    return [(convert(items[0]), convert(items[-1]))] * rank


def _with_borders(x: Any, axis: int, width: tuple[Size, Size], value: tuple[Any, Any]) -> Any:
    parts = [x]
    for side, (size, filler) in enumerate(zip(width, value, strict=True)):
        if type(size) is int and size == 0:
            continue
        shape = tuple(size if i == axis else s for i, s in enumerate(sizes(x)))
        border = broadcast_to(cast(filler, dtype_of(x)), shape)
        parts = [*parts, border] if side else [border, *parts]
    return emit("concatenate", *parts, axis=axis) if len(parts) > 1 else x


def _border_index(mode: str, place: Any, length: Size) -> Any:
    """Which element stands at each place (counted from the first element, negative before it)."""
    n = size_value(length)
    last = emit("subtract", n, 1)
    match mode:
        case "edge":
            return emit("minimum", emit("maximum", place, 0), last)
        case "wrap":
            return emit("remainder", place, n)
        case "symmetric":
            turn = emit("remainder", place, emit("multiply", n, 2))
            return emit("minimum", turn, emit("subtract", emit("subtract", emit("multiply", n, 2), 1), turn))
    # reflect: the period of a single element would be 0
    period = emit("multiply", last, 2)
    turn = emit("remainder", place, emit("maximum", period, 1))
    return emit("minimum", turn, emit("subtract", period, turn))


FUNCTIONS: dict[Any, Any] = {np.pad: pad}
