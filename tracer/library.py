"""Whose code a function, class or module is: a recording runs copies of the user's, never of a library's."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import types
from functools import lru_cache

from .context import is_inside

_LIBRARIES = {"numpy", "scipy", "pandas", "numba", "llvmlite", "sklearn", "optree", "numtape", "builtins"}
# layers are written on the public API alone, like a user's code; tests and examples are a user's code
_OWN_USERS = tuple(f"numtape.{name}" for name in ("runtime.layers", "tests", "examples", "benchmarks", "docs"))
_PACKAGES = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


@lru_cache(1)
def _folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    paths = [sysconfig.get_path(name) for name in names]
    if site.ENABLE_USER_SITE:
        paths.append(site.getusersitepackages())
    return tuple({os.path.realpath(p) + os.sep for p in paths if p})


@lru_cache(8192)
def is_library_file(filename: str) -> bool:
    """Whether a file belongs to Python, to an installed package or to this library."""
    if filename.startswith("<"):
        return filename.startswith(("<frozen", "<__array_function__", "<numtape"))
    path = os.path.realpath(filename)
    return path.startswith(_folders()) or any(p in path for p in _PACKAGES) or is_inside(filename)


def root_package(name: str | None) -> str:
    """The package that a function belongs to, unless it is a library's that is never copied."""
    top = (name or "").partition(".")[0]
    return "" if top in _LIBRARIES or top in sys.stdlib_module_names else top


def public_module(function: object) -> str:
    """The public module of a library's function: that of ``scipy.special._logsumexp`` is ``scipy.special``."""
    return ".".join(part for part in (getattr(function, "__module__", "") or "").split(".") if not part.startswith("_"))


def _is_library_module(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARIES and not name.startswith(_OWN_USERS)


def is_users_function(function: types.FunctionType, home: str = "") -> bool:
    """Whether a Python function is the user's. All of the package `home` is."""
    module = str(function.__globals__.get("__name__") or "")
    code = function.__code__
    if code.co_filename == "<string>" and code.co_name.startswith("__"):
        return False  # what dataclass and namedtuple generate
    if module.startswith(_OWN_USERS) or (home and module.partition(".")[0] == home):
        return True
    return not _is_library_module(module) and not is_library_file(code.co_filename)


def is_users_name(name: object, home: str = "") -> bool:
    """Whether a module of this name is the user's."""
    if not isinstance(name, str):
        return False
    return bool(home and name.partition(".")[0] == home) or _is_users_name(name, sys.modules.get(name))


@lru_cache(1024)
def _is_users_name(name: str, module: types.ModuleType | None) -> bool:
    if name.startswith(_OWN_USERS):
        return True
    if _is_library_module(name) or name in sys.builtin_module_names:
        return False
    file = getattr(module, "__file__", None)
    if file is None:
        # a script, a notebook, or a module that exists in memory alone
        return name == "__main__" or getattr(getattr(module, "__spec__", None), "origin", None) is None
    return not is_library_file(file)
