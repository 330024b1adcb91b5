"""`no_retrace` and `max_traces`: contexts that raise where a function is traced more than expected."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..tracer.errors import RetraceError


class _Limits(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[tuple[Any, ...] | None, list[int]]] = []  # the functions (None: any), traces left


limits = _Limits()


@contextmanager
def no_retrace() -> Iterator[None]:
    """Raise RetraceError where any function is traced again inside the block; first traces are allowed.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> f = nt.jit(lambda x: x + 1)
    >>> with nt.no_retrace():
    ...     _ = f(np.ones(2)), f(np.ones(5))
    """
    limits.stack.append((None, [0]))
    try:
        yield
    finally:
        limits.stack.pop()


@contextmanager
def max_traces(fn: Any, n: int) -> Iterator[None]:
    """Raise RetraceError where `fn` is traced more than `n` times inside the block, first traces included.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> f = nt.jit(lambda x: x + 1)
    >>> with nt.max_traces(f, 1):
    ...     _ = f(np.ones(2)), f(np.ones(5))
    """
    target = getattr(fn, "__func__", fn)  # of a method: each access binds it anew
    parts = getattr(target, "_compiled", (target,))
    if not all(hasattr(type(part), "__numtape_transform__") for part in parts):
        raise TypeError(f"max_traces takes a compiled function, not {type(fn).__name__}")
    limits.stack.append((parts, [n]))
    try:
        yield
    finally:
        limits.stack.pop()


def check(function: Any, kind: str, explanation: Any) -> None:
    """Called for each trace: raise if a context of this thread forbids it."""
    for wanted, left in limits.stack:
        if wanted is None and kind != "first":
            raise RetraceError(f"{explanation}\n(inside nt.no_retrace())", explanation=explanation)
        if wanted is not None and any(function is part for part in wanted):
            left[0] -= 1
            if left[0] < 0:
                raise RetraceError(f"{explanation}\n(inside nt.max_traces)", explanation=explanation)
