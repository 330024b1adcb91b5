"""What a process traced, as data: one row per function, one record per event; written to JSON lines and read back."""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..tracer.graph import Loc
from .cache import Table, all_tables
from .events import Event
from .explain import Explanation, name_of
from .reasons import spec_text

SCHEMA = 1


@dataclass(frozen=True)
class Row:
    """One function of a report; `worst` is the reason code that retraces cost most for, `fix` what avoids it.

    `saved` is what a compiled call saves against NumPy, in seconds; None where nobody has measured it.
    """

    function: str
    line: str
    calls: int
    hits: int
    traces: int
    trace_seconds: float
    compile_seconds: float
    worst: str = ""
    fix: str = ""
    compiles: int = 0
    disk_hits: int = 0
    fallbacks: int = 0
    failures: int = 0
    saved: float | None = None

    @property
    def retraces(self) -> int:
        return max(self.traces - 1, 0)

    @property
    def seconds(self) -> float:
        return self.trace_seconds + self.compile_seconds

    @property
    def break_even(self) -> str:
        """Calls after which all traces and compiles have paid for themselves, as text: ``120``, ``never``, ``-``."""
        if self.saved is None:
            return "-"
        return "never" if self.saved <= 0 else f"{math.ceil(self.seconds / self.saved):,}"


@dataclass
class Report:
    """Rows of functions, the most expensive first, and the records of their events in order of time."""

    rows: list[Row] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def retraces(self) -> list[dict[str, Any]]:
        return [e for e in self.events if e["kind"] == "retrace"]

    @property
    def headline(self) -> str:
        """One sentence: how many functions, calls and traces, and what they cost."""
        if not self.rows:
            return "no function was traced"
        traces, again = sum(r.traces for r in self.rows), len(self.retraces)
        failed = sum(r.failures for r in self.rows)
        return (
            f"{counted(len(self.rows), 'function')}, {counted(sum(r.calls for r in self.rows), 'call')}, "
            f"{counted(traces, 'trace')} ({again} again{f', {failed} failed' if failed else ''}), "
            f"{sum(r.seconds for r in self.rows):.2f} s of tracing and compiling"
        )

    def __str__(self) -> str:
        from .printing import text_of

        return text_of(self)

    def html(self) -> str:
        """The report as one self-contained page."""
        from .report_html import page

        return page(self)

    def _repr_html_(self) -> str:
        from .fragments import report_html

        return report_html(self)


def counted(number: int, what: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def report() -> Report:
    """The report of this process: all functions that were traced, and the last events of each.

    Returns
    -------
    Report
        Prints as a text; ``.html()`` is a page, and a notebook shows it as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> double = nt.jit(lambda x: x + x)
    >>> _ = double(np.ones(3)), double(np.ones(5))
    >>> row = next(r for r in nt.report().rows if r.traces == 1 and r.hits == 1)
    >>> row.calls
    2
    """
    return _collected(all_tables(), None, False)


def collect(events: Sequence[Event], measure: bool = False) -> Report:
    """The report of this process on `events`, which a listener has gathered.

    `measure` says whether to find out what a compiled call saves.
    """
    numbers = {e.number for e in events}
    tables = [t for t in all_tables() if not numbers.isdisjoint({e.number for e in t.history.all()})]
    return _collected(tables, events, measure)


def _collected(tables: Sequence[Table], events: Sequence[Event] | None, measure: bool) -> Report:
    own = [e for table in tables for e in table.history.all()] if events is None else events
    causes = _causes([record_of(e) for e in own])
    rows = []
    for table in tables:
        last = table.history.last()
        if last is None:
            continue
        name, line = name_of(last.transform, last.function), _full(last.line)
        calls = table.hits + table.traces + table.fallbacks + table.failures
        rows.append(
            Row(
                name, line, calls, table.hits, table.traces, table.trace_seconds, table.compile_seconds,
                *causes.get((name, line), ("", "")), table.compiles, table.disk_hits, table.fallbacks, table.failures,
                _saved(table) if measure else None,
            )
        )  # fmt: skip
    rows.sort(key=lambda r: -r.seconds)
    return Report(rows, [record_of(e) for e in sorted(own, key=lambda e: e.number)])


def _saved(table: Table) -> float | None:
    """What a call saves, by the entry that served most calls."""
    from .breakeven import seconds_saved

    entries = table.all()
    return seconds_saved(max(entries, key=lambda e: e.hits)) if entries else None


def _causes(events: Iterable[dict[str, Any]]) -> dict[tuple[str, str], tuple[str, str]]:
    """For each function, by name and line, the reason that cost most, and its fix."""
    costs: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    fixes: dict[tuple[str, str, str], str] = {}
    for event in events:
        if event["kind"] == "first" or not event["reasons"]:
            continue
        reason, key = event["reasons"][0], (event["function"], event["line"])
        # what ran uncompiled or failed took no time here, and is no better for it
        costs[key][reason["code"]] += event["trace_seconds"] + event["compile_seconds"] + 1e-9
        fixes[(*key, reason["code"])] = reason["fix"]
    worst = {key: found.most_common(1)[0][0] for key, found in costs.items()}
    return {key: (code, fixes[(*key, code)]) for key, code in worst.items()}


def _full(loc: Loc) -> str:
    return f"{loc.file}:{loc.line}" if loc.line else ""


def record_of(event: Event) -> dict[str, Any]:
    """An event as plain data, for a line of JSON."""
    explanation: Explanation | None = event.explanation
    reasons = () if explanation is None else explanation.reasons
    return {
        "schema": SCHEMA,
        "record": "event",
        "kind": event.kind,
        "time": event.time,
        "pid": os.getpid(),
        "number": event.number,
        "function": name_of(event.transform, event.function),
        "line": _full(event.line),
        "call_site": _full(event.call_site),
        "signature": {n: spec_text(s) for n, s in zip(event.names, event.signature.specs, strict=False)},
        "reasons": [
            {
                "code": r.code, "argument": r.argument, "before": r.before, "after": r.after, "line": _full(r.line),
                "text": r.text, "sentence": r.sentence, "fix": r.fix,
            }
            for r in reasons
        ],
        "compared": [] if explanation is None else [list(row) for row in explanation.comparison.rows],
        "entries": [] if explanation is None else list(explanation.comparison.entries),
        "trace_seconds": event.trace_seconds,
        "compile_seconds": event.compile_seconds,
        "nodes": event.nodes,
        "found": event.found,
        "explanation": str(explanation) if explanation is not None else "",
    }  # fmt: skip


def append(path: str, event: Event) -> None:
    """Append an event to a file of JSON lines."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(record_of(event)) + "\n")


def to_lines(report: Report) -> list[str]:
    """A report as JSON lines: its events, then its functions."""
    functions = [{"schema": SCHEMA, "record": "function", **asdict(row)} for row in report.rows]
    return [json.dumps(record) for record in [*report.events, *functions]]


def from_lines(lines: Iterable[str]) -> Report:
    """Read back what :func:`to_lines` or ``NUMTAPE_LOG`` wrote; a log has no hits, only what its events tell.

    Raises ValueError with the number of a line that isn't such a record.
    """
    report = Report()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if record["schema"] != SCHEMA:
                raise ValueError(f"schema {record['schema']}, this version reads {SCHEMA}")
            if record["record"] == "event":
                report.events.append(_checked(record))
            else:
                report.rows.append(Row(**{n: record[n] for n in Row.__dataclass_fields__ if n in record}))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"line {number} is not a record of numtape: {error}") from error
    if not report.rows:
        report.rows = _rows_of(report.events)
    return report


def _checked(event: dict[str, Any]) -> dict[str, Any]:
    """An event of a file, with what older files don't hold. Raises KeyError or TypeError where a part is missing."""
    for name, kind in (("kind", str), ("function", str), ("line", str), ("reasons", list), ("explanation", str)):
        if not isinstance(event[name], kind):
            raise TypeError(f"{name} is a {type(event[name]).__name__}")
    for name in ("time", "trace_seconds", "compile_seconds"):
        event[name] = float(event[name])
    for reason in event["reasons"]:
        reason.update({name: str(reason[name]) for name in ("code", "argument", "before", "after", "sentence", "fix")})
    return {"compared": [], "entries": [], "found": False, "call_site": "", "nodes": 0, **event}


def _rows_of(events: Sequence[dict[str, Any]]) -> list[Row]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        found[event["function"], event["line"]].append(event)
    causes = _causes(events)
    rows = []
    for (function, line), own in found.items():
        kinds = Counter(e["kind"] for e in own)
        traced = [e for e in own if e["kind"] in ("first", "retrace")]
        seconds = sum(e["trace_seconds"] for e in traced), sum(e["compile_seconds"] for e in traced)
        disk_hits = sum(bool(e["found"]) for e in traced)
        rows.append(
            Row(
                function, line, len(own), 0, len(traced), *seconds, *causes.get((function, line), ("", "")),
                len(traced) - disk_hits, disk_hits, kinds["fallback"], kinds["failed"],
            )
        )  # fmt: skip
    return sorted(rows, key=lambda r: -r.seconds)
