"""Compiled backward passes of tapes, kept by the structure of what was recorded."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..tracer.context import context
from ..tracer.graph import BINDING, Graph
from ..tracer.values import Value
from .build import compile_optimised, native


@dataclass
class Known:
    """What is remembered of a backward graph that was met: which sources it has gradients for, and how often."""

    present: list[int]
    graph: Graph
    met: int = 1
    compiled: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_LIMIT = 256
_structures: OrderedDict[Any, Known] = OrderedDict()
_structures_lock = threading.Lock()


def remember(key: Any, build: Callable[[], tuple[list[int], Graph]]) -> Known:
    with _structures_lock:
        entry = _structures.get(key)
        if entry is not None:
            entry.met += 1
            _structures.move_to_end(key)
            return entry
    entry = Known(*build())
    with _structures_lock:
        _structures[key] = entry
        while len(_structures) > _LIMIT:
            _structures.popitem(last=False)
    return entry


def run_compiled(entry: Known, inputs: list[Value]) -> list[Value] | None:
    """Run the compiled backward pass of a structure that has come back; None where it must be interpreted."""
    if entry.met < 2 or context.trace is not None or context.recorders:
        return None
    graph = entry.graph
    if graph.guards or any(n.op in BINDING for n in graph.nodes):
        return None
    with entry.lock:
        if entry.compiled is None:
            entry.compiled = compile_optimised(graph)
    status, outs = entry.compiled.run([native(v.array) for v in inputs])
    if status != 0:
        return None
    return [Value(o) if isinstance(o, np.ndarray | np.generic) else Value(o, (), True) for o in outs]
