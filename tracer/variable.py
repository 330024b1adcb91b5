"""Variables: named, mutable state that tapes watch by themselves and that recordings capture by reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from .context import context
from .errors import DtypeError, ShapeError, layout
from .tensor import Tensor
from .values import Value, emit, lift


class Variable(Tensor):
    """A Tensor that can be assigned.

    Parameters
    ----------
    value : array_like
        The initial content; copied.
    trainable : bool
        Whether tapes watch it by themselves when it is read.
    name : str, optional
        Shown in reports and printed graphs.
    dtype : dtype, optional
        Default: NumPy's choice for `value`.

    Examples
    --------
    >>> import numtape as nt
    >>> v = nt.Variable(2.0)
    >>> with nt.GradientTape() as tape:
    ...     y = v * v
    >>> float(tape.gradient(y, v))
    4.0
    """

    __slots__ = ("name", "trainable")
    __numtape_variable__ = True

    def __init__(self, value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None) -> None:
        trace = context.trace
        if trace is not None:
            trace.variable_made(self)
        content = value._current().array if isinstance(value, Tensor) else value
        array = np.array(content, dtype=dtype)
        lift(array)
        super().__init__(Value(array if array.ndim else array[()]))
        self.trainable = bool(trainable)
        self.name = name

    def _read(self) -> Value:
        trace = context.trace
        value = self._value if trace is None else trace.variable_value(self)
        for recorder in context.recorders:
            note = getattr(recorder, "variable_read", None)
            if note is not None:
                note(self, value)
        return value

    def _current(self) -> Value:
        """The content without telling any tape that it was read."""
        trace = context.trace
        return self._value if trace is None else trace.variable_value(self)

    def _replace(self, new: Any) -> None:
        self.assign(new)

    @property
    def value(self) -> Tensor:
        """The present content as a Tensor."""
        return Tensor(self._read())

    def numpy(self) -> Any:
        """The present content as a fresh NumPy array (0-d: a NumPy scalar)."""
        array = self._current().array
        return array.copy() if isinstance(array, np.ndarray) else array

    @property
    def shape(self) -> tuple[Any, ...]:
        from .scalar import as_user_size

        return tuple([as_user_size(s) for s in self._current().sizes])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._value.dtype

    @property
    def ndim(self) -> int:
        return len(self._value.sizes)

    def assign(self, value: Any) -> Variable:
        """Give the Variable new content of the same shape; the dtype stays.

        Raises
        ------
        ShapeError
            The shapes differ; the Variable keeps its content.
        DtypeError
            The new content can't be cast safely enough (complex or text to float).
        """
        new = lift(value)
        if new.borrowed:
            new = Value(new.array.copy())
        shape, wanted = np.shape(new.array), np.shape(self._current().array)
        if shape != wanted:
            text = f"assign to {self._label()}: the shapes differ"
            raise ShapeError(
                layout(text, expected=str(wanted), got=str(shape), fix="Make a new Variable for another shape.")
            )
        if new.weak or new.dtype != self.dtype:
            if not new.weak and not np.can_cast(new.dtype, self.dtype, "same_kind"):
                text = f"assign to {self._label()}: {new.dtype} can't be cast to {self.dtype}"
                raise DtypeError(layout(text, fix=f"Convert it first: value.astype({self.dtype})."))
            from .types import SHORT

            source: Any = Tensor(new) if not new.weak else new
            new = emit("astype", source, dtype=SHORT[self.dtype.name])._read()
        trace = context.trace
        if trace is not None:
            trace.assign(self, new)
        else:
            self._store(Value(new.array))  # a value of its own: no derivative passes through an assignment
        return self

    def assign_add(self, delta: Any) -> Variable:
        """Add `delta` in place."""
        return self.assign(Tensor(self._current()) + delta)

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract `delta` in place."""
        return self.assign(Tensor(self._current()) - delta)

    def _label(self) -> str:
        return f"Variable {self.name!r}" if self.name else "a Variable"

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        text = np.array2string(np.asarray(self._value.array), separator=", ", prefix="Variable(")
        return f"Variable({text}, dtype={self.dtype}{name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Variable, (self.numpy(), self.trainable, self.name))

    def __copy__(self) -> Variable:
        return Variable(self.numpy(), self.trainable, self.name)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return Variable(self.numpy(), self.trainable, self.name)
