"""The recording side of a gradient tape: which operations derivatives can pass through, and from what.

A value is known to a tape only if derivatives reach it from something watched. What cuts a path (an integer cast, a
comparison, `stop_gradient`) leaves a note that `why_none` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from .context import Place, context, place
from .errors import DtypeError, TapeError, layout
from .op import Op
from .reach import flows
from .tensor import Tensor
from .values import Value
from .variable import Variable

Record = tuple[Op, tuple[Value, ...], Mapping[str, Any], tuple[Value, ...], Place]  # one operation as it happened


class Cut(NamedTuple):
    """Where a path of derivatives ended: the op, and the user's line."""

    op: str
    place: Place


class Tape:
    """Records operations on watched values while it is active on its thread."""

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent = persistent
        self._watch_accessed = watch_accessed_variables
        self._clear()
        self._active = False
        self._paused = 0
        self._consumed: WeakSet[Value] | None = None

    def _clear(self) -> None:
        self._records: list[Record] = []
        self._known: set[Value] = set()
        self._watched: dict[int, tuple[Any, Value]] = {}
        self._variables: dict[int, tuple[Variable, list[Value]]] = {}
        self._cuts: WeakKeyDictionary[Value, Cut] = WeakKeyDictionary()
        self._left: Cut | None = None  # where a known value became a plain number, the last time
        self._snapshots: dict[int, tuple[Any, Value]] = {}

    # -- life ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Any:
        if self._active:
            raise ValueError("this tape is recording already: a tape can't be entered twice at once")
        if self._consumed is not None:
            self._clear()
            self._consumed = None
        self._active = True
        self._attach()
        return self

    def __exit__(self, *exception: object) -> None:
        self._detach()
        self._active = False
        self._paused = 0

    def _attach(self) -> None:
        if self._active and not self._paused and self not in context.recorders:
            context.recorders = (*context.recorders, self)

    def _detach(self) -> None:
        context.recorders = tuple([r for r in context.recorders if r is not self])

    @contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Don't record on this tape inside the block; other tapes go on.

        Raises
        ------
        TapeError
            The tape is not recording.

        Examples
        --------
        >>> import numtape as nt
        >>> x = nt.tensor(3.0)
        >>> with nt.GradientTape() as tape:
        ...     tape.watch(x)
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         z = x + x
        >>> float(tape.gradient(y, x))
        6.0
        """
        if not self._active:
            raise TapeError("stop_recording: this tape is not recording, so there is nothing to stop")
        self._paused += 1
        self._detach()
        try:
            yield
        finally:
            self._paused = max(0, self._paused - 1)
            self._attach()

    def reset(self) -> None:
        """Forget everything recorded and watched so far; recording goes on."""
        self._clear()
        self._consumed = None

    # -- watching ------------------------------------------------------------------------------------------------

    def watch(self, tensor: Any) -> None:
        """Record what is computed from `tensor` from now on.

        Parameters
        ----------
        tensor : Tensor, Variable or a tree of them
            Integers and booleans have no derivatives: watching one is allowed, its gradient is None.

        Raises
        ------
        DtypeError
            A leaf is neither a Tensor nor a Variable: a plain array can't be followed.
        """
        for leaf in leaves(tensor):
            if isinstance(leaf, Variable):
                self._note_variable(leaf, leaf._current())
            elif isinstance(leaf, Tensor):
                value = leaf._read()
                self._watched[id(leaf)] = (leaf, value)
                if value.dtype.kind == "f":
                    self._known.add(value)
            else:
                fix = "Make it a Tensor first: x = nt.tensor(x)."
                raise DtypeError(layout(f"watch takes Tensors and Variables, not {type(leaf).__name__}", fix=fix))

    def watch_source(self, source: Any) -> None:
        """Watch an argument of a transform: a Tensor or a runtime scalar."""
        value = source._read()
        self._watched[id(source)] = (source, value)
        self._known.add(value)

    def variable_read(self, variable: Variable, value: Value) -> None:
        """A Variable was read while this tape was recording."""
        if id(variable) in self._variables or (self._watch_accessed and variable.trainable):
            self._note_variable(variable, value)

    def _note_variable(self, variable: Variable, value: Value) -> None:
        _, values = self._variables.setdefault(id(variable), (variable, []))
        if not any(v is value for v in values):
            values.append(value)
        if value.dtype.kind == "f":
            self._known.add(value)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The Variables that this tape has watched, in the order of their first use."""
        return tuple([variable for variable, _ in self._variables.values()])

    # -- recording -----------------------------------------------------------------------------------------------

    def record(
        self, row: Op, values: tuple[Value, ...], params: Mapping[str, Any], outs: tuple[Value, ...], place: Place
    ) -> None:
        """Keep the operation if derivatives can pass from a known value to a result."""
        known = self._known
        if row.name == "call":
            self._record_call(row, values, params, outs, place)
            return
        touched = False
        for position, value in enumerate(values):
            if value in known:
                touched = True
                if row.smooth or row.carries(position):
                    live = False
                    for out in outs:
                        if out.weak or out.array.dtype.kind == "f":
                            known.add(out)
                            live = True
                    if live:
                        for v in values:
                            if v.borrowed:
                                values = tuple([self._snapshot(v) if v.borrowed else v for v in values])
                                break
                        self._records.append((row, values, params, outs, place))
                        return
                    break
        if touched:
            for out in outs:
                self._cuts[out] = Cut(row.name, place)
        elif self._cuts:
            for value in values:
                cut = self._cuts.get(value)
                if cut is not None:
                    for out in outs:
                        self._cuts[out] = cut
                    break

    def _record_call(
        self, row: Op, values: tuple[Value, ...], params: Mapping[str, Any], outs: tuple[Value, ...], place: Place
    ) -> None:
        """A compiled function: a result is known if its graph carries derivatives from a known input to it."""
        known_inputs = {i for i, v in enumerate(values) if v in self._known}
        if not known_inputs:
            return
        live = False
        for out, sources in zip(outs, flows(params["graph"]), strict=True):
            if sources & known_inputs:
                self._known.add(out)
                live = True
            else:
                self._cuts[out] = Cut(params["graph"].name, place)
        if live:
            kept = tuple([self._snapshot(v) if v.borrowed else v for v in values])
            self._records.append((row, kept, params, outs, place))

    def _snapshot(self, value: Value) -> Value:
        """A copy of a user's array as it is now: a later write into it must not change the gradient."""
        array = value.array
        found = self._snapshots.get(id(array))
        if found is not None and found[0] is array and _same_bits(found[1].array, array):
            return found[1]
        copy = Value(array.copy())
        self._snapshots[id(array)] = (array, copy)
        return copy

    def note_cut(self, value: Value, what: str) -> None:
        """A known value left the graph as a plain number."""
        if value in self._known:
            self._left = Cut(what, place())

    # -- reading -------------------------------------------------------------------------------------------------

    def _source_values(self, source: Any) -> list[Value]:
        """The values on this tape that stand for a source."""
        if isinstance(source, Variable):
            found = self._variables.get(id(source))
            return list(found[1]) if found is not None else [source._current()]
        watched = self._watched.get(id(source))
        if watched is not None and watched[0] is source:
            return [watched[1]]
        return [source._read()]

    def _consume(self, targets: list[Value]) -> None:
        """Take this tape's one gradient, unless it is persistent."""
        if self._consumed is not None and any(t in self._consumed for t in targets):
            raise TapeError(
                "a non-persistent tape gives one gradient (or jacobian), and this one has been taken.\n"
                "For several, record with nt.GradientTape(persistent=True)."
            )

    def _finish(self) -> None:
        """Let go of everything recorded: called after a non-persistent tape has answered."""
        if self._consumed is None:
            self._consumed = WeakSet(self._known)
        self._records = []
        self._known = set()
        self._snapshots = {}
        self._detach()

    def __getstate__(self) -> Any:
        raise TypeError("a tape can't be pickled or copied: it belongs to the thread that records on it")

    def __deepcopy__(self, memo: Any) -> Any:
        raise TypeError("a tape can't be copied: it belongs to the thread that records on it")

    __copy__ = __deepcopy__


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def leaves(tree: Any) -> list[Any]:
    """The leaves of a tree of lists, tuples, dicts, namedtuples and dataclasses."""
    if isinstance(tree, Tensor):
        return [tree]
    import optree

    return optree.tree_leaves(tree, none_is_leaf=True)
