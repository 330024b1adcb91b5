"""The commands `numtape cache`: what the store of compiled code holds, whether it is sound, and how to empty it."""

from __future__ import annotations

import sys
from datetime import datetime

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table as Grid

from .store import Store, Stored, default_store

PREFIX = 16  # digits of a key that tell it from others

app = typer.Typer(
    no_args_is_help=True,
    help="Shows, checks or empties the store of compiled code. NUMTAPE_CACHE_DIR moves it to another directory.",
    epilog="Exit codes: 0 all well · 1 a file is damaged, or the directory can't be used · 2 wrong usage.",
)


@app.command("ls")
def ls_command() -> None:
    """List the files of the store, those used last first."""
    store = _usable_store()
    files = store.files(check=False)
    print(f"{store.directory}: {_sum(files)} of at most {decimal(store.limit)}")
    if files:
        grid = Grid("key")
        grid.add_column("size", justify="right")
        grid.add_column("last use")
        for f in files:
            grid.add_row(f.key[:PREFIX], decimal(f.size), f"{datetime.fromtimestamp(f.used):%Y-%m-%d %H:%M:%S}")
        Console(file=sys.stdout, highlight=False).print(grid)


@app.command("verify")
def verify_command() -> None:
    """Read every file and list those that are damaged. They are never loaded; their next use replaces them.

    Exit codes: 0 all files are sound; 1 a file is damaged, or the directory can't be used.
    """
    store = _usable_store()
    files = store.files()
    damaged = [f for f in files if f.defect]
    for f in damaged:
        print(f"{f.key[:PREFIX]} {f.defect}")
    print(f"{store.directory}: {_sum(files)}, {len(damaged) or 'none'} damaged")
    raise typer.Exit(1 if damaged else 0)


@app.command("clear")
def clear_command() -> None:
    """Remove all files of the store; other files in its directory stay."""
    store = _usable_store()
    before = store.files(check=False)
    store.clear()
    # what another process has written meanwhile has another time
    stuck = set(before) & set(store.files(check=False))
    print(f"{store.directory}: removed {_sum([f for f in before if f not in stuck])}")
    if stuck:
        print(f"numtape: {_sum(list(stuck))} could not be removed", file=sys.stderr)
        raise typer.Exit(1)


def _usable_store() -> Store:
    store = default_store()
    if trouble := store.trouble():
        print(f"numtape: no code is stored: {trouble}", file=sys.stderr)
        raise typer.Exit(1)
    return store


def _sum(files: list[Stored]) -> str:
    return f"{len(files)} {'file' if len(files) == 1 else 'files'}, {decimal(sum(f.size for f in files))}"
