"""A graph compiled by numba: its source, its dispatcher, and how it is called."""

from __future__ import annotations

from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from ....tracer.graph import Graph
from ...kernel import Program
from ...lower import lower
from ...plan import program_of
from ...segments import segmented
from ...steps import has_strange_dtype, is_supported
from ..interpreter import Interpreted
from .source import RESERVED, Source, source_of


def compile_numba(graph: Graph) -> Any:
    """Compile a graph; what has no template, or no arithmetic in numba, is NumPy's."""
    if has_strange_dtype(graph) or not is_supported(lower(graph)):
        return segmented(graph, Compiled) or Interpreted(graph)
    return Compiled(graph)


class Compiled:
    """A compiled graph. Calls are re-entrant: everything of a call lives in its own variables."""

    found = False

    def __init__(self, graph: Graph) -> None:
        began = perf_counter()
        self.graph = graph
        self.program = program_of(graph, RESERVED)
        source = source_of(self.program)
        self.source = str(source)
        self._scope = compile_source(self.program, source)
        self._entry = self._scope[f"{self.program.name}_call"]
        inputs, outputs = enumerate(self.program.inputs), enumerate(self.program.outputs)
        self._casts = [(n, _caster(i.dtype, i.weak)) for n, i in inputs if not i.rank]
        self._wraps = [(n, o.dtype.type) for n, o in outputs if not (o.rank or o.weak)]
        self._picks = any(node.op in ("gather", "scatter_add", "scatter_set") for node in graph.nodes)
        self.compile_seconds = perf_counter() - began

    @property
    def kernels(self) -> str:
        """The kernels in kernel form, printed."""
        return str(self.program)

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Call it: (status, outputs). There are no outputs unless the status is 0."""
        if self._picks and any([isinstance(x, np.ndarray) and not x.size for x in inputs]):
            # NumPy checks indices even where nothing comes of them: loops over an empty result would not
            try:
                return Interpreted(self.graph).run(inputs)
            except (IndexError, ValueError):
                return -1, []
        if self._casts:
            inputs = list(inputs)
            for position, cast in self._casts:
                inputs[position] = cast(inputs[position])
        try:
            status, *outputs = self._entry(*inputs)
        except TypeError:
            # numba has another type for arrays that can't be written to
            inputs = [x.copy() if isinstance(x, np.ndarray) and not x.flags.writeable else x for x in inputs]
            status, *outputs = self._entry(*inputs)
        if status:
            return status, []
        for position, wrap in self._wraps:
            outputs[position] = wrap(outputs[position])
        return 0, outputs

    @cached_property
    def dispatcher(self) -> Any:
        """The function ``(*inputs) -> (status, *outputs)`` for other code that numba compiles."""
        return _compiler(_signature(self.program, ()))(self._entry)


def _caster(dtype: np.dtype[Any], weak: bool) -> Any:
    """What makes a 0-d input a scalar of the type that was compiled for."""
    return {"f": float, "b": bool}.get(dtype.kind, int) if weak else dtype.type


def _signature(program: Program, brought: tuple[Any, ...]) -> tuple[Any, ...]:
    """The numba types of a program's inputs and of arrays for its results."""
    from numba import from_dtype, types

    ranks = [(item.dtype, item.rank) for item in program.inputs] + [(b.dtype, len(b.shape)) for b in brought]
    return tuple(types.Array(from_dtype(dtype), rank, "C") if rank else from_dtype(dtype) for dtype, rank in ranks)


def _compiler(signature: tuple[Any, ...] | None = None) -> Any:
    """numba's decorator; with a signature it compiles at once. A wrapper for C, which nobody calls, is left out."""
    import numba

    decorator: Any = numba.njit
    options = {"error_model": "numpy", "nogil": True, "boundscheck": False, "no_cfunc_wrapper": True}
    return decorator(**options) if signature is None else decorator(signature, **options)


def compile_source(program: Program, source: Source) -> dict[str, Any]:
    """Compile the kernel for the types of its inputs; returns the names that the source defines."""
    from .helpers import namespace

    scope = dict(namespace())
    scope |= {name: value.array() for name, value in source.constants}
    for text in source.inner:
        exec(compile(text, f"<numtape {program.name}>", "exec"), scope)
        name = text[4 : text.index("(")]
        scope[name] = _compiler()(scope[name])
    exec(compile(f"{source.kernel}\n\n{source.entry}", f"<numtape {program.name}>", "exec"), scope)
    scope[program.name] = _compiler(_signature(program, source.brought))(scope[program.name])
    return scope
