"""The settings of this process: the one place where the environment is read, once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

BACKENDS = ("numba",)


@dataclass(frozen=True)
class Settings:
    """What the environment says. `backend` compiles, `log` is a file that events are appended to ("" for none)."""

    backend: str
    log: str


@lru_cache(1)
def settings() -> Settings:
    """Read ``NUMTAPE_BACKEND`` and ``NUMTAPE_LOG``; empty means unset."""
    backend = os.environ.get("NUMTAPE_BACKEND") or BACKENDS[0]
    if backend not in BACKENDS:
        raise ValueError(f"NUMTAPE_BACKEND must be one of {', '.join(BACKENDS)}, not {backend!r}")
    return Settings(backend, os.environ.get("NUMTAPE_LOG", ""))
