"""A graph compiled by numba: its source, its dispatcher, and how it is called."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ....tracer.graph import Graph
from ...fuse import is_supported
from ...kernel import Program
from ...lower import lower
from ...plan import program_of
from ..interpreter import Interpreted
from .source import source_of

HEAD = """import math

import numpy as np
from numba import njit
from numtape.compiler.backends.numba.helpers import *  # select, add, two_sum, u (np.uint64), f32 (np.float32) ...

"""


def compile_numba(graph: Graph) -> Any:
    """Compile a graph; what has no template, or no arithmetic in numba, is interpreted."""
    if has_strange_dtype(graph) or not is_supported(lower(graph)):
        return Interpreted(graph)
    return Compiled(graph)


def has_strange_dtype(graph: Graph) -> bool:
    """Whether a graph holds float16 or complex numbers."""
    for node in graph.nodes:
        for type_ in node.type if isinstance(node.type, tuple) else (node.type,):
            if type_.dtype.kind == "c" or type_.dtype.name == "float16":
                return True
    return False


class Compiled:
    """A compiled graph. Calls are re-entrant: everything of a call lives in its own variables."""

    def __init__(self, graph: Graph) -> None:
        began = perf_counter()
        program = program_of(graph)
        self.graph = graph
        self.source = HEAD + source_of(program)
        self.program = program
        self.dispatcher = compile_source(program, self.source)
        self._outputs = [_wrapper(o.dtype, o.rank, o.weak) for o in program.outputs]
        self._inputs = [None if i.rank else _caster(i.dtype, i.weak) for i in program.inputs]
        self.compile_seconds = perf_counter() - began

    @property
    def kernels(self) -> str:
        return str(self.program)

    def run(self, inputs: list[Any]) -> tuple[int, list[Any]]:
        """Call it: (status, outputs). Outputs mean nothing unless the status is 0."""
        given = [x if cast is None else cast(x) for x, cast in zip(inputs, self._inputs, strict=True)]
        status, *outputs = self.dispatcher(*given)
        if status:
            return status, []
        return 0, [value if wrap is None else wrap(value) for value, wrap in zip(outputs, self._outputs, strict=True)]


def _caster(dtype: np.dtype[Any], weak: bool) -> Any:
    """What makes a 0-d input a scalar of the type that was compiled for."""
    if weak:
        return {"f": float, "b": bool}.get(dtype.kind, int)
    return dtype.type


def _wrapper(dtype: np.dtype[Any], rank: int, weak: bool) -> Any:
    if rank or weak:
        return None
    return dtype.type


def compile_source(program: Program, source: str) -> Any:
    """Compile generated source for the types of the program's inputs."""
    import numba
    from numba import types

    from .helpers import namespace

    scope = dict(namespace())
    for name, value in program.constants:
        scope[name] = value.array()
    exec(compile(source.removeprefix(HEAD), f"<numtape {program.name}>", "exec"), scope)
    signature = []
    for item in program.inputs:
        scalar = numba.from_dtype(item.dtype)
        signature.append(types.Array(scalar, item.rank, "C") if item.rank else scalar)
    compiler = numba.njit(tuple(signature), error_model="numpy", nogil=True, boundscheck=False, no_cfunc_wrapper=True)
    return compiler(scope[program.name])
