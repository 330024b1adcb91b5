"""The command `numtape`: run a script and say what was traced, why, and at what cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from . import cli_cache, cli_look
from .changes import changes
from .cli_look import write
from .cli_run import listening, run_script
from .events import Event
from .fragments import visible
from .printing import columns, print_report
from .report import Report, collect, from_lines, to_lines
from .settings import settings

TOO_MANY = 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Runs a script and reports which functions were traced, why, and at what cost; looks after stored code.",
    epilog="Exit codes: 0 all well · 1 the script raised, or something is broken here · 2 wrong usage or settings · "
    "3 more retraces than allowed, or than before · else the script's own.",
)
app.add_typer(cli_cache.app, name="cache")
# a script's own options are passed on to it
PASSING = {"ignore_unknown_options": True, "allow_interspersed_args": True}
app.command("why", context_settings=PASSING)(cli_look.why_command)
app.command("signatures", context_settings=PASSING)(cli_look.signatures_command)
app.command("graph", context_settings=PASSING)(cli_look.graph_command)
app.command("source", context_settings=PASSING)(cli_look.source_command)

Script = Annotated[Path, typer.Argument(metavar="SCRIPT", exists=True, dir_okay=False, help="A Python file.")]
Page = Annotated[str | None, typer.Option("--html", metavar="FILE", help="Write the report as one HTML page.")]


@app.callback()
def check_settings(context: typer.Context) -> None:
    """Runs a script and reports which functions were traced, why, and at what cost; looks after stored code."""
    if context.invoked_subcommand == "doctor":  # it says what is wrong with them itself
        return
    try:
        settings()
    except ValueError as error:
        print(f"numtape: {error}", file=sys.stderr)
        raise typer.Exit(2) from error


@app.command("run", context_settings=PASSING)
def run_command(
    script: Script,
    arguments: cli_look.Arguments = None,
    fail_on_retrace: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Exit with code 3 after more than N retraces.")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="FILE", help="Exit with code 3 after retraces that this report doesn't have.")
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write events and functions as JSON lines; - or nothing for stdout."),
    ] = None,
    html: Page = None,
) -> None:
    """Run SCRIPT as `python SCRIPT` would, then list its functions and explain each retrace.

    Exit codes: 0 all well; 1 the script raised; 2 wrong usage or settings; 3 more than N retraces, or retraces that the
    baseline doesn't have; else the script's own.
    """
    before = None if baseline is None else _report_of(baseline, "Write one: numtape run SCRIPT --json FILE.")
    events: list[Event] = []
    with listening(events):
        code = run_script(script, arguments or [])
    report = collect(events, measure=True)
    lines = "".join(f"{line}\n" for line in to_lines(report))
    if json == "-":
        sys.stdout.write(lines)
    elif json is not None:
        write(json, lines, "--json")
    if html is not None:
        write(html, report.html(), "--html")
    # a report beside JSON on stdout would spoil it
    print_report(report, sys.stderr if json == "-" else sys.stdout)
    raise typer.Exit(code or _verdict(report, before, fail_on_retrace))


def _verdict(report: Report, before: Report | None, allowed: int | None) -> int:
    """The exit code of a script that went well, told on stderr where it isn't 0."""
    code = 0
    if allowed is not None and len(report.retraces) > allowed:
        are = "is" if allowed == 1 else "are"
        print(f"numtape: {len(report.retraces)} retraces, {allowed} {are} allowed", file=sys.stderr)
        code = TOO_MANY
    worse = [] if before is None else [c for c in changes(before, report) if c.kind == "worse"]
    for change in worse:
        print(f"numtape: more than in the baseline: {visible(change.text)}", file=sys.stderr)
    return TOO_MANY if worse else code


@app.command("report")
def report_command(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `run --json` or NUMTAPE_LOG wrote; - for stdin.")],
    html: Page = None,
) -> None:
    """Print the report that a file of JSON lines holds, or write it as a page.

    Exit codes: 0 all well; 2 the file can't be read, or the page not written.
    """
    report = _report_of(file)
    if html is None:
        print_report(report, sys.stdout)
    else:
        write(html, report.html(), "--html")


@app.command("diff")
def diff_command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="What `run --json` or NUMTAPE_LOG wrote before.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The same, written after a change.")],
) -> None:
    """Say which retraces, failures and uncompiled calls appeared or went away, and what takes longer to compile.

    Times alone are no failure: they depend on the machine.

    Exit codes: 0 nothing got worse; 2 a file can't be read; 3 something got worse.
    """
    found = changes(_report_of(old), _report_of(new))
    counts = {kind: sum(c.kind == kind for c in found) for kind in ("worse", "better")}
    print(f"numtape: {counts['worse']} worse, {counts['better']} better")
    for change in found:
        print(visible(str(change)))
    raise typer.Exit(TOO_MANY if counts["worse"] else 0)


@app.command("doctor")
def doctor_command() -> None:
    """Say what serves here: versions, back end and why, processor, BLAS, threads, store, and a trial compile.

    Exit codes: 0 all well; 1 something is broken, or slower than it could be.
    """
    from .doctor import examine

    found = examine()
    for line in columns([(f.topic, f.text) for f in found], ""):
        print(line)
    troubles = [f for f in found if f.trouble]
    for finding in troubles:
        print(f"! {finding.topic}: {finding.trouble}")
    raise typer.Exit(1 if troubles else 0)


def _report_of(file: str, fix: str = "") -> Report:
    try:
        lines = sys.stdin.readlines() if file == "-" else Path(file).read_text(encoding="utf-8").splitlines()
        return from_lines(lines)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file}: {error}{f'. {fix}' if fix else ''}") from error


def with_file(words: list[str]) -> list[str]:
    """The words of a command line, `--json` with a file after it: ``-`` where none is named.

    A script is no such file: ``run --json train.py`` would overwrite it.
    """
    out: list[str] = []
    own = words.index("--") if "--" in words else len(words)
    for k, word in enumerate(words):
        out.append(word)
        following = words[k + 1] if k + 1 < own else "--"
        if word == "--json" and k < own and (following.endswith(".py") or following[:1] == "-" != following):
            out.append("-")
    return out


def main() -> None:
    """The entry point of the command."""
    app(with_file(sys.argv[1:]) if sys.argv[1:2] == ["run"] else sys.argv[1:], prog_name="numtape")


if __name__ == "__main__":
    main()
