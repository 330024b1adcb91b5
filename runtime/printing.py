"""A report as text for a terminal: the headline, the table of functions, and each retrace with its explanation."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from .fragments import visible
from .report import Report, Row

WIDTH = 140  # of a report that goes to no terminal


def print_report(report: Report, to: TextIO) -> None:
    """Write a report to a stream, in the width of a terminal where it is one."""
    console = Console(file=to, highlight=False, width=None if to.isatty() else WIDTH)
    console.print(f"numtape: {report.headline}")
    if not report.rows:
        return
    console.print(_grid(report.rows))
    for number, event in enumerate([e for e in report.events if e["kind"] != "first"], 1):
        plain(console, f"\n{number}. {event['explanation']}")


def text_of(report: Report) -> str:
    """The report as it is printed into a file."""
    out = io.StringIO()
    print_report(report, out)
    return out.getvalue().rstrip("\n")


def _grid(rows: list[Row]) -> Grid:
    grid = Grid()
    for title in ("function", "line"):
        grid.add_column(title, overflow="fold")
    for title in ("calls", "hits", "traces", "trace s", "compile s", "break-even"):
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("worst reason", no_wrap=True)
    for r in rows:
        counts = [str(r.calls), str(r.hits), str(r.traces), f"{r.trace_seconds:.2f}", f"{r.compile_seconds:.2f}"]
        cells = [r.function, os.path.basename(r.line), *counts, r.break_even, r.worst or "-"]
        grid.add_row(*[Text(visible(cell)) for cell in cells])  # Text: brackets in names are no markup
    return grid


def plain(console: Console, text: str) -> None:
    """Print a text as it is: no markup, no breaks of its lines."""
    console.print(visible(text), markup=False, soft_wrap=True)


def columns(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Lines with the cells of each row one below the other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(f"{c:{w}}" for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def why_text(event: dict[str, Any]) -> str:
    """An event in full: its explanation, both calls side by side, and what each entry would have needed."""
    lines = [event["explanation"]]
    if event["compared"] and event["kind"] != "first":
        rows = [("", "", "compiled", "this call")]
        rows += [(name, "*" if a != b else "", a or "-", b or "-") for name, a, b in event["compared"]]
        lines += ["", *columns(rows)]
    if event["entries"]:
        lines += ["", "Compiled entries, and why each did not serve:"]
        lines += [f"  {k}. {text}" for k, text in enumerate(event["entries"], 1)]
    return visible("\n".join(lines))
