"""What happened at a call that had no entry: one event each, in a short memory per function."""

from __future__ import annotations

import itertools
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ..tracer.graph import NOWHERE, Guard, Loc
from .signature import Signature

_numbers = itertools.count(1)


ALIASING = "arguments that are one array"
"""What a miss names as its capture where other arguments than before are one object."""


@dataclass(frozen=True)
class Miss:
    """Why one existing entry did not serve a call: a guard, a capture, or its signature."""

    entry: Any = None  # a weak reference: the account of a trace keeps no compiled code alive
    guard: Guard | None = None
    capture: str = ""
    before: str = ""
    after: str = ""


@dataclass
class Event:
    """One recording of a function, one that failed, or its first call that ran uncompiled."""

    function: str
    line: Loc
    kind: str  # "first", "retrace", "fallback", "failed"
    signature: Signature
    names: tuple[str, ...]
    call_site: Loc = NOWHERE
    known: tuple[Signature, ...] = ()
    misses: tuple[Miss, ...] = ()
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    nodes: int = 0
    number: int = field(default_factory=lambda: next(_numbers))
    time: float = field(default_factory=time.time)
    transform: str = "jit"
    values: dict[str, Any] = field(default_factory=dict)  # per graph input its shape, or a Python number itself
    explanation: Any = None
    found: bool = False  # whether the machine code came from the store


def present(leaf: Any) -> Any:
    """What of a leaf is not in its signature but may have failed a guard: a shape, or a number."""
    if type(leaf) in (int, float):
        return leaf
    shape = getattr(leaf, "shape", None)
    return tuple(shape) if isinstance(shape, tuple) else None


class History:
    """The last events of one function."""

    def __init__(self, length: int = 64) -> None:
        self.events: deque[Event] = deque(maxlen=length)

    def add(self, event: Event) -> None:
        self.events.append(event)
        for listener in listeners:
            listener(event)

    def last(self) -> Event | None:
        return self.events[-1] if self.events else None

    def all(self) -> list[Event]:
        """The events as they are now: other threads may add some meanwhile."""
        return list(self.events)


listeners: list[Any] = []
"""Called with each event: the command line's `run` adds one for the time of a script."""
