"""The settings of this process: the one place where the environment is read, once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

BACKENDS = ("auto", "llvm", "numba")


@dataclass(frozen=True)
class Settings:
    """What the environment says.

    `backend` compiles, `log` is a file that events are appended to ("" for none), `cache_dir` is where compiled code is
    kept ("" where no home directory is known).
    """

    backend: str
    log: str
    cache_dir: str


@lru_cache(1)
def settings() -> Settings:
    """Read ``NUMTAPE_BACKEND``, ``NUMTAPE_LOG`` and ``NUMTAPE_CACHE_DIR``; empty means unset."""
    backend = os.environ.get("NUMTAPE_BACKEND") or BACKENDS[0]
    if backend not in BACKENDS:
        raise ValueError(f"NUMTAPE_BACKEND must be one of {', '.join(BACKENDS)}, not {backend!r}")
    chosen = os.environ.get("NUMTAPE_CACHE_DIR", "")
    cache_dir = os.path.expanduser(chosen) if chosen else _users_cache_dir()
    return Settings(backend, os.environ.get("NUMTAPE_LOG", ""), cache_dir)


def _users_cache_dir() -> str:
    """The platform's directory for a user's caches; "" without a home, which is not ours to make."""
    from platformdirs import user_cache_dir

    try:
        directory = user_cache_dir("numtape", appauthor=False)
    except RuntimeError:  # a user that the system doesn't know
        return ""
    home = os.path.expanduser("~")
    # older versions of platformdirs give such a user a directory "~", wherever we stand
    homeless = not os.path.isabs(directory) or (directory.startswith(home) and not os.path.isdir(home))
    return "" if homeless else directory
