"""The command `numtape`: run a script and say what was traced, why, and at what cost."""

from __future__ import annotations

import contextlib
import os
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from . import cli_cache
from .cache import Entry, all_tables
from .events import Event, listeners
from .explain import name_of
from .inspect import SOURCES, STAGES, describe_table, stage_graph, stage_source
from .report import Report, Row, collect, from_lines, to_lines

TOO_MANY = 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Runs a script and reports which functions were traced, why, and at what cost; looks after stored code.",
    epilog="Exit codes: 0 all well · 1 the script raised · 2 wrong usage · 3 more retraces than allowed · "
    "else the script's own.",
)
app.add_typer(cli_cache.app, name="cache")

Script = Annotated[Path, typer.Argument(metavar="SCRIPT", exists=True, dir_okay=False, help="A Python file.")]
Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARGS]...", help="Passed to the script; what stands after -- is never read as an option."),
]
Target = Annotated[str, typer.Argument(metavar="SCRIPT:FUNCTION", help="A Python file, and a function it compiles.")]
# a script's own options are passed on to it
PASSING = {"ignore_unknown_options": True, "allow_interspersed_args": True}


@app.command("run", context_settings=PASSING)
def run_command(
    script: Script,
    arguments: Arguments = None,
    fail_on_retrace: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Exit with code 3 after more than N retraces.")
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write events and functions as JSON lines; - for stdout.")
    ] = None,
) -> None:
    """Run SCRIPT as `python SCRIPT` would, then list its functions and explain each retrace.

    Exit codes: 0 all well; 1 the script raised; 2 wrong usage; 3 more than N retraces; else the script's own.
    """
    events: list[Event] = []
    with listening(events):
        code = run_script(script, arguments or [])
    report = collect(events)
    if json is not None:
        _write(json, "".join(f"{line}\n" for line in to_lines(report)))
    # a report beside JSON on stdout would spoil it
    print_report(report, sys.stderr if json == "-" else sys.stdout)
    if not code and fail_on_retrace is not None and len(report.retraces) > fail_on_retrace:
        print(f"numtape: {len(report.retraces)} retraces, {fail_on_retrace} are allowed", file=sys.stderr)
        code = TOO_MANY
    raise typer.Exit(code)


@app.command("report")
def report_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `run --json` or NUMTAPE_LOG wrote; - for stdin.")],
) -> None:
    """Print the report that a file of JSON lines holds.

    Exit codes: 0 all well; 2 the file can't be read.
    """
    try:
        lines = sys.stdin.readlines() if file == "-" else Path(file).read_text(encoding="utf-8").splitlines()
        report = from_lines(lines)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {error}") from error
    print_report(report, sys.stdout)


@app.command("graph", context_settings=PASSING)
def graph_command(
    target: Target,
    arguments: Arguments = None,
    stage: Annotated[str, typer.Option(help=f"One of {', '.join(STAGES)}.")] = "traced",
) -> None:
    """Run a script and print the newest graph of one of its functions. The script's own output goes to stderr."""
    _show(target, arguments, lambda entry: str(stage_graph(entry, stage)))


@app.command("source", context_settings=PASSING)
def source_command(
    target: Target,
    arguments: Arguments = None,
    stage: Annotated[str, typer.Option(help=f"One of {', '.join(STAGES[1:])}.")] = "fused",
    backend: Annotated[str, typer.Option(help=f"One of {', '.join(SOURCES)}.")] = "numba",
) -> None:
    """Run a script and print the newest code generated for one of its functions. The script's output goes to stderr."""
    _show(target, arguments, lambda entry: stage_source(entry, stage, backend))


@app.command("signatures", context_settings=PASSING)
def signatures_command(target: Target, arguments: Arguments = None) -> None:
    """Run a script and print the signatures of one of its functions, with entries, hits and guards."""
    _show(target, arguments, None)


def main() -> None:
    """The entry point of the command."""
    app(prog_name="numtape")


# -- running a script ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def listening(events: list[Event]) -> Iterator[None]:
    """Gather all events of a block."""
    listeners.append(events.append)
    try:
        yield
    finally:
        listeners.remove(events.append)


def run_script(script: Path, arguments: list[str]) -> int:
    """Run a file as the main program. Its traceback is printed as Python would; returns the exit code."""
    before = sys.argv, sys.path[:]
    sys.argv = [str(script), *arguments]
    # Python puts the script's directory in front, where the command has its own, unless -P or PYTHONSAFEPATH is set
    sys.path[: 0 if sys.flags.safe_path else 1] = [str(script.resolve().parent)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        return _exit_code(end.code)
    except BaseException as error:
        trace = _users_part(error.__traceback__, str(script))
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 1
    finally:
        sys.argv, sys.path[:] = before
    return 0


def _exit_code(code: Any) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _users_part(trace: TracebackType | None, script: str) -> TracebackType | None:
    """A traceback from the script's own frame on; nothing of it where the script did not even compile."""
    while trace is not None and trace.tb_frame.f_code.co_filename != script:
        trace = trace.tb_next
    return trace


def _show(target: str, arguments: list[str] | None, text_of: Any) -> None:
    """Run the script of SCRIPT:FUNCTION and print a text for each compiled form of the function."""
    name, colon, function = target.rpartition(":")
    script = Path(name)
    if not colon or not script.is_file():
        raise typer.BadParameter(f"{target}: expected SCRIPT:FUNCTION, with a file that exists")
    events: list[Event] = []
    with listening(events), contextlib.redirect_stdout(sys.stderr):
        code = run_script(script, arguments or [])
    numbers = {e.number for e in events}
    found = 0
    for table in all_tables():
        own = [e for e in table.history.all() if e.number in numbers]
        entries = table.all()
        if not own or not entries or function not in (own[-1].function, name_of(own[-1].transform, own[-1].function)):
            continue
        found += 1
        print(f"# {name_of(own[-1].transform, own[-1].function)} ({own[-1].line})")
        try:
            print(describe_table(table, function) if text_of is None else text_of(_newest(entries)))
        except (TypeError, ValueError) as error:
            raise typer.BadParameter(str(error)) from error
    if not found:
        names = sorted({e.function for e in events})
        raise typer.BadParameter(f"{script} compiled no {function!r}; it compiled {', '.join(names) or 'nothing'}")
    raise typer.Exit(code)


def _newest(entries: list[Entry]) -> Entry:
    return max(entries, key=lambda e: e.event.number)


# -- printing --------------------------------------------------------------------------------------------------------


def print_report(report: Report, to: TextIO) -> None:
    """The summary, the table of functions, and each retrace with its explanation."""
    console = Console(file=to, highlight=False, width=None if to.isatty() else 140)
    if not report.rows:
        console.print("numtape: no function was traced")
        return
    traces, again = sum(r.traces for r in report.rows), len(report.retraces)
    seconds = sum(r.trace_seconds + r.compile_seconds for r in report.rows)
    console.print(
        f"numtape: {len(report.rows)} functions, {sum(r.calls for r in report.rows)} calls, {traces} traces "
        f"({again} again), {seconds:.2f} s of tracing and compiling"
    )
    console.print(_grid(report.rows))
    for number, event in enumerate([e for e in report.events if e["kind"] != "first"], 1):
        _plain(console, f"\n{number}. {event['explanation']}")


def _grid(rows: list[Row]) -> Grid:
    grid = Grid()
    for title in ("function", "line"):
        grid.add_column(title, overflow="fold")
    for title in ("calls", "hits", "traces", "trace s", "compile s"):
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("worst reason", no_wrap=True)
    for r in rows:
        counts = [str(r.calls), str(r.hits), str(r.traces), f"{r.trace_seconds:.2f}", f"{r.compile_seconds:.2f}"]
        cells = [r.function, os.path.basename(r.line), *counts, r.worst or "-"]
        grid.add_row(*[Text(cell) for cell in cells])  # Text: brackets in names are no markup
    return grid


def _plain(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"--json {path}: {error}") from error


if __name__ == "__main__":
    main()
