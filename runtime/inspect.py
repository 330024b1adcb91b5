"""What a compiled function holds: the graphs of an entry, its generated code, its signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..compiler.backends.llvm.compiled import native_text
from ..compiler.backends.numba.source import RESERVED, readable
from ..compiler.gradient import vjp
from ..compiler.lower import lower
from ..compiler.plan import program_of
from ..compiler.simplify import simplify
from ..compiler.steps import has_strange_dtype, is_supported
from ..tracer.dims import Dim
from ..tracer.errors import GradError, layout
from ..tracer.graph import Graph, Guard, Loc
from ..tracer.plain import replace
from ..tracer.reach import inexact
from .cache import Entry, Table
from .guards import condition_text, inputs_behind
from .reasons import spec_text

if TYPE_CHECKING:
    from .jit import Function

STAGES = ("traced", "forward", "backward", "fused")
SOURCES = ("numba", "llvm", "kernels")


def stage_graph(entry: Entry, stage: str) -> Graph:
    """The graph of an entry: as recorded, simplified, the gradients by all floating inputs, or what is compiled."""
    graph = entry.recording.graph
    match stage:
        case "traced":
            return graph
        case "forward":
            return simplify(graph)
        case "backward":
            return _backward(graph)
        case "fused":
            return simplify(entry.plan.graph)
    raise ValueError(f"stage must be one of {', '.join(map(repr, STAGES))}, not {stage!r}")


def _backward(graph: Graph) -> Graph:
    wrt = [k for k in graph.inputs if inexact(graph.type(k))]
    if not wrt:
        raise GradError(layout(f"{graph.name} has no backward pass: none of its inputs is a floating-point number"))
    pulled = vjp(graph, wrt)
    return simplify(replace(pulled, outputs=pulled.outputs[len(graph.outputs) :]))


def stage_source(entry: Entry, stage: str, backend: str) -> str:
    """The code of a stage: Python for numba, LLVM IR, or the kernels that both are written from."""
    if backend not in SOURCES:
        raise ValueError(f"backend must be one of {', '.join(map(repr, SOURCES))}, not {backend!r}")
    if stage not in STAGES[1:]:
        raise ValueError(f"stage must be one of {', '.join(map(repr, STAGES[1:]))}, not {stage!r}")
    graph = stage_graph(entry, stage)
    if has_strange_dtype(graph) or not is_supported(lower(graph)):
        return str(graph) if backend == "numba" else ""  # NumPy computes it, node after node
    if backend == "numba":
        return readable(graph)
    return native_text(graph) if backend == "llvm" else str(program_of(graph, RESERVED))


@dataclass(frozen=True)
class EntryInfo:
    """One entry: calls that it has served since its trace, its nodes, what it assumes, with the user's lines."""

    hits: int
    nodes: int
    compile_seconds: float
    guards: tuple[tuple[str, Loc], ...]

    def __str__(self) -> str:
        head = f"{_count(self.hits, 'hit')}, {_count(self.nodes, 'node')}, compiled in {self.compile_seconds:.2f} s"
        return "\n".join([head, *[f"  where {text}  # {loc}" for text, loc in self.guards]])


@dataclass(frozen=True)
class SignatureInfo:
    """One signature of a function with its entries."""

    text: str
    entries: tuple[EntryInfo, ...]

    @property
    def hits(self) -> int:
        return sum(e.hits for e in self.entries)

    def __str__(self) -> str:
        lines = [self.text]
        for entry in self.entries:
            lines += [f"  {line}" for line in str(entry).splitlines()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .fragments import signatures_html

        return signatures_html(Signatures([self]))


class Signatures(list[SignatureInfo]):
    """A list of signatures that prints as a text."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no signatures yet"

    def _repr_html_(self) -> str:
        from .fragments import signatures_html

        return signatures_html(self)


def describe_signatures(function: Function) -> Signatures:
    """All cached signatures, in the order in which they came."""
    return describe_table(function._table, function._label)


def describe_table(table: Table, label: str) -> Signatures:
    """The signatures of a table of entries."""
    with table.lock:
        known = [list(entries) for entries in table.entries.values()]
    return Signatures(_describe(label, entries) for entries in known)


def _describe(label: str, entries: list[Entry]) -> SignatureInfo:
    recording = entries[0].recording
    inside = ", ".join(f"{n}: {spec_text(s)}" for n, s in zip(recording.names, recording.specs, strict=True))
    return SignatureInfo(f"{label}({inside})", tuple([_entry(e) for e in entries]))


def _entry(entry: Entry) -> EntryInfo:
    graph = entry.plan.graph
    guards = tuple([(_guard_text(graph, g), g.loc) for g in graph.guards])
    return EntryInfo(max(entry.hits - 1, 0), len(graph.nodes), entry.compiled.compile_seconds, guards)


def _guard_text(graph: Graph, guard: Guard) -> str:
    if isinstance(guard.subject, Dim):
        return condition_text(guard)
    on = ", ".join(inputs_behind(graph, guard.subject)) or "constants"
    return f"the branch on {on} is {guard.outcome}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
