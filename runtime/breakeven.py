"""After how many calls a compile has paid for itself: compiled code against NumPy, on arrays like those traced."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import numpy as np

from ..compiler.pipeline import compile_graph
from ..tracer.graph import Graph
from .cache import Entry

LARGEST = 1 << 26  # bytes of inputs that are made up
BUDGET = 0.2  # seconds after which one kind of run is repeated no more
RUNS = 5


def seconds_saved(entry: Entry) -> float | None:
    """Seconds that a call of an entry saves against NumPy, operation by operation; below 0 where it loses.

    Nothing of the user's runs: both get arrays made up in the lengths of the trace. None where those don't get through
    its guards, or are too large.
    """
    graph = entry.plan.graph
    inputs = _made_up(graph, entry.event.values)
    if inputs is None or not entry.compiled.compile_seconds:
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            if entry.compiled.run(inputs)[0]:
                return None
            return _fastest(compile_graph(graph, "interpreter").run, inputs) - _fastest(entry.compiled.run, inputs)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError):
            return None  # NumPy refuses such numbers


def _made_up(graph: Graph, values: dict[str, Any]) -> list[Any] | None:
    """Inputs of a graph: arrays of ones, of zeros where they may be indices, and the numbers of the trace."""
    out: list[Any] = []
    size = 0
    for index, name in enumerate(graph.names):
        value, type_ = values.get(name), graph.nodes[index].type
        if isinstance(value, tuple):
            dtype = np.dtype(type_.dtype)  # type: ignore[union-attr]  # an input is no tuple
            size += dtype.itemsize * int(np.prod(value, dtype=np.int64))
            if size > LARGEST:
                return None
            out.append(np.full(value, dtype.kind in "fb", dtype))
        elif value is None:
            return None
        else:
            out.append(value)
    return out


def _fastest(run: Any, inputs: list[Any]) -> float:
    best, spent = float("inf"), 0.0
    for _ in range(RUNS):
        began = perf_counter()
        run(inputs)
        took = perf_counter() - began
        best, spent = min(best, took), spent + took
        if spent > BUDGET:
            break
    return best
