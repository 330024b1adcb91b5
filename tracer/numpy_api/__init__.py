"""NumPy's functions on traced values: each handler has exactly the signature of the function that it stands for.

Handlers are composed of ops, so what they compute is recorded and has derivatives of every order. What can't be
recorded is refused by name; no argument is ever ignored unless it changes no value: it is about memory (`order`,
`subok`, `copy`, `device`) or about the way to the result (`kind`, `optimize`, `max_work`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..context import context
from ..errors import TraceError, layout
from ..library import public_module
from ..values import attempt, has_traced, is_traced
from . import (
    contraction,
    creation,
    factorizations,
    gathers,
    joins,
    linear,
    norms,
    padding,
    reductions,
    scipy_linalg,
    selection,
    shapes,
    special,
    statistics,
    stencils,
    writes,
)
from .common import stack_nested
from .creation import CREATION
from .methods import METHODS
from .special import logsumexp
from .ufuncs import REDUCTIONS, UFUNCS, call_ufunc

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    function: handler
    for module in (
        contraction, creation, factorizations, gathers, joins, linear, norms, padding, reductions, selection, shapes,
        statistics, stencils, writes,
    )
    for function, handler in module.FUNCTIONS.items()
}  # fmt: skip


FUNCTIONS_BY_NAME: dict[tuple[str, str], Callable[..., Any]] = {
    **special.FUNCTIONS_BY_NAME,
    **scipy_linalg.FUNCTIONS_BY_NAME,
}

# what only shows or stores numbers, on a tape too
_SHOWN = {np.array2string, np.array_repr, np.array_str, np.save, np.savetxt, np.savez, np.savez_compressed}


def call_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What ``function(*args, **kwargs)`` does where traced values stand in its arguments."""
    handler = FUNCTIONS.get(function)
    if handler is None:
        handler = FUNCTIONS_BY_NAME.get((public_module(function), function.__name__))
    if handler is not None:
        return attempt(handler, *args, **kwargs)
    if context.trace is None and (not context.recorders or function in _SHOWN):
        return function(*_plain(args), **_plain(kwargs))
    name = f"{function.__module__}.{function.__name__}".replace("numpy.", "np.", 1)
    fix = "Write it with other NumPy functions, or cut it out on purpose: call it on stop_gradient(x).numpy()."
    error = TraceError(layout(f"{name} has no recorded form", fix=fix), function=name)
    raise error if context.trace is None else context.trace.noted(error)


def _plain(item: Any) -> Any:
    """Arguments as NumPy takes them where nothing records."""
    if is_traced(item):
        return item._read().array
    if isinstance(item, dict):
        return {key: _plain(value) for key, value in item.items()}
    if isinstance(item, list | tuple) and has_traced(item):
        return type(item)(_plain(part) for part in item)
    return item


__all__ = [
    "CREATION",
    "FUNCTIONS",
    "FUNCTIONS_BY_NAME",
    "METHODS",
    "REDUCTIONS",
    "UFUNCS",
    "call_function",
    "call_ufunc",
    "logsumexp",
    "stack_nested",
]
