"""Lays the results out as Markdown."""

from __future__ import annotations

from typing import Any

from .peers import ENTRIES, NOTHING_TO_SKIP
from .workloads import TABLE

LATE = "more than "  # how the failure of a peer that took too long begins
Rows = list[list[str]]


def table(head: list[str], rows: Rows) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def figure(x: float) -> str:
    """Three digits."""
    return f"{x:,.0f}" if x >= 99.95 else f"{x:.3g}"


def why_not(cell: dict[str, Any] | None) -> str:
    """What stands in a cell without a figure; other failures than a late answer are listed below the table."""
    failed = (cell or {}).get("failed", "")
    if failed.startswith(LATE):
        return failed.replace(LATE, "> ")
    return "failed" if failed else "–"


def failures(where: str, cells: dict[str, Any]) -> list[str]:
    return [
        f"- {where}, {ENTRIES[name].label}: {c['failed']}"
        for name, c in cells.items()
        if not c.get("failed", LATE).startswith(LATE)
    ]


def label(name: str, data: dict[str, Any]) -> str:
    note = data["notes"].get(name, "")
    return f"{ENTRIES[name].label} ({note})" if note else ENTRIES[name].label


def difference(cell: dict[str, Any]) -> str:
    return f"differs by {cell['error']:.0e}" if "error" in cell else "other shapes"


def columns(results: dict[str, Any], names: list[str]) -> list[str]:
    return [n for n in names if any(n in cells for cells in results.values())]


def steady(data: dict[str, Any], calls: bool) -> str:
    results = {w.name: data["steady"][w.name] for w in TABLE if w.name in data["steady"] and w.call == calls}
    if not results:
        return ""
    names = columns(results, data["names"])
    unit, scale = ("µs", 1e6) if calls else ("ms", 1e3)
    rows, notes = [], []
    for w in TABLE:
        if w.name not in results:
            continue
        cells = results[w.name]
        base = cells.get("numtape", {}).get("seconds")
        row = [f"{w.name}: {w.what}"]
        for name in names:
            cell = cells.get(name)
            if cell is None or "seconds" not in cell:
                row.append(why_not(cell))
                continue
            text = figure(cell["seconds"] * scale)
            if base and name != "numtape":
                text += f" ({figure(cell['seconds'] / base)})"
            row.append(text if cell.get("agrees", True) else f"{text} **{difference(cell)}**")
        rows.append(row)
        notes += failures(w.name, cells)
    worst = [c["error"] for cells in results.values() for c in cells.values() if "error" in c]
    title = "What a call costs" if calls else "Value and gradient"
    what = "value and gradient of small data" if calls else "one steady call"
    text = (
        f"## {title}\n\n{unit} of CPU time, {what}; in brackets the ratio to numtape: above 1, numtape is faster.\n\n"
    )
    text += table(["", *(label(n, data) for n in names)], rows)
    if worst:
        text += f"\n\nLargest distance between results, over the array's largest entry: {max(worst):.0e}."
    return "\n".join([text, *([""] if notes else []), *notes])


def bandwidth(data: dict[str, Any]) -> str:
    part = data.get("bandwidth")
    if not part:
        return ""
    shares = ", ".join(f"{ENTRIES[n].label} {100 * s:.0f} %" for n, s in part["share"].items())
    text = f"## Memory bandwidth\n\nA triad `a = b + 3·c` over 1e7 numbers moves {part['triad'] / 1e9:.1f} GB/s, "
    text += "counting the read that comes before each write."
    return text + (f" At the least traffic that membound needs, its share of that: {shares}." if shares else "")


def first(data: dict[str, Any]) -> str:
    results = data.get("first")
    if not results:
        return ""
    rows, notes = [], []
    for workload, cells in results.items():
        for name, both in cells.items():
            row = [workload, label(name, data), "–"]
            for when in ("cold", "warm"):
                cell = both.get(when, {})
                if "cpu" in cell:
                    row[2] = figure(both["cold"].get("import", cell["import"]))
                    row += [figure(cell["cpu"]), figure(cell["wall"])]
                else:
                    row += [why_not(cell), why_not(cell)]
                    notes += failures(f"{workload}, {when}", {name: cell})
            rows.append(row)
    head = ["workload", "", "its import, CPU", "first process, CPU", "wall", "second process, CPU", "wall"]
    text = (
        "## First result of a fresh process\n\nSeconds from the start of Python, NumPy's import included, without the "
    )
    text += "time to make the data. The second process finds what the first one left on disk.\n\n" + table(head, rows)
    return "\n".join([text, *([""] if notes else []), *notes])


def growing(data: dict[str, Any]) -> str:
    part = data.get("growing")
    if not part:
        return ""
    rows, total = [], part["lengths"]
    for name, ways in part["peers"].items():
        for way, cell in ways.items():
            who = f"{label(name, data)} {way}".strip()
            if "first" not in cell:
                rows.append([who, why_not(cell), cell.get("failed", "–"), "–"])
                continue
            done = "" if cell["lengths"] == total else f", stopped after {cell['lengths']} lengths"
            second = figure(cell["second"] * 1e3) if "second" in cell else "–"
            rows.append([who, str(cell["traces"]), figure(cell["first"]) + done, second])
    head = ["", "traces", "first pass, s", "second pass, ms"]
    text = (
        f"## Growing shapes\n\nValue and gradient of the mean square of a causal moving average, for {total} lengths "
    )
    return text + "from 1 on; CPU time of both passes, compilers included.\n\n" + table(head, rows)


def memory(data: dict[str, Any]) -> str:
    part = data.get("memory")
    if not part:
        return ""
    rows = []
    for name, cell in part.items():
        if "peak" in cell:
            sizes = [figure(cell[k] / 1e6) for k in ("peak", "needed")]
            rows.append([label(name, data), *sizes, figure(cell["peak"] / cell["needed"])])
        else:
            rows.append([label(name, data), cell.get("failed", "–"), "–", "–"])
    head = ["", "peak, MB", "inputs and outputs, MB", "ratio"]
    return "## Peak memory of membound\n\nBeyond the process before it has its data.\n\n" + table(head, rows)


def compiling(data: dict[str, Any]) -> str:
    part = data.get("compile")
    if not part:
        return ""
    rows, notes = [], []
    for name, cells in part["peers"].items():
        row = [label(name, data)]
        for ops in map(str, part["sizes"]):
            cell = cells.get(ops)
            row.append(figure(cell["first"]) if cell and "first" in cell else why_not(cell))
            notes += failures(f"{int(ops):,} operations", {name: cell} if cell else {})
        rows.append(row)
    head = ["", *(f"{ops:,}" for ops in part["sizes"])]
    text = (
        "## First call by the number of elementwise operations\n\nCPU seconds for value and gradient of a chain, after "
    )
    text += f"the import; at most {part['limit']:g} s of wall time each, and no longer chain after one that failed.\n\n"
    return "\n".join([text + table(head, rows), *([""] if notes else []), *notes])


def markdown(data: dict[str, Any]) -> str:
    machine = data["machine"]
    versions: dict[str, str] = {}
    for of_peer in data["versions"].values():
        versions.update(of_peer)
    where = "pinned to one core" if machine["pinned"] else "not pinned to a core"
    tiny = "; tiny data, so no figure says anything" if data["tiny"] else ""
    head = [
        "# Results",
        "",
        f"`python -m benchmarks` on {data['date']}; {machine['cpu']}, {machine['system']}, Python {machine['python']}; "
        f"{where}, one thread{tiny}. {', '.join(f'{name} {version}' for name, version in sorted(versions.items()))}.",
    ]
    missing = [f"{ENTRIES[n].label} ({why})" for n, why in data["missing"].items() if n not in NOTHING_TO_SKIP or why]
    if missing:
        head += ["", f"Skipped: {', '.join(missing)}."]
    parts = [
        steady(data, calls=False) if "steady" in data else "",
        steady(data, calls=True) if "steady" in data else "",
        bandwidth(data),
        first(data),
        growing(data),
        memory(data),
        compiling(data),
    ]
    return "\n\n".join(["\n".join(head), *filter(None, parts)]) + "\n"
