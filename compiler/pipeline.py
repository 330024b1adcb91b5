"""From a graph to something that runs."""

from __future__ import annotations

from typing import Any, Protocol

from ..tracer.graph import Graph


class Compiled(Protocol):
    """A compiled graph. `run` gives (status, outputs): 0 for success, k + 1 when guard k fails, else below 0."""

    source: str
    kernels: str
    compile_seconds: float

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]: ...

    @property
    def dispatcher(self) -> Any: ...


def compile_graph(graph: Graph, backend: str = "numba") -> Compiled:
    """Compile a graph for a back end: "numba", or "interpreter" for NumPy, node after node."""
    from .backends import backend_named

    return backend_named(backend)(graph)
