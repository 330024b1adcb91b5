"""Who is told of traces and compiles: the user's hooks, the logger "numtape", and a line in the terminal."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tracer.graph import Graph
    from .explain import Explanation

PATIENCE = 1.0
"""Seconds that a compile may take before a line in the terminal says so."""


@dataclass(frozen=True)
class Compilation:
    """One graph made into code.

    Attributes
    ----------
    function : str
        The name of the compiled graph, which is that of its function.
    backend : str
        Who compiled it: ``"llvm"``, ``"numba"`` or ``"interpreter"``.
    nodes : int
        Operations of the graph.
    seconds : float
        What it took.
    found : bool
        Whether the machine code came from the store.
    """

    function: str
    backend: str
    nodes: int
    seconds: float
    found: bool

    def __str__(self) -> str:
        verb = "loaded" if self.found else "compiled"
        return f"{self.function}: {verb} by {self.backend} in {self.seconds:.2f} s ({self.nodes} nodes)"


class Hook:
    """A callback that is registered until `remove`, or until the end of a ``with`` block."""

    def __init__(self, registered: list[Hook], callback: Callable[[Any], object]) -> None:
        if not callable(callback):
            raise TypeError(f"a hook is a function of one argument, not {type(callback).__name__}")
        self.callback = callback
        self._registered = registered
        registered.append(self)

    def remove(self) -> None:
        """Call it no more; a second removal does nothing."""
        if self in self._registered:
            self._registered.remove(self)

    def __enter__(self) -> Hook:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


_of_traces: list[Hook] = []
_of_compiles: list[Hook] = []


def on_trace(callback: Callable[[Explanation], object]) -> Hook:
    """Call `callback` with the explanation of each trace, on the thread that traces; what it raises, the call raises.

    The explanation's `kind` is "first", "retrace", "failed" (the trace raised; once for each error) or "fallback" (a
    call ran uncompiled; once for each signature).

    Parameters
    ----------
    callback : callable
        Takes an `Explanation`; its answer is not used.

    Returns
    -------
    Hook
        Has ``remove()``; as a context manager, it is removed at the end of the block.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> double = nt.jit(lambda x: x + x)
    >>> seen = []
    >>> with nt.on_trace(seen.append):
    ...     _ = double(np.ones(3)), double(np.ones(5)), double(np.ones((2, 2)))
    >>> [(e.kind, e.code) for e in seen]
    [('first', 'FIRST_TRACE'), ('retrace', 'RANK')]
    """
    return Hook(_of_traces, callback)


def on_compile(callback: Callable[[Compilation], object]) -> Hook:
    """Call `callback` with a `Compilation` after each compile, on the thread that compiles.

    Parameters
    ----------
    callback : callable
        Takes a `Compilation`: function, back end, nodes, seconds, and whether the code came from the store.

    Returns
    -------
    Hook
        Has ``remove()``; as a context manager, it is removed at the end of the block.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> triple = nt.jit(lambda x: 3 * x)
    >>> seen = []
    >>> with nt.on_compile(seen.append):
    ...     _ = triple(np.ones(3)), triple(np.ones(5))
    >>> len(seen), seen[0].nodes
    (1, 3)
    """
    return Hook(_of_compiles, callback)


_LEVELS = {"first": logging.DEBUG, "retrace": logging.INFO, "fallback": logging.INFO, "failed": logging.INFO}


def traced(explanation: Explanation) -> None:
    """Tell of a trace."""
    # no WARNING: what deserves one is a RetraceWarning already
    logging.getLogger("numtape").log(_LEVELS[explanation.kind], "%s", explanation)
    for hook in tuple(_of_traces):
        hook.callback(explanation)


def compiled(graph: Graph, backend: str, code: Any) -> None:
    """Tell of a compile."""
    told = Compilation(graph.name, backend, len(graph.nodes), code.compile_seconds, code.found)
    logging.getLogger("numtape").debug("%s", told)
    for hook in tuple(_of_compiles):
        hook.callback(told)


# -- a line for those who wait ---------------------------------------------------------------------------------------


@contextmanager
def waiting(graph: Graph) -> Iterator[None]:
    """Show a line on a terminal's stderr where the block takes longer than PATIENCE, and take it away at its end."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    line = _Line(f"numtape: compiling {graph.name} ({len(graph.nodes)} nodes)")
    timer = threading.Timer(PATIENCE, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        line.end()


class _Line:
    """The line, shown by a timer's thread and ended by the one that compiles, in whatever order they come."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ended = False
        self.live: Any = None
        self.lock = threading.Lock()

    def show(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.markup import escape
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        console = Console(stderr=True, highlight=False)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        progress = Progress(*columns, console=console, auto_refresh=False)
        progress.add_task(escape(self.text), total=None)
        with self.lock:
            if not self.ended and console.is_terminal and not console.is_dumb_terminal:
                # the program's own output passes by as it is
                self.live = Live(
                    progress, console=console, transient=True, redirect_stdout=False, redirect_stderr=False
                )
                self.live.start()

    def end(self) -> None:
        with self.lock:
            self.ended = True
            if self.live is not None:
                self.live.stop()
