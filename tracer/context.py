"""What is recording on this thread, and where in the user's code it is."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .graph import NOWHERE, Loc
from .op import Op

if TYPE_CHECKING:
    from .record import Trace
    from .values import Value

Place = tuple[CodeType, int] | None


class Recorder(Protocol):
    """Whoever is told of each operation while it is active: a tape, or a recording for `jit`."""

    def record(
        self, row: Op, values: tuple[Value, ...], params: Mapping[str, Any], outs: tuple[Value, ...], place: Place
    ) -> None:
        """Take note of one operation."""


class Context(threading.local):
    """The recorders of one thread; `trace` is the one that records for `jit`, if any."""

    recorders: tuple[Recorder, ...] = ()
    trace: Trace | None = None


context = Context()
recordings: list[Trace] = []  # those under way, on any thread

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_OWN_USERS = tuple(_PACKAGE + name + os.sep for name in ("tests", "examples", "benchmarks", "docs"))
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_inside: dict[str, bool] = {}


def is_inside(filename: str) -> bool:
    """Whether a file belongs to this library or to NumPy, so that its lines are not the user's."""
    known = _inside.get(filename)
    if known is None:
        path = os.path.abspath(filename)
        own = path.startswith(_PACKAGE) and not path.startswith(_OWN_USERS)
        known = _inside[filename] = own or path.startswith(_NUMPY) or filename.startswith("<frozen")
    return known


def place(depth: int = 2) -> Place:
    """Where the user's code stands, cheaply: a line number is looked up only when it is asked for."""
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        inside = _inside.get(code.co_filename)
        if inside is False or (inside is None and not is_inside(code.co_filename)):
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def loc_of(where: Place) -> Loc:
    """The line of a place."""
    if where is None:
        return NOWHERE
    code, offset = where
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= offset < end:
            line = number if number is not None else line
            break
    return Loc(code.co_filename, line)


def user_loc() -> Loc:
    """The line where the user's code stands now."""
    return loc_of(place(2))
