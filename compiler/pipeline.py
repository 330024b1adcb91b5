"""From a graph to something that runs."""

from __future__ import annotations

from typing import Any, Protocol

from ..tracer.graph import Graph


class Compiled(Protocol):
    """A compiled graph. `run` gives (status, outputs): 0 for success, k + 1 when guard k fails, else below 0."""

    source: str
    kernels: str
    compile_seconds: float
    found: bool  # whether the machine code was in the store

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]: ...

    @property
    def dispatcher(self) -> Any: ...


def compile_graph(graph: Graph, backend: str, store: Any = None) -> Compiled:
    """Compile a graph for a back end: "llvm", "numba", or "interpreter" for NumPy, node after node.

    `store` keeps object code between processes, for the back end that has any: ``get(key)`` and ``put(key, bytes)``.
    """
    from .backends import backend_named

    return backend_named(backend)(graph) if store is None else backend_named(backend)(graph, store)
