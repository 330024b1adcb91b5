"""Parts of HTML for pages and notebooks; every text that comes from elsewhere passes through `plain`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .explain import Explanation
    from .inspect import Signatures
    from .report import Report


def visible(text: str) -> str:
    """A text with characters that can't be seen written out.

    A file may hold some that steer a terminal or turn a line around, and half ones that can't be written at all.
    """
    return "".join(c if c.isprintable() or c in "\n\t" else ascii(c)[1:-1] for c in text)


def plain(text: object) -> str:
    """A text in HTML, as it is: no markup, and nothing that a reader can't see."""
    return html.escape(visible(str(text)))


def comparison_html(rows: Iterable[Sequence[str]]) -> str:
    """Two calls side by side, what differs marked; "" where there is nothing to compare."""
    lines = []
    for name, before, after in rows:
        differs = before != after
        cells = [f"<mark>{plain(text) or '-'}</mark>" if differs else plain(text) for text in (before, after)]
        kind = ' class="differs"' if differs else ""
        lines.append(f'<tr{kind}><th scope="row">{plain(name)}</th><td>{cells[0]}</td><td>{cells[1]}</td></tr>')
    if not lines:
        return ""
    head = '<tr><th scope="col">argument</th><th scope="col">compiled</th><th scope="col">this call</th></tr>'
    return f'<table class="calls"><thead>{head}</thead><tbody>{"".join(lines)}</tbody></table>'


def entries_html(entries: Sequence[str]) -> str:
    """The compiled entries, each with what it would have needed; "" where there were none."""
    if not entries:
        return ""
    items = "".join(f"<li>{plain(entry)}</li>" for entry in entries)
    return (
        f"<details><summary>Why each compiled entry did not serve ({len(entries)})</summary><ol>{items}</ol></details>"
    )


def explanation_html(text: str, compared: Iterable[Sequence[str]] = (), entries: Sequence[str] = ()) -> str:
    """An explanation: what happened, both calls, the user's lines and the cost, what to do."""
    head, *middle = text.splitlines() or [""]
    last = middle.pop() if middle else ""
    code, colon, rest = head.partition(": ")
    parts = [f"<p><b>{plain(code)}</b>{colon}{plain(rest)}</p>", comparison_html(compared)]
    if middle:
        parts.append(f"<pre>{plain(chr(10).join(middle))}</pre>")
    if last:
        parts.append(f'<p class="fix">{plain(last)}</p>')
    return "".join([*parts, entries_html(entries)])


def explanation_of(explanation: Explanation) -> str:
    """What a notebook shows of an explanation."""
    compared = explanation.comparison
    rows = [] if explanation.kind == "first" else compared.rows
    return f"<div>{explanation_html(str(explanation), rows, compared.entries)}</div>"


def signatures_html(signatures: Signatures) -> str:
    """What a notebook shows of a function's signatures."""
    if not signatures:
        return f"<p>{plain(signatures)}</p>"
    rows = []
    for signature in signatures:
        for k, entry in enumerate(signature.entries):
            name = f"<code>{plain(signature.text)}</code>" if not k else ""
            guards = "<br>".join(f"<code>{plain(text)}</code> {plain(loc)}" for text, loc in entry.guards)
            numbers = (f"{entry.hits:,}", f"{entry.nodes:,}", f"{entry.compile_seconds:.2f}")
            rows.append([name, *numbers, guards or "-"])
    return table_html(("signature", "hits", "nodes", "compile s", "assumes"), rows)


def report_html(report: Report) -> str:
    """What a notebook shows of a report."""
    rows = []
    for r in report.rows:
        numbers = (f"{r.calls:,}", f"{r.hits:,}", f"{r.traces:,}", f"{r.trace_seconds:.2f}", f"{r.compile_seconds:.2f}")
        rows.append([f"<code>{plain(r.function)}</code>", *numbers, plain(r.worst or "-"), plain(r.fix or "-")])
    heads = ("function", "calls", "hits", "traces", "trace s", "compile s", "worst reason", "fix")
    return f"<p>numtape: {plain(report.headline)}</p>" + (table_html(heads, rows) if rows else "")


def table_html(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f'<th scope="col">{title}</th>' for title in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
