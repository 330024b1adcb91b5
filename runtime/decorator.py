"""The decorator `jit`, with arguments or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from .jit import Function


@overload
def jit(function: Callable[..., Any], /) -> Function: ...
@overload
def jit(
    *, static: Any = (), max_entries: int = 32, on_retrace: Any = "warn", backend: str = "auto"
) -> Callable[[Callable[..., Any]], Function]: ...
def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static: Any = (),
    max_entries: int = 32,
    on_retrace: Any = "warn",
    backend: str = "auto",
) -> Any:
    """Compile a function of NumPy code; compiled code is cached by dtype and rank, never by shape.

    Parameters
    ----------
    function : callable
        Plain NumPy code. It runs once for each new combination of dtypes and ranks.
    static : str, int or tuple of them
        Parameters whose values are part of the signature.
    max_entries : int
        How many outcomes of branches are compiled for one signature; beyond, calls run uncompiled, with a warning.
    on_retrace : {"warn", "error", "ignore"} or callable
        What to do when a trace after the first one costs more than it should.
    backend : {"auto", "llvm", "numba"}
        Who compiles: LLVM, or numba from Python source; "auto" is ``NUMTAPE_BACKEND``, else LLVM where it can serve.

    Returns
    -------
    Function
        Takes and returns arrays; has ``.stats``, ``.explain_last()``, ``.graph()``, ``.source()``.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> @nt.jit
    ... def f(x):
    ...     return np.sum(np.sin(x) ** 2)
    >>> values = [f(np.ones(n)) for n in range(50)]
    >>> f.stats.traces
    1
    """
    options = {"static": static, "max_entries": max_entries, "on_retrace": on_retrace, "backend": backend}
    if function is None:
        return lambda f: Function(f, **options)
    return Function(function, **options)
