"""The exceptions that users meet, and the one function that lays out a message.

NumtapeError
├── ShapeError      (ValueError)       sizes that don't fit
├── DtypeError      (TypeError)        a dtype or kind of argument that can't be taken
├── GradError       (TypeError)        a derivative that does not exist or was asked for wrongly
├── CaptureError    (TypeError)        a value that a recording could not follow
├── TraceError      (TypeError)        a traced value used where its number would be cut out of the graph
├── TapeError       (RuntimeError)     a tape used outside of its life
└── RetraceError    (RuntimeError)     more traces than the user allowed
RetraceWarning      (UserWarning)
"""

from __future__ import annotations

from typing import Any


class NumtapeError(Exception):
    """Base of all errors of this library; what happened is in the text, the data in attributes."""

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["data"][name]
        except KeyError:
            raise AttributeError(name) from None


class ShapeError(NumtapeError, ValueError):
    """Sizes that don't fit together."""


class DtypeError(NumtapeError, TypeError):
    """A dtype or a kind of argument that can't be taken."""


class GradError(NumtapeError, TypeError):
    """A derivative that does not exist, or was asked for wrongly."""


class CaptureError(NumtapeError, TypeError):
    """A value that a recording could not follow."""


class TraceError(NumtapeError, TypeError):
    """A traced value used where taking its number would cut it out of the graph."""


class TapeError(NumtapeError, RuntimeError):
    """A tape used outside of its life."""


class RetraceError(NumtapeError, RuntimeError):
    """More traces than the user allowed."""


class RetraceWarning(UserWarning):
    """A function was traced again at a cost worth knowing about."""


def add_line(error: NumtapeError, where: str) -> None:
    """Put the user's line into a message that does not name one."""
    first, _, rest = error.message.partition("\n")
    if where and where not in error.message:
        error.message = f"{first.removesuffix('.')} ({where})." + (f"\n{rest}" if rest else "")
        error.args = (error.message,)


def layout(what: str, where: str = "", expected: str = "", got: str = "", fix: str = "") -> str:
    """Lay out a message: what happened (where), expected against got, what to do.

    >>> print(layout("matmul: inner sizes differ", "model.py:12", "w of length 3", "4", "Transpose w."))
    matmul: inner sizes differ (model.py:12).
    Expected w of length 3, got 4.
    Transpose w.
    """
    lines = [f"{what} ({where})." if where else f"{what}."]
    if expected:
        lines.append(f"Expected {expected}, got {got}." if got else f"Expected {expected}.")
    if fix:
        lines.append(fix)
    return "\n".join(lines)
