"""A call held against the compiled one that came nearest: before and after, and why each entry did not serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..tracer.dims import Dim
from ..tracer.graph import NOWHERE
from .events import Event
from .guards import Failed, condition_text, furthest, inputs_behind
from .reasons import nearest, spec_text
from .signature import Signature, Spec

MOST = 16  # entries that are listed

Leaves = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Comparison:
    """The leaves of two calls, by name, and for each entry that was there the first of its conditions that failed."""

    before: Leaves = ()
    after: Leaves = ()
    entries: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[str, str, str]]:
        """Name, before, after of each leaf of either call, in the order of the later one."""
        old, new = dict(self.before), dict(self.after)
        return [(name, old.get(name, ""), new.get(name, "")) for name in dict.fromkeys([*new, *old])]


NOTHING = Comparison()


def compare(event: Event, failed: Sequence[Failed], past: Sequence[Event]) -> Comparison:
    """Hold an event against the entries that failed, or against the signatures of the past."""
    after = leaves_of(event)
    before: Leaves = ()
    if failed:
        nearest_entry = furthest(failed)
        near, miss = nearest_entry.before, nearest_entry.miss
        if miss.capture and miss.after:
            before, after = ((miss.capture, miss.before),), (*after, (miss.capture, miss.after))
        entries = [_condition(f) for f in failed]
    else:
        known = {e.signature: e for e in past}
        wanted = nearest(event.signature, event.known) if event.known else None
        near = known.get(wanted) if wanted is not None else None
        entries = [_difference(event, s, known.get(s)) for s in event.known]
    if len(entries) > MOST:
        entries = [*entries[: MOST - 1], f"… and {len(entries) - MOST + 1} more"]
    return Comparison((*leaves_of(near), *before), after, tuple(entries))


def leaves_of(event: Event | None) -> Leaves:
    """The arguments of a call as they were: arrays with their lengths, numbers with their values."""
    if event is None:
        return ()
    pairs = zip(event.names, event.signature.specs, strict=False)
    return tuple([(name, _leaf_text(spec, event.values.get(name))) for name, spec in pairs])


def _leaf_text(spec: Spec, value: Any) -> str:
    if isinstance(value, tuple) and len(value) == spec.rank and spec.kind in ("array", "variable"):
        return f"{str(spec).partition('[')[0]}[{','.join(map(str, value))}]"
    if spec.kind in ("int", "float") and type(value) in (int, float):
        return f"{value!r}"
    return spec_text(spec)


def _condition(failed: Failed) -> str:
    miss, guard = failed.miss, failed.miss.guard
    if guard is None:
        if not miss.capture:
            return "a check at run time failed"
        return f"`{miss.capture}` is {miss.after}, not {miss.before}" if miss.after else f"other {miss.capture}"
    place = "" if guard.loc == NOWHERE else f" ({guard.loc})"
    if isinstance(guard.subject, Dim):
        return f"needs {condition_text(guard)}{place}"
    found = [] if failed.graph is None else inputs_behind(failed.graph, guard.subject)
    return f"needs the branch on {', '.join(found) or 'computed values'} to be {guard.outcome}{place}"


def _difference(event: Event, known: Signature, past: Event | None) -> str:
    """In what a known signature differs first from that of an event."""
    if known.tree != event.signature.tree:
        return "has another structure of arguments"
    names = event.names if past is None else past.names
    for name, old, new in zip(names, known.specs, event.signature.specs, strict=False):
        if old != new:
            before, after = spec_text(old), spec_text(new)
            return f"`{name}` is {after}, not {before}" if before != after else f"`{name}` is another {after}"
    return "its entries were given up"
