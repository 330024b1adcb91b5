"""The shortest way of a call: native entries behind as little Python as can be.

``f(x)`` looks up `f.__call__`, which is a slot of the instance: a chain of built-in functions, one for each entry that
served a call, each with the next as its fallback; the last is Python's own way. A built-in checks type, dtype, rank and
layout of every argument, and the guards; so what it answers is what the long way would have found.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..tracer.plain import replace
from ..tracer.readers import REFUSED, Given

if TYPE_CHECKING:
    from .cache import Entry, Plan
    from .signature import Signature

MOST = 8  # lanes of one function: a call that fits none of them has tried each, some 10 ns apiece


class Slotted:
    """An object whose `__call__` is its own: set per instance, and called without a bound method."""

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]


_SLOT: Any = Slotted.__dict__["__call__"]  # by itself, so that a subclass may define a call that ends in this one


class LongWay:
    """The way through Python; it does not keep its function alive, which holds it."""

    __slots__ = ("_function",)

    def __init__(self, function: Any) -> None:
        self._function = weakref.ref(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self._function()
        if function is None:
            raise ReferenceError("the compiled function that this call belonged to is gone")
        return function._call(*args, **kwargs)


class Tally:
    """How many calls were served: those that are counted here, and those of lanes that may still be in use."""

    def __init__(self) -> None:
        self.counted = 0
        self.lanes: set[Lane] = set()

    @property
    def total(self) -> int:
        return self.counted + sum(lane.served for lane in tuple(self.lanes))


class Lane:
    """The count of the calls that one native entry of one function served; it is part of several tallies.

    Its number is final when the entry is gone, and no sooner: a call may be under way while its lane is closed.
    """

    def __init__(self, *tallies: Tally) -> None:
        self._count = np.zeros(1, np.int64)
        self._tallies = tallies
        for tally in tallies:
            tally.lanes.add(self)

    @property
    def served(self) -> int:
        return int(self._count[0])

    def counters(self) -> np.ndarray:
        """What the native entry counts in, and keeps for its life."""
        counters = self._count[:]
        weakref.finalize(counters, self._end).atexit = False
        return counters

    def _end(self) -> None:
        for tally in self._tallies:
            tally.counted += self.served
            tally.lanes.discard(self)


class Lanes:
    """The native entries of one function. `tally` counts the calls that never came to Python."""

    def __init__(self, function: Any) -> None:
        self.tally = Tally()
        self._way = LongWay(function)
        self._ways: tuple[tuple[Entry, int], ...] = ()
        self.close(function)

    def open(
        self, function: Any, signature: Signature, entry: Entry, args: Sequence[Any], leaves: Sequence[Any], given: int
    ) -> None:
        """Let later calls like this one, which `entry` has served, reach it at once, where that can be.

        Of the arguments `given` came with the call, and the others are defaults.
        """
        way = (entry, given)
        if len(self._ways) >= MOST or way in self._ways or entry.native_result is None:
            return
        if given < len(args) and len(getattr(function._function, "__defaults__", None) or ()) < len(args) - given:
            return
        if len(args) != len(leaves) or any(a is not b for a, b in zip(args, leaves, strict=True)):
            return
        brought = _brought(entry, leaves, given)
        if brought is None:
            return
        bind, table = entry.recording.captures.caller(brought), function._table
        result, numbers = entry.native_result
        with table.lock:
            # meanwhile another thread may have opened this lane, or cleared the cache
            if way in self._ways or entry not in table.entries.get(signature, ()):
                return
            counters = Lane(self.tally, entry.tally, table.tally).counters()
            native = entry.compiled.entry(result, _refuse, counters, function._label, numbers)
            table.functions.add(function)
            _SLOT.__set__(function, bind(function._function, native, _SLOT.__get__(function)))
            self._ways += (way,)

    def close(self, function: Any) -> None:
        """Send all calls the long way again."""
        _SLOT.__set__(function, self._way)
        self._ways = ()


def _refuse(*_: Any) -> Any:
    return REFUSED


def _brought(entry: Entry, leaves: Sequence[Any], given: int) -> Given | None:
    """What calls like this one bring, and the inputs of the entry; None where a native entry can't take it."""
    recording = entry.recording
    fixed = []
    for position, (leaf, spec) in enumerate(zip(leaves, recording.specs, strict=True)):
        if not spec.dynamic:
            reference = _reference(leaf)
            if reference is None:
                return None
            fixed.append((position, reference))
        elif type(leaf) not in (np.ndarray, float, int) and not isinstance(leaf, np.generic):
            return None
    kinds = {"leaf": recording.specs, "capture": recording.capture_specs}
    order = [(s.kind, s.index if s.kind in kinds else s.variable) for s in recording.sources]
    whole = [n for n, (kind, index) in enumerate(order) if kind in kinds and kinds[kind][index].kind == "int"]
    return Given(len(leaves), given, order, whole, fixed)


def _reference(item: Any) -> Callable[[], Any] | None:
    """What finds an argument that is part of the signature again, and keeps no object of the user's alive."""
    if isinstance(item, str | bytes | bool | int | float | complex | tuple):
        return lambda: item
    try:
        return None if isinstance(item, types.MethodType) else weakref.ref(item)
    except TypeError:
        return None


def native_result(plan: Plan, compiled: Any) -> tuple[Any, frozenset[int]] | None:
    """The result as nested tuples of outputs, and the outputs that become NumPy numbers; None for any other result."""
    if not hasattr(compiled, "entry"):
        return None
    marks = [0.5 + k for k in range(len(plan.graph.outputs))]
    numbers: set[int] = set()
    met: set[int] = set()

    def walk(item: Any) -> Any:
        if type(item) is tuple:
            return tuple(map(walk, item))
        for k, mark in enumerate(marks):
            if item is mark or (type(item) is np.float64 and item == mark):
                if k in met:
                    raise LookupError
                met.add(k)
                if item is not mark:
                    numbers.add(k)
                return k
        raise LookupError

    try:
        found = walk(plan.assemble(marks))
    except LookupError:
        return None
    return (found, frozenset(numbers)) if len(met) == len(marks) else None


def pruned(plan: Plan) -> Plan:
    """The plan without outputs that the caller's result doesn't show, such as the value beside a gradient."""
    if plan.recording.effects:
        return plan
    marks = [object() for _ in plan.graph.outputs]
    shown: set[int] = set()

    def look(item: Any) -> None:
        from .signature import flatten

        for leaf in flatten(item)[0]:
            shown.update(k for k, mark in enumerate(marks) if leaf is mark)

    look(plan.assemble(marks))
    if len(shown) == len(marks):
        return plan
    kept = sorted(shown)
    outputs = tuple(plan.graph.outputs[k] for k in kept)
    count, assemble = len(marks), plan.assemble

    def spread(outs: Sequence[Any]) -> Any:
        full: list[Any] = [None] * count
        for place, out in zip(kept, outs, strict=True):
            full[place] = out
        return assemble(full)

    return type(plan)(plan.recording, replace(plan.graph, outputs=outputs), spread)
