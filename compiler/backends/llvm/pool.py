"""Memory of results and temporaries: a bounded pool of freed blocks, and NumPy's way of giving them back.

Fresh pages are dear: the system clears each at its first touch, which takes 10 to 40 times as long as writing to pages
that are there (4 MB: 2.5 ms in pages of 4 KB, 0.4 ms in huge ones, 0.1 ms again). So blocks of 64 KB and more are
kept when they are freed, the newest in front, and handed out again. Smaller ones are malloc's, which keeps them itself.

A block begins with 16 bytes that say what it is part of and how much it holds, so that nobody has to know its size to
free or resize it. Arrays own their block through a handler (NEP 49), which NumPy calls when the array and all its views
are gone. No function here needs the global interpreter lock; each may be called from any thread.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path

from . import capi
from .pool_ir import STATE

LIMIT = 512 << 20  # bytes that it holds at most; less where the machine is small
_MEMORY_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")  # of a container


def sensible_limit() -> int:
    """Bytes that the pool may hold: LIMIT, but no more than a sixteenth of the memory there is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _MEMORY_FILES:
        text = Path(path).read_text().strip() if os.access(path, os.R_OK) else ""
        memory = min(memory, int(text)) if text.isdigit() else memory
    return min(LIMIT, memory // 16)


class Pool:
    """The pool of a process, once its code is loaded: `address` finds functions of `pool_text`, `owner` keeps them.

    Arrays outlive whatever made them, so the owner is kept for as long as the process lives.
    """

    def __init__(self, address: Callable[[str], int], owner: object) -> None:
        def pointer(name: str) -> int:
            return int(ctypes.CFUNCTYPE(ctypes.c_void_p)(address(name))() or 0)

        self._state = (ctypes.c_int64 * len(STATE)).from_address(pointer("nt_pool_state"))
        self._drop = ctypes.CFUNCTYPE(ctypes.c_int)(address("nt_pool_drop"))
        self.handler = capi.capsule(pointer("nt_pool_handler"), pointer("nt_pool_handler_name"))
        self.limit = sensible_limit()
        capi.pin(owner)
        capi.pin(self.handler)
        forked = ctypes.CFUNCTYPE(None)(address("nt_pool_forked"))
        os.register_at_fork(after_in_child=forked)

    def counters(self) -> dict[str, int]:
        """What the pool holds and may hold, in blocks and bytes, and what it has done."""
        return dict(zip(STATE, self._state, strict=True))

    @property
    def limit(self) -> int:
        """Bytes that the pool holds at most; 0 turns it off."""
        return int(self._state[STATE.index("limit")])

    @limit.setter
    def limit(self, size: int) -> None:
        if size < 0:
            raise ValueError(f"the pool can't hold {size} bytes")
        shrinks = size < self.limit
        self._state[STATE.index("limit")] = size
        if shrinks:
            self.clear()

    def clear(self) -> None:
        """Give all that the pool holds back to the system."""
        while dropped := self._drop():
            if dropped < 0:
                time.sleep(0.001)  # another thread is at work on it
