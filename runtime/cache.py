"""Entries: compiled graphs with what they need at a call, found by signature; shared by functions of one code."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..tracer.graph import Graph
from ..tracer.tensor import Tensor
from ..tracer.values import Value
from ..tracer.variable import Variable
from .build import compile_optimised, native
from .events import ALIASING, Event, History, Miss, present
from .lanes import Tally, native_result, pruned
from .recording import Effect, Recording, Source, alias_pattern, content, refuse_overlap
from .signature import Signature, spec_of


@dataclass
class Plan:
    """What a transform makes of a recording: a graph, and how its outputs become the caller's result."""

    recording: Recording
    graph: Graph
    assemble: Callable[[Sequence[Any]], Any]


class Entry:
    """One compiled graph of a function: valid where its captures and guards hold."""

    def __init__(self, plan: Plan, backend: str, compiled: Any = None) -> None:
        self.plan = plan = pruned(plan)
        self.recording = plan.recording
        for effect in self.recording.effects:
            # a transform that loses an output would write another one into the caller's array or Variable
            wanted, found = (g.type(g.outputs[effect.output]) for g in (self.recording.graph, plan.graph))
            assert wanted == found, f"{plan.graph.name}: output {effect.output} is {found}, not {wanted}"
        self.compiled = compile_optimised(plan.graph, backend) if compiled is None else compiled
        self.tally = Tally()
        self.event: Event = None  # type: ignore[assignment]  # the trace that made it: noted right after
        self._reader = plan.recording.captures.reader()
        # most functions read their arguments alone: then a call has nothing to look up
        leaves = [s.index for s in plan.recording.sources if s.kind == "leaf"]
        plain = leaves == list(range(len(plan.recording.specs))) and len(leaves) == len(plan.recording.sources)
        self._plain = plain and not self.recording.effects and plan.recording.captures.free

    @property
    def hits(self) -> int:
        """Calls that this entry has served, that of its trace included."""
        return self.tally.total

    @cached_property
    def native_result(self) -> Any:
        """What a native entry would return, where calls may reach this one at once."""
        fits = not self.recording.effects and self.recording.aliases is None
        return native_result(self.plan, self.compiled) if fits else None

    def captured(self, function: Any, leaves: Sequence[Any]) -> list[Any] | Miss:
        """The captured values of now, or why this entry does not fit them."""
        found = self._reader(function, leaves)
        if isinstance(found, tuple):
            return Miss(capture=found[0], before=found[1], after=found[2])
        for position, spec in enumerate(self.recording.capture_specs):
            now = spec_of(found[position], "captured")
            if now != spec:
                return Miss(capture=self.recording.captures.label(position), before=str(spec), after=str(now))
        return found

    def run(self, function: Any, leaves: Sequence[Any], tell: Callable[..., Any]) -> tuple[bool, Any]:
        """(True, outputs) where the entry fits, else (False, Miss).

        ``tell(entry, leaves, inputs, outputs)`` hands the call to tapes and gives the outputs back, perhaps as Values.
        Effects are carried out last: a tape keeps the inputs as they were.
        """
        if self._plain:
            status, outs = self.compiled.run(
                [native(x) if type(x) is np.ndarray else native(content(x)) for x in leaves]
            )
            if not status:
                self.tally.counted += 1
                return True, tell(self, leaves, leaves, outs)
            return False, self._missed(status)
        recording = self.recording
        captured = self.captured(function, leaves)
        if isinstance(captured, Miss):
            return False, captured
        if recording.aliases is not None:
            met = [*leaves, *recording.variables, *captured]
            refuse_overlap(met, recording.written)
            if alias_pattern(met) != recording.aliases:
                return False, Miss(capture=ALIASING, before=str(recording.aliases))
        items = self._inputs(leaves, captured)
        inputs = [native(content(item)) for item in items]
        status, outs = self.compiled.run(inputs)
        if status:
            return False, self._missed(status)
        self.tally.counted += 1
        outs = tell(self, leaves, items, outs)
        for effect in recording.effects:
            self._carry_out(effect, outs[effect.output], leaves, captured)
        return True, outs

    def pinned(self, function: Any, leaves: Sequence[Any]) -> Callable[[Sequence[Any]], Any]:
        """The entry as a function of the leaves alone: what it captures keeps its present values."""
        captured = self.captured(function, leaves)
        assert isinstance(captured, list), "the entry was found for these values"
        sources = self.recording.sources
        items = self._inputs(leaves, captured)
        held = [None if s.kind == "leaf" else np.array(content(i)) for s, i in zip(sources, items, strict=True)]

        def run(leaves: Sequence[Any]) -> Any:
            inputs = [native(content(leaves[s.index])) if h is None else h for s, h in zip(sources, held, strict=True)]
            status, outs = self.compiled.run(inputs)
            assert not status, "guards hold: inputs and captures are those of the first run"
            return self.plan.assemble(outs)

        return run

    def _missed(self, status: int) -> Miss:
        return Miss(guard=self.plan.graph.guards[status - 1] if status > 0 else None)

    def _inputs(self, leaves: Sequence[Any], captured: Sequence[Any]) -> list[Any]:
        out = []
        for source in self.recording.sources:
            match source.kind:
                case "leaf":
                    out.append(leaves[source.index])
                case "capture":
                    out.append(captured[source.index])
                case _:
                    out.append(source.variable)
        return out

    def present(self, function: Any, leaves: Sequence[Any]) -> dict[str, Any]:
        """Shapes and numbers of the inputs of a call, by name."""
        captured = self.captured(function, leaves)
        items = [] if isinstance(captured, Miss) else self._inputs(leaves, captured)
        return dict(zip(self.recording.graph.names, map(present, items), strict=False))

    def _carry_out(self, effect: Effect, out: Any, leaves: Sequence[Any], captured: Sequence[Any]) -> None:
        into: Source = effect.into
        target = (
            leaves[into.index]
            if into.kind == "leaf"
            else captured[into.index]
            if into.kind == "capture"
            else into.variable
        )
        array = out.array if isinstance(out, Value) else out
        if isinstance(target, Variable):
            target._store(Value(array))  # no derivative passes through an assignment
        elif isinstance(target, Tensor):
            target._replace(Tensor(out if isinstance(out, Value) else Value(array)))
        elif isinstance(target, np.ndarray):
            target[...] = array


class Table:
    """The entries of one function, by signature; at most `limit` signatures are kept."""

    def __init__(self, limit: int = 512) -> None:
        self.entries: OrderedDict[Signature, list[Entry]] = OrderedDict()
        self.limit = limit
        self.lock = threading.RLock()
        self.locks: dict[Signature, threading.RLock] = {}
        self.quick: dict[Any, Signature] = {}  # signatures of calls with arrays and floats alone, by dtypes and ranks
        self.history = History()
        self.functions: weakref.WeakSet[Any] = weakref.WeakSet()  # those that have lanes to entries of this table
        self.traces = 0
        self.compiles = 0
        self.disk_hits = 0
        self.trace_seconds = 0.0
        self.compile_seconds = 0.0
        self.warned: set[Any] = set()
        self.fallbacks = 0
        self.failures = 0
        self.tally = Tally()

    @property
    def hits(self) -> int:
        """Calls that an entry has served, those of entries that are gone included, the traced calls not."""
        return self.tally.total

    def all(self) -> list[Entry]:
        """The entries of all signatures as they are now."""
        with self.lock:
            return [entry for found in self.entries.values() for entry in found]

    def lock_for(self, signature: Signature) -> threading.RLock:
        with self.lock:
            return self.locks.setdefault(signature, threading.RLock())

    def add(self, signature: Signature, entry: Entry) -> None:
        with self.lock:
            self.entries.setdefault(signature, []).append(entry)
            self.entries.move_to_end(signature)
            while len(self.entries[signature]) > self.limit:  # objects made anew, each of which is another program
                del self.entries[signature][0]
            if len(self.quick) > self.limit:
                self.quick.clear()  # a call finds its signature the long way, and notes it again
            while len(self.entries) > self.limit:
                old, _ = self.entries.popitem(last=False)
                self.locks.pop(old, None)
                for function in list(self.functions):
                    function._lanes.close(function)

    def clear(self) -> None:
        with self.lock:
            for function in list(self.functions):
                function._lanes.close(function)
            self.entries.clear()
            self.quick.clear()  # the locks stay: who records holds one


_tables: OrderedDict[Any, Table] = OrderedDict()
_tables_lock = threading.Lock()
_TABLES = 1024


def table_of(key: Any) -> Table:
    """The table that functions of one code and one transform share."""
    with _tables_lock:
        table = _tables.get(key)
        if table is None:
            table = _tables[key] = Table()
        _tables.move_to_end(key)
        while len(_tables) > _TABLES:
            _tables.popitem(last=False)
        return table


def all_tables() -> list[Table]:
    """The tables of this process, for reports."""
    with _tables_lock:
        return list(_tables.values())


@dataclass
class Stats:
    """Counters of one function object; times in seconds."""

    calls: int = 0
    hits: int = 0
    traces: int = 0
    compiles: int = 0
    disk_hits: int = 0
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    entries: int = 0
