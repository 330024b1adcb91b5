"""A graph compiled to machine code by LLVM, and how it is called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Container, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from ....tracer.graph import Graph
from ....tracer.plain import replace
from ....tracer.types import SHORT
from ...kernel import INDEX, Input
from ...lower import lower
from ...plan import program_of
from ...segments import segmented
from ...steps import has_strange_dtype, is_supported
from ..interpreter import Interpreted
from .engine import ObjectStore, engine
from .entry import Result
from .functions import MEMORY, NOTHING, write_program
from .module import Module
from .target import lanes

PICKS = ("gather", "scatter_add", "scatter_set")


def compile_llvm(graph: Graph, store: ObjectStore | None = None) -> Any:
    """Compile a graph; what has no kernel form, or no arithmetic here, is NumPy's."""
    if store is not None:
        engine().store = store
    if has_strange_dtype(graph) or not is_supported(lower(graph)):
        return segmented(graph, Compiled) or Interpreted(graph)
    return Compiled(graph)


def native_text(graph: Graph) -> str:
    """The LLVM IR of a graph."""
    return str(_module(graph)[1])


def _module(graph: Graph) -> tuple[Any, Module]:
    program, module = program_of(graph), Module(lanes())
    write_program(program, module, "core", refuses_nothing=any(node.op in PICKS for node in graph.nodes))
    return program, module


class Compiled:
    """A compiled graph. Calls are re-entrant: everything of a call lives in its own memory.

    `found` says whether the object code came from the store.
    """

    def __init__(self, graph: Graph) -> None:
        began = perf_counter()
        self.graph = graph
        self.program, module = _module(graph)
        self._loaded = engine().load_module(str(module), module, ["core"])
        self.found = self._loaded.found
        everything = tuple(range(len(self.program.outputs)))
        self._entry = self.entry(everything, lambda *_: None, np.zeros(1, np.int64), graph.name)
        self.compile_seconds = perf_counter() - began

    def entry(
        self, result: Result, fallback: Callable[..., Any], counters: Any, name: str, numbers: Container[int] = ()
    ) -> Any:
        """A built-in function of the inputs that gives `result`, an output's number or a tuple of results.

        What doesn't fit goes to `fallback`, with the same arguments; ``counters[0]`` counts what did. The outputs in
        `numbers` are NumPy's numbers where they would be Python's.
        """
        outputs = [replace(o, weak=False) if k in numbers else o for k, o in enumerate(self.program.outputs)]
        return engine().runtime.builtin(
            self._loaded.addresses["core"], self.program.inputs, outputs, result, fallback, counters,
            name, keep=self._loaded,
        )  # fmt: skip

    def run(self, inputs: Sequence[Any]) -> tuple[int, list[Any]]:
        """Call it: (status, outputs). There are no outputs unless the status is 0."""
        outputs = self._entry(*inputs)
        if outputs is None:
            inputs = [_fitting(item, value) for item, value in zip(self.program.inputs, inputs, strict=True)]
            outputs = self._entry(*inputs)
        return (0, list(outputs)) if outputs is not None else self._refused(inputs)

    def _refused(self, inputs: Sequence[Any]) -> tuple[int, list[Any]]:
        """Why the core refuses these inputs, which it is called for once more; NumPy answers where it has to."""
        slots = b"".join(_slots(item, value) for item, value in zip(self.program.inputs, inputs, strict=True))
        given = ctypes.create_string_buffer(slots, len(slots) + 8)
        taken = (ctypes.c_int64 * (1 + sum(1 + o.rank for o in self.program.outputs)))()
        core = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(self._loaded.addresses["core"])
        status = int(core(given, taken))
        if status == NOTHING:
            # NumPy checks indices even where nothing comes of them: loops over an empty result would not
            try:
                return Interpreted(self.graph).run(list(inputs))
            except (IndexError, ValueError):
                return INDEX, []
        if status == MEMORY:
            raise MemoryError(f"{self.graph.name}: no memory for a result or a temporary array")
        assert status, "the inputs changed while they were in use"
        return status, []

    @property
    def source(self) -> str:
        """The kernels as Python for numba: what people read, and what `dispatcher` compiles."""
        from ..numba.source import readable

        return readable(self.graph)

    @property
    def kernels(self) -> str:
        """The kernels in kernel form, printed."""
        return str(self.program)

    @cached_property
    def dispatcher(self) -> Any:
        """The function ``(*inputs) -> (status, *outputs)`` for other code that numba compiles."""
        from ..numba import compile_numba

        return compile_numba(self.graph).dispatcher


def _fitting(item: Input, value: Any) -> Any:
    """A value as the entry takes it: an array laid out plainly, a Python number, or an array of rank 0."""
    if item.weak:
        return {"f": float, "b": bool}.get(item.dtype.kind, int)(value)
    array = np.asarray(value)
    if item.rank and (array.dtype != item.dtype or array.ndim != item.rank):
        expected = f"{SHORT[item.dtype.name]}[{','.join(':' * item.rank)}]"
        raise TypeError(f"{item.name}: expected {expected}, got {array.dtype} of rank {array.ndim}")
    # two integers of C, long and long long, are equal as dtypes but not in their numbers; np.array leaves them be
    plain = item.rank and array.flags.carray and array.dtype.num == item.dtype.num
    return array if plain else array.astype(item.dtype, order="C")


def _slots(item: Input, value: Any) -> bytes:
    """The words of an input, as the core reads them."""
    array = np.asarray(value, item.dtype)
    if not item.rank:
        return array.tobytes().ljust(8, b"\0")
    return np.array([array.ctypes.data, *array.shape], np.int64).tobytes()
