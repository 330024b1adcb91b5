"""The back end that needs no compiler: NumPy, node after node. It serves what the others have no template for."""

from __future__ import annotations

from typing import Any

from ...tracer.evaluate import GuardFailed, evaluate
from ...tracer.graph import Graph


class Interpreted:
    """A graph that NumPy computes, with the interface of a compiled one."""

    kernels = ""
    compile_seconds = 0.0
    found = False

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.source = str(graph)

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Compute the outputs: (status, outputs), as compiled code gives them."""
        try:
            return 0, list(evaluate(self.graph, inputs))
        except GuardFailed as failure:
            return failure.index + 1, []

    @property
    def dispatcher(self) -> Any:
        raise TypeError(
            f"{self.graph.name} holds an op or dtype that numba can't compile: it can't be called from @njit code"
        )
