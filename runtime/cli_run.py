"""Running a script for the command: as the main program, with all events gathered, and its functions found by name."""

from __future__ import annotations

import contextlib
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import typer

from .cache import Table, all_tables
from .events import Event, listeners
from .explain import name_of


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


def run_target(target: str, arguments: list[str]) -> tuple[list[tuple[Table, list[Event]]], int]:
    """Run the script of SCRIPT:FUNCTION: the tables of that function with their events, and the exit code.

    What the script prints goes to stderr. A target that names nothing is wrong usage.
    """
    name, colon, function = target.rpartition(":")
    script = Path(name)
    if not colon or not script.is_file():
        raise typer.BadParameter(f"{target}: expected SCRIPT:FUNCTION, with a file that exists")
    events: list[Event] = []
    with listening(events), contextlib.redirect_stdout(sys.stderr):
        code = run_script(script, arguments)
    found = []
    for table in all_tables():
        numbers = {e.number for e in table.history.all()}
        own = [e for e in events if e.number in numbers]
        if own and function in (own[-1].function, title_of(own[-1])):
            found.append((table, own))
    if not found:
        names = sorted({e.function for e in events})
        raise typer.BadParameter(f"{script} compiled no {function!r}; it compiled {', '.join(names) or 'nothing'}")
    return found, code


def title_of(event: Event) -> str:
    """How the function of an event is called in texts."""
    return name_of(event.transform, event.function)
