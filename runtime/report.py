"""What a process traced, as data: one row per function, one record per event; written to JSON lines and read back."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ..tracer.graph import Loc
from .cache import all_tables
from .events import Event
from .explain import Explanation, name_of
from .reasons import spec_text

SCHEMA = 1


@dataclass(frozen=True)
class Row:
    """One function of a report; `worst` is the reason code that retraces cost most for."""

    function: str
    line: str
    calls: int
    hits: int
    traces: int
    trace_seconds: float
    compile_seconds: float
    worst: str = ""

    @property
    def retraces(self) -> int:
        return max(self.traces - 1, 0)


@dataclass
class Report:
    """Rows of functions, the most expensive first, and the records of their events in order of time."""

    rows: list[Row] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def retraces(self) -> list[dict[str, Any]]:
        return [e for e in self.events if e["kind"] == "retrace"]


def collect(events: Sequence[Event]) -> Report:
    """The report of this process on `events`, which a listener has gathered."""
    costs: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for event in events:
        if event.kind != "first" and event.explanation is not None:
            seconds = event.trace_seconds + event.compile_seconds
            costs[_key(event)][event.explanation.code] += seconds
    numbers = {e.number for e in events}
    rows = []
    for table in all_tables():
        last = table.history.last()
        if last is None or numbers.isdisjoint({e.number for e in table.history.all()}):
            continue
        reasons = costs.get(_key(last), {})
        calls = table.hits + table.traces + table.fallbacks
        worst = max(reasons, key=reasons.__getitem__) if reasons else ""
        spent = table.trace_seconds, table.compile_seconds
        rows.append(Row(*_key(last), calls, table.hits, table.traces, *spent, worst))
    rows.sort(key=lambda r: -(r.trace_seconds + r.compile_seconds))
    return Report(rows, [record_of(e) for e in events])


def _key(event: Event) -> tuple[str, str]:
    return name_of(event.transform, event.function), _full(event.line)


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
        "trace_seconds": event.trace_seconds,
        "compile_seconds": event.compile_seconds,
        "nodes": event.nodes,
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
                report.events.append(record)
            else:
                report.rows.append(Row(**{name: record[name] for name in Row.__dataclass_fields__}))
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"line {number} is not a record of numtape: {error}") from error
    if not report.rows:
        report.rows = _rows_of(report.events)
    return report


def _rows_of(events: Sequence[dict[str, Any]]) -> list[Row]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        found[event["function"], event["line"]].append(event)
    rows = []
    for (function, line), own in found.items():
        traced = [e for e in own if e["kind"] != "fallback"]
        again = [e for e in own if e["kind"] != "first" and e["reasons"]]
        worst = max(again, key=lambda e: e["trace_seconds"] + e["compile_seconds"], default=None)
        seconds = sum(e["trace_seconds"] for e in traced), sum(e["compile_seconds"] for e in traced)
        code = worst["reasons"][0]["code"] if worst else ""
        rows.append(Row(function, line, len(own), 0, len(traced), *seconds, code))
    return rows
