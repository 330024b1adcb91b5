"""The entry for given arguments without a call: what embedding and pullbacks hold on to."""

from __future__ import annotations

from typing import Any

from .cache import Entry
from .jit import Function


def serving(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, list[Any]]:
    """The entry that serves these bound arguments, or a new one, and the leaves that it takes.

    Nothing is written into the caller's arrays or Variables: an entry with effects comes back without having run.
    """
    leaves, signature = function._signature(args, kwargs)
    with function._table.lock_for(signature):
        for entry in list(function._table.entries.get(signature, ())):
            if entry.recording.effects or entry.run(function._function, leaves, _outputs)[0]:
                return entry, leaves
        return function._enter(args, kwargs, leaves, signature), leaves


def _outputs(entry: Entry, leaves: Any, items: Any, outs: Any) -> Any:
    return outs
