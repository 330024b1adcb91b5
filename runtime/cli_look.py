"""The commands that look at one function of a script: why it was traced, its signatures, graphs and code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from .cache import Entry, Table
from .cli_run import run_target, title_of
from .fragments import visible
from .inspect import SOURCES, STAGES, describe_table, stage_graph, stage_source
from .printing import why_text
from .report import from_lines, record_of

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARGS]...", help="Passed to the script; what stands after -- is never read as an option."),
]
Target = Annotated[str, typer.Argument(metavar="SCRIPT:FUNCTION", help="A Python file, and a function it compiles.")]


def why_command(
    target: Annotated[
        str,
        typer.Argument(metavar="SCRIPT:FUNCTION", help="A Python file, or one of JSON lines, and a function."),
    ],
    arguments: Arguments = None,
    n: Annotated[
        int | None, typer.Option("--n", metavar="K", min=1, help="The K-th retrace; else the last one.")
    ] = None,
) -> None:
    """Say why a function was traced again: the argument, before and after, the line, the cost, the fix.

    Lists what was compiled at that moment, each entry with the first of its conditions that failed.

    Exit codes: 0 all well; 1 the script raised; 2 wrong usage, or there is no K-th retrace; else the script's own.
    """
    events, code = _events_of(target, arguments or [])
    again = [e for e in events if e["kind"] != "first"]
    wanted = len(again) if n is None else n
    if wanted > len(again):
        raise typer.BadParameter(f"{target} has {len(again)} retraces: there is no number {wanted}")
    shown = again[wanted - 1] if again else events[-1]
    name, line = shown["function"], os.path.basename(shown["line"])
    print(visible(f"# {name} ({line}): ") + (f"retrace {wanted} of {len(again)}" if again else "never traced again"))
    print(why_text(shown))
    raise typer.Exit(code)


def _events_of(target: str, arguments: list[str]) -> tuple[list[dict[str, Any]], int]:
    name, _, function = target.rpartition(":")
    if name.endswith(".py") or not Path(name).is_file():
        found, code = run_target(target, arguments)
        return [record_of(e) for _, events in found for e in events], code
    try:
        report = from_lines(Path(name).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{name}: {error}") from error
    events = [e for e in report.events if e["function"] == function]
    if not events:
        names = sorted({e["function"] for e in report.events})
        raise typer.BadParameter(f"{name} holds no {function!r}; it holds {', '.join(names) or 'nothing'}")
    return events, 0


def signatures_command(target: Target, arguments: Arguments = None) -> None:
    """Run a script and print the signatures of one of its functions, with entries, hits and guards.

    Exit codes: 0 all well; 1 the script raised; 2 wrong usage; else the script's own.
    """
    _show(target, arguments, lambda table, function: str(describe_table(table, function)))


def graph_command(
    target: Target,
    arguments: Arguments = None,
    stage: Annotated[str, typer.Option(help=f"One of {', '.join(STAGES)}.")] = "traced",
    as_dot: Annotated[bool, typer.Option("--dot", help="In Graphviz's language.")] = False,
    as_svg: Annotated[bool, typer.Option("--svg", help="Drawn, as one file that needs nothing else.")] = False,
    output: Annotated[str | None, typer.Option(metavar="FILE", help="Write the graph there instead.")] = None,
) -> None:
    """Run a script and print the newest graph of one of its functions: as text, for Graphviz, or drawn.

    The script's own output goes to stderr.

    Exit codes: 0 all well; 1 the script raised; 2 wrong usage; else the script's own.
    """
    from .drawing import dot, svg

    if as_dot and as_svg:
        raise typer.BadParameter("--dot and --svg exclude each other")
    written: Callable[[Any], str] = dot if as_dot else svg if as_svg else str
    # a headline would spoil what other programs read
    _show(target, arguments, _newest(lambda e: written(stage_graph(e, stage))), output, written is str)


def source_command(
    target: Target,
    arguments: Arguments = None,
    stage: Annotated[str, typer.Option(help=f"One of {', '.join(STAGES[1:])}.")] = "fused",
    backend: Annotated[str, typer.Option(help=f"One of {', '.join(SOURCES)}.")] = "numba",
) -> None:
    """Run a script and print the newest code generated for one of its functions. The script's output goes to stderr.

    Exit codes: 0 all well; 1 the script raised; 2 wrong usage; else the script's own.
    """
    _show(target, arguments, _newest(lambda entry: stage_source(entry, stage, backend)))


def _newest(text_of: Callable[[Entry], str]) -> Callable[[Table, str], str]:
    return lambda table, _: text_of(max(table.all(), key=lambda e: e.event.number))


def _show(
    target: str,
    arguments: list[str] | None,
    text_of: Callable[[Table, str], str],
    output: str | None = None,
    headed: bool = True,
) -> None:
    """Run the script of SCRIPT:FUNCTION and print a text for each compiled form of the function."""
    found, code = run_target(target, arguments or [])
    parts = []
    for table, events in found:
        if not table.all():
            if len(found) == 1:
                raise typer.BadParameter(f"nothing of {title_of(events[-1])} is compiled: {events[-1].explanation}")
            continue
        try:
            text = text_of(table, events[-1].function)
        except (TypeError, ValueError) as error:
            raise typer.BadParameter(str(error)) from error
        parts.append(f"# {title_of(events[-1])} ({events[-1].line})\n{text}" if headed else text)
    text = "\n".join(parts if headed else parts[-1:])
    if output is None:
        print(text)
    else:
        write(output, f"{text}\n", "--output")
    raise typer.Exit(code)


def write(path: str, text: str, option: str) -> None:
    """Write a file that an option names; where that fails it is wrong usage."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{option} {path}: {error}") from error
