"""From a graph to something that runs: optimise, compile, and prepare arrays for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.simplify import simplify
from ..tracer.graph import Graph
from .settings import settings


def compile_optimised(graph: Graph, backend: str = "auto") -> Any:
    """Compile a graph with the back end asked for, or the one of the settings."""
    from ..compiler.pipeline import compile_graph

    return compile_graph(simplify(graph), settings().backend if backend == "auto" else backend)


def native(item: Any) -> Any:
    """An array as compiled code takes it: C-contiguous, aligned, writable, in this machine's byte order."""
    if type(item) is np.ndarray:
        if item.flags.carray and item.dtype.isnative:
            return item
    elif not isinstance(item, np.ndarray):
        return item
    return np.array(item, dtype=item.dtype.newbyteorder("="), order="C", subok=False)
