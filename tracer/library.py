"""Whose code a function, class or module is: the user's is copied for a recording, a library's is not."""

from __future__ import annotations

import sys
import sysconfig
import types
from functools import lru_cache
from typing import Any

from .context import is_inside

_ROOTS = ("numpy", "scipy", "pandas", "numba", "llvmlite", "sklearn", "numtape", "jax", "torch", "optree", "pytest")


@lru_cache(1)
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if paths.get(name)}
    return tuple(folder.rstrip("/\\") for folder in folders)


@lru_cache(4096)
def _users_file(filename: str) -> bool:
    if filename.startswith("<frozen"):
        return False
    if "site-packages" in filename or "dist-packages" in filename:
        return False
    return not filename.startswith(_library_folders()) and not is_inside(filename)


def is_users(item: Any) -> bool:
    """Whether a function, class or module was written by the user rather than by a library."""
    if isinstance(item, types.FunctionType):
        return _users_file(item.__code__.co_filename)
    name = item.__name__ if isinstance(item, types.ModuleType) else getattr(item, "__module__", None) or ""
    if name.partition(".")[0] in _ROOTS and not name.startswith("numtape.tests"):
        return False
    module = item if isinstance(item, types.ModuleType) else sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        return name == "__main__" or (module is not None and not hasattr(module, "__spec__"))
    return _users_file(file)
