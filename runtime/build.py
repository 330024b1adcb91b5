"""From a graph to something that runs: optimise, choose a back end, compile, and prepare arrays for it."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ..compiler.simplify import simplify
from ..tracer.graph import Graph
from . import hooks
from .settings import settings


def compile_optimised(graph: Graph, backend: str = "auto") -> Any:
    """Compile a graph with the back end asked for, or the one of the settings."""
    from ..compiler.pipeline import compile_graph

    name = chosen(backend)
    with hooks.waiting(graph):
        code = compile_graph(simplify(graph), name, _store() if name == "llvm" else None)
    hooks.compiled(graph, name, code)
    return code


def chosen(backend: str = "auto") -> str:
    """The back end that "auto" comes to: that of the settings, else native code where it is verified, else numba."""
    name = settings().backend if backend == "auto" else backend
    if name == "auto":
        return "numba" if unverified() else "llvm"
    if name == "llvm" and unverified():
        raise ValueError(f"the back end 'llvm' can't serve here: {unverified()}; 'numba' can")
    return name


@lru_cache(1)
def unverified() -> str:
    """Why native code can't serve in this process; empty where it can."""
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed"
    from ..compiler.backends.llvm.capi import verified

    return verified()


def _store() -> Any:
    from .store import default_store

    return default_store()


def native(item: Any) -> Any:
    """An array as compiled code takes it: C-contiguous, aligned, writable, in this machine's byte order."""
    if type(item) is np.ndarray:
        if item.flags.carray and item.dtype.isnative:
            return item
    elif not isinstance(item, np.ndarray):
        return item
    return np.array(item, dtype=item.dtype.newbyteorder("="), order="C", subok=False)
