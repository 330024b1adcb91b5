"""The report as one page that needs nothing else: functions, a timeline of compiles, each retrace explained."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .fragments import explanation_html, plain
from .report import Report, Row
from .report_style import SCRIPT, STYLE

MOST = 500  # explanations of either kind; a page with thousands is of no use on a phone
# whatever a text smuggles in, the page loads nothing and sends nothing
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)


def page(report: Report) -> str:
    """The page of a report."""
    again = [e for e in report.events if e["kind"] != "first"]
    first = [e for e in report.events if e["kind"] == "first"]
    sections = []
    if report.rows:
        sections += [
            ("functions", "Functions", _functions(report.rows)),
            ("timeline", "Compiles over time", _timeline(report.events)),
            ("retraces", "Traced again, failed, or uncompiled", _articles(again) or "<p>Nothing: well done.</p>"),
            ("first", "First traces", _articles(first)),
        ]
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title, _ in sections)
    body = "".join(
        f'<section aria-labelledby="{name}"><h2 id="{name}">{title}</h2>{inner}</section>'
        for name, title, inner in sections
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>numtape report</title><style>{STYLE}</style></head>\n"
        f'<body><a class="skip" href="#main">Skip to the report</a><header><h1>numtape report</h1>'
        f'<p>{plain(report.headline)}.</p><nav aria-label="Parts"><ul>{links}</ul></nav></header>\n'
        f'<main id="main" tabindex="-1">{body}</main>\n<script>{SCRIPT}</script></body></html>\n'
    )


# -- functions -------------------------------------------------------------------------------------------------------

COLUMNS = ("function", "calls", "hits", "traces", "trace s", "compile s", "break-even", "worst reason", "fix")


def _functions(rows: Sequence[Row]) -> str:
    numbers = range(1, 7)
    head = "".join(_head(title, k in numbers) for k, title in enumerate(COLUMNS))
    body = "".join(f'<tr role="row">{_row(row)}</tr>' for row in rows)
    note = (
        "Break-even: calls after which tracing and compiling have paid for themselves, against NumPy operation by "
        "operation on arrays like those traced; - where that was not measured."
    )
    return (
        f'<table class="functions" role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table><p class="dim">{note}</p>'
    )


def _head(title: str, number: bool) -> str:
    kind = ' class="n"' if number else ""
    return f'<th scope="col" role="columnheader"{kind}><button type="button">{title}</button></th>'


def _row(row: Row) -> str:
    name = _title(row.function, row.line)
    even = -1.0 if row.saved is None else row.seconds / row.saved if row.saved > 0 else 1e300
    worst = f'<span class="worst">{plain(row.worst)}</span>' if row.worst else "-"
    cells = [
        (name, row.function),
        (f"{row.calls:,}", row.calls),
        (f"{row.hits:,}", row.hits),
        (f"{row.traces:,}", row.traces),
        (f"{row.trace_seconds:.2f}", row.trace_seconds),
        (f"{row.compile_seconds:.2f}", row.compile_seconds),
        (row.break_even, even),
        (worst, row.worst),
        (plain(row.fix) or "-", row.fix),
    ]
    out = []
    for k, (title, (shown, value)) in enumerate(zip(COLUMNS, cells, strict=True)):
        kind = ' class="n"' if 1 <= k <= 6 else ""
        out.append(f'<td role="cell"{kind} data-label="{title}" data-value="{plain(value)}"><span>{shown}</span></td>')
    return "".join(out)


# -- timeline --------------------------------------------------------------------------------------------------------


def _timeline(events: Sequence[dict[str, Any]]) -> str:
    """A lane for each function, with a bar for each trace as long as it took; the bar leads to its explanation."""
    timed = [e for e in events if _seconds(e) > 0]
    if not timed:
        return "<p>Nothing was compiled.</p>"
    begin = min(e["time"] - _seconds(e) for e in timed)
    span = max(max(e["time"] for e in timed) - begin, 1e-9)
    lanes: dict[tuple[str, str], list[str]] = {}
    for event in timed[: 2 * MOST]:
        lanes.setdefault((event["function"], event["line"]), []).append(_bar(event, begin, span))
    rows = "".join(
        f'<div class="lane"><span>{_title(*key)}</span><div class="track">{"".join(bars)}</div></div>'
        for key, bars in lanes.items()
    )
    key = (
        '<p><span class="key" style="--c:var(--trace)">traced</span> '
        '<span class="key" style="--c:var(--compile)">compiled</span></p>'
    )
    return f'{key}{rows}<div class="axis dim"><span>0 s</span><span>{span:.2f} s</span></div>'


def _title(function: str, line: str) -> str:
    return f'<code>{plain(function)}</code> <span class="dim">{plain(os.path.basename(line))}</span>'


def _bar(event: dict[str, Any], begin: float, span: float) -> str:
    seconds = _seconds(event)
    left = min(max((event["time"] - seconds - begin) / span, 0.0), 0.99)
    wide = min(seconds / span, 1.0 - left)
    part = event["trace_seconds"] / seconds
    colours = f"linear-gradient(90deg,var(--trace) {part:.1%},var(--compile) {part:.1%})"
    code = event["reasons"][0]["code"] if event["reasons"] else event["kind"]
    label = plain(f"{event['function']}: {code}, {seconds:.2f} s")
    place = f"left:{left:.2%};width:{wide:.2%};background:{colours}"
    return f'<a class="bar" href="#{_anchor(event)}" title="{label}" aria-label="{label}" style="{place}"></a>'


def _seconds(event: dict[str, Any]) -> float:
    return float(event["trace_seconds"]) + float(event["compile_seconds"])


def _anchor(event: dict[str, Any]) -> str:
    """The name of an event's explanation in the page: numbers alone, of whatever process they come from."""
    return f"e{int(event.get('pid', 0))}-{int(event.get('number', 0))}"


# -- explanations ----------------------------------------------------------------------------------------------------


def _articles(events: Sequence[dict[str, Any]]) -> str:
    shown = events[:MOST]
    out = []
    for event in shown:
        title = (
            f"<code>{plain(event['function'])}</code> <span class=dim>{plain(os.path.basename(event['line']))}</span>"
        )
        compared = [] if event["kind"] == "first" else event["compared"]
        inner = explanation_html(event["explanation"], compared, event["entries"])
        out.append(f'<article id="{_anchor(event)}"><h3>{title}</h3>{inner}</article>')
    if len(events) > MOST:
        out.append(f"<p>… and {len(events) - MOST:,} more.</p>")
    return "".join(out)
