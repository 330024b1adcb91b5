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
    """An array as compiled code takes it: C-contiguous, aligned, in this machine's byte order."""
    if type(item) is np.ndarray:
        flags = item.flags
        if flags.c_contiguous and flags.aligned and item.dtype.isnative:
            return item
    if isinstance(item, np.ndarray):
        return np.ascontiguousarray(item, dtype=item.dtype.newbyteorder("=")).reshape(item.shape)
    return item
