"""What got worse and what got better between two reports of one program."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from typing import Any

from .report import Report, counted

SLOWER, LEAST = 1.5, 0.5  # times, and seconds: less is noise


@dataclass(frozen=True)
class Change:
    """One difference; `kind` is "worse" or "better", or without a verdict "slower", "faster", "new" or "gone"."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind:8}{self.text}"


Key = tuple[str, str]  # a function's name and its file: lines move between commits


def changes(old: Report, new: Report) -> list[Change]:
    """All differences, the worse ones first."""
    found = [*_counted_changes(old, new), *_function_changes(old, new)]
    order = ("worse", "better", "slower", "faster", "new", "gone")
    return sorted(found, key=lambda c: order.index(c.kind))


def _counted_changes(old: Report, new: Report) -> list[Change]:
    before, after, fixes = _tally(old), _tally(new), _fixes(new)
    out = []
    for key in dict.fromkeys([*after, *before]):
        was, now = before[key], after[key]
        if was != now:
            (name, file), what = key
            fix = f" {fixes[key]}" if now > was and key in fixes else ""
            text = f"{name} ({file}): {what} {was} → {counted(now, 'time')}.{fix}"
            out.append(Change("worse" if now > was else "better", text))
    return out


def _tally(report: Report) -> Counter[tuple[Key, str]]:
    """How often each function was traced again for a reason, failed, or ran uncompiled."""
    out: Counter[tuple[Key, str]] = Counter()
    for event in report.events:
        if event["kind"] != "first" and event["reasons"]:
            out[_key(event["function"], event["line"]), _reason(event)] += 1
    return out


def _fixes(report: Report) -> dict[tuple[Key, str], str]:
    events = [e for e in report.events if e["kind"] != "first" and e["reasons"]]
    return {(_key(e["function"], e["line"]), _reason(e)): e["reasons"][0]["fix"] for e in events}


def _reason(event: dict[str, Any]) -> str:
    reason = event["reasons"][0]
    return f"{reason['code']} of {reason['argument']}" if reason["argument"] else reason["code"]


def _function_changes(old: Report, new: Report) -> list[Change]:
    before, after = _seconds(old), _seconds(new)
    out = []
    for key in dict.fromkeys([*after, *before]):
        name, file = key
        if key not in before:
            out.append(Change("new", f"{name} ({file}): {after[key]:.2f} s of tracing and compiling"))
        elif key not in after:
            out.append(Change("gone", f"{name} ({file})"))
        else:
            was, now = before[key], after[key]
            low, high = sorted((was, now))
            if high > SLOWER * low and high - low > LEAST:
                kind = "slower" if now > was else "faster"
                out.append(Change(kind, f"{name} ({file}): {was:.2f} → {now:.2f} s of tracing and compiling"))
    return out


def _seconds(report: Report) -> dict[Key, float]:
    out: dict[Key, float] = {}
    for row in report.rows:
        key = _key(row.function, row.line)
        out[key] = out.get(key, 0.0) + row.seconds
    return out


def _key(function: str, line: str) -> Key:
    return function, os.path.basename(line.rpartition(":")[0])
