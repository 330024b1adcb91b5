"""`jit`, and what every transform shares: a call becomes a signature, the signature an entry, the entry runs."""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tracer.context import context, user_loc
from ..tracer.errors import NumtapeError, layout
from ..tracer.graph import Graph, Loc
from ..tracer.ops import OPS
from ..tracer.tape import Tape
from ..tracer.tensor import Tensor
from ..tracer.values import Value, lift
from .cache import Entry, Plan, Stats, table_of
from .events import Event, Miss
from .explain import announce, announce_failure, announce_fallback
from .identity import code_key, python_function
from .into import write_into
from .lanes import Lanes, Slotted
from .recording import Recording, record
from .signature import Binder, Marked, Signature, flatten, spec_of


class Function(Slotted):
    """A compiled function. Made by :func:`jit` and the transforms; called like the function it wraps.

    Where the function has no parameter `out`, ``fn(*args, out=arrays)`` writes the result into these arrays, which have
    its structure, shapes and dtypes, and returns them.

    Attributes
    ----------
    stats : Stats
        Counters of this object: calls, hits, traces, compiles, seconds.
    """

    __numtape_transform__ = True
    kind = "jit"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        static: tuple[str | int, ...] = (),
        max_entries: int = 32,
        on_retrace: Any = "warn",
        backend: str = "auto",
        options: tuple[Any, ...] = (),
    ) -> None:
        if not callable(function):
            raise TypeError(f"{self.kind} takes a function, not {type(function).__name__}")
        if not callable(on_retrace) and on_retrace not in ("warn", "error", "ignore"):
            raise ValueError(f'on_retrace must be "warn", "error", "ignore" or a callable, not {on_retrace!r}')
        if max_entries < 1:
            raise ValueError(f"max_entries must be at least 1, not {max_entries}")
        self._inner = function  # what was wrapped: perhaps a transform itself
        self._function: Callable[..., Any] = function._function if type(function) is Function else function
        self._max_entries = max_entries
        self._on_retrace = on_retrace
        self._backend = backend
        self._static = (static,) if isinstance(static, str | int) else tuple(static)
        self._options = options
        self._binder = Binder(self._function, self._static)
        self._key = (self.kind, options, self._static, backend, function_key(self._function))
        self._table = table_of(self._key)
        self._counts = Stats()
        self._lanes = Lanes(self)
        functools.update_wrapper(self, self._function, updated=())
        inner = python_function(self._function) if isinstance(self._function, functools.partial) else self._function
        self._label = getattr(inner, "__name__", type(self._function).__name__)

    # -- calling -------------------------------------------------------------------------------------------------

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs and self._binder.leaves_free("out"):
            out = kwargs.pop("out")
            result = self.__call__(*args, **kwargs)
            return result if out is None else write_into(out, result, self._label)
        if context.trace is not None:
            return self._direct(*args, **kwargs)
        self._counts.calls += 1
        given = -1 if kwargs else len(args)
        quick = self._quick_key(args) if not kwargs and len(args) == self._binder.exact else None
        known = None if quick is None else self._table.quick.get(quick)
        leaves: Sequence[Any]
        if known is None:
            args, kwargs = self._binder.bind(args, kwargs)
            leaves, known = self._signature(args, kwargs)
            if quick is not None:
                self._table.quick[quick] = known
        else:
            leaves = args
        signature = known
        tried = 0
        misses: list[Miss] = []
        while True:
            entries = self._table.entries.get(signature, ())
            for entry in entries[tried:]:
                fits, outs = entry.run(self._function, leaves, self._tell)
                if fits:
                    self._counts.hits += 1
                    self._table.tally.counted += 1
                    if given >= 0 and not kwargs and not self._static:
                        self._lanes.open(self, signature, entry, args, leaves, given)
                    return self._hand_out(entry, outs)
                misses.append(dataclasses.replace(outs, entry=weakref.ref(entry)))
                tried += 1
            made = None
            with self._table.lock_for(signature):
                present = len(self._table.entries.get(signature, ()))
                if present != tried:  # another thread has recorded meanwhile, or cleared the cache
                    tried, misses = (tried, misses) if present > tried else (0, [])
                    continue
                # entries for other captured functions or modes are other programs, not outcomes of this one
                if sum(1 for miss in misses if not miss.capture) >= self._max_entries:
                    announce_fallback(self, signature, misses, leaves)
                else:
                    made, outs = self._trace(args, kwargs, leaves, signature, misses)
            return self._direct(*args, **kwargs) if made is None else self._hand_out(made, outs)

    def _quick_key(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """A key for a call with arrays and floats alone, which needs no look into trees; None for any other."""
        if self._static:
            return None
        key: list[Any] = []
        for arg in args:
            kind = type(arg)
            if kind is np.ndarray:
                key.append(arg.dtype)
                key.append(arg.ndim)
            elif kind is float:
                key.append(None)
            else:
                return None
        return tuple(key)

    def _signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Signature]:
        args, kwargs = self._mark(args, kwargs)
        leaves, tree = flatten((args, kwargs))
        specs = []
        for position, leaf in enumerate(leaves):
            try:
                specs.append(leaf.spec() if type(leaf) is Marked else spec_of(leaf, ""))
            except NumtapeError:
                spec_of(
                    leaf, self._binder.leaf_names(args, kwargs)[position]
                )  # the same error, with the argument's name
                raise
        leaves = [leaf.item if type(leaf) is Marked else leaf for leaf in leaves]
        return leaves, Signature(tree, tuple(specs))

    def _mark(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments with the static ones wrapped, so that they are one leaf each."""
        if not self._static:
            return args, kwargs
        marked = tuple([Marked(a) if self._binder.is_static(i) else a for i, a in enumerate(args)])
        return marked, {k: Marked(v) if k in self._static else v for k, v in kwargs.items()}

    def _trace(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: Sequence[Any],
        signature: Signature,
        misses: list[Miss],
    ) -> tuple[Entry | None, Any]:
        entry = self._enter(args, kwargs, leaves, signature, misses)
        fits, outs = entry.run(self._function, leaves, self._tell)
        # a branch on the last bit: the compiled value may take the other side than NumPy's did
        return (entry, outs) if fits else (None, None)

    def _enter(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        leaves: Sequence[Any],
        signature: Signature,
        misses: Sequence[Miss] = (),
    ) -> Entry:
        """Record and compile the function for these arguments; the entry is not run yet."""
        names = self._binder.leaf_names(*self._mark(args, kwargs))
        kind = "retrace" if self._table.traces else "first"
        try:
            plan = self._derive(self._recorded(args, kwargs, names, signature))
            entry = Entry(plan, self._backend)
        except Exception as error:
            announce_failure(self, signature, names, error)
            raise
        entry.event = Event(
            self._label, self._line(), kind, signature, tuple(names), user_loc(),
            tuple(self._table.entries), tuple(misses),
            plan.recording.seconds, entry.compiled.compile_seconds, len(plan.graph.nodes),
            transform=self.kind, values=entry.present(self._function, leaves), found=entry.compiled.found,
        )  # fmt: skip
        self._note(entry.event)
        self._table.add(signature, entry)
        return entry

    def _recorded(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str], signature: Signature
    ) -> Recording:
        """A recording that makes no Variable: the second one where the first one did."""
        recording = self._record(args, kwargs, names, signature)
        if recording.made:
            recording = self._record(args, kwargs, names, signature)
            if recording.made:
                text = f"{self._label} makes a new Variable each time it is recorded"
                raise ValueError(layout(text, fix="Make Variables outside, or only where none exists yet."))
        return recording

    def _record(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str], signature: Signature
    ) -> Recording:
        return record(self._function, *self._mark(args, kwargs), names, signature.specs, self._label)

    def _note(self, event: Event) -> None:
        for counts in (self._counts, self._table):
            counts.traces += 1
            counts.compiles += not event.found
            counts.disk_hits += event.found
            counts.trace_seconds += event.trace_seconds
            counts.compile_seconds += event.compile_seconds
        self._table.history.add(event)
        announce(self, event)

    def _tell(self, entry: Entry, leaves: Sequence[Any], items: Sequence[Any], outs: Sequence[Any]) -> Sequence[Any]:
        """The outputs as Values, on the tapes that watch an input; arrays where no Tensor and no tape is concerned."""
        tapes = [r for r in context.recorders if isinstance(r, Tape)]
        traced = any([isinstance(leaf, Tensor) for leaf in leaves])
        if not traced and not (tapes and any(s.kind != "leaf" for s in entry.recording.sources)):
            return outs
        values = tuple(map(lift, items))
        known = [t for t in tapes if any([v in t._known for v in values])]
        if not traced and not known:
            return outs
        results = tuple([Value(o, (), True) if type(o) in (int, float, bool) else Value(o) for o in outs])
        for tape in known:
            tape.record(OPS["call"], values, {"graph": entry.plan.graph}, results, None)
        return results

    def _hand_out(self, entry: Entry, outs: Sequence[Any]) -> Any:
        """The caller's result: arrays, or Tensors of Values."""
        return entry.plan.assemble([Tensor(o) if type(o) is Value else o for o in outs])

    # -- what subclasses say -------------------------------------------------------------------------------------

    def _direct(self, *args: Any, **kwargs: Any) -> Any:
        """The same computation without a compiled entry: inside a recording, or where the tape has to answer."""
        return run_body(self._function, args, kwargs)

    def _derive(self, recording: Recording) -> Plan:
        return Plan(recording, recording.graph, recording.result)

    # -- methods -------------------------------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        name = self._global_name()
        return name or (_rebuild, (type(self), self._inner, self._state()))

    def _global_name(self) -> str:
        """The name under which the module has this object itself, as a decorator leaves it; else nothing."""
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        path: str = getattr(self, "__qualname__", "")
        for name in path.split("."):
            found = getattr(found, name, None)
        return path if found is self else ""

    def _state(self) -> dict[str, Any]:
        return {
            "static": self._static, "max_entries": self._max_entries, "on_retrace": self._on_retrace,
            "backend": self._backend, "options": self._options,
        }  # fmt: skip

    def __repr__(self) -> str:
        return f"<numtape.{self.kind} of {self._label}: {self._counts.traces} traces, {self.stats.calls} calls>"

    # -- looking inside ------------------------------------------------------------------------------------------

    @property
    def stats(self) -> Stats:
        """Counters of this object."""
        served = self._lanes.tally.total
        counts, entries = self._counts, len(self._table.all())
        return dataclasses.replace(counts, calls=counts.calls + served, hits=counts.hits + served, entries=entries)

    def _line(self) -> Loc:
        inner = python_function(self._function)
        return Loc(inner.__code__.co_filename, inner.__code__.co_firstlineno) if inner is not None else Loc("", 0)

    def _last_entry(self) -> Entry:
        entries = self._table.all()
        if not entries:
            raise RuntimeError(f"{self._label} has not been called yet: there is nothing to show")
        return max(entries, key=lambda e: e.event.number)

    def graph(self, stage: str = "traced") -> Graph:
        """The graph of the newest entry.

        Parameters
        ----------
        stage : {"traced", "forward", "backward", "fused"}
            As recorded; simplified; the gradients by all floating inputs; what is compiled.
        """
        from .inspect import stage_graph

        return stage_graph(self._last_entry(), stage)

    def source(self, stage: str = "fused", backend: str = "numba") -> str:
        """The generated code of the newest entry.

        Parameters
        ----------
        stage : {"fused", "forward", "backward"}
            What is compiled; the value alone; the gradients by all floating inputs alone.
        backend : {"numba", "llvm", "kernels"}
            Python for numba, to read and to port; LLVM IR; the kernels that both are written from.
        """
        from .inspect import stage_source

        return stage_source(self._last_entry(), stage, backend)

    def signatures(self) -> list[Any]:
        """All cached signatures with their entries, hits and guards."""
        from .inspect import describe_signatures

        return describe_signatures(self)

    def explain_last(self) -> Any:
        """Why the newest trace happened: the cause, the argument, the line, the cost and the way out."""
        from .explain import explain

        return explain(self)

    def clear_cache(self) -> None:
        """Forget all entries; the next call traces anew."""
        self._table.clear()

    def njit(self, *args: Any) -> Any:
        """A numba dispatcher of this function for arguments like `args`, to be called inside ``@njit`` code."""
        from .embed import forward_dispatcher

        return forward_dispatcher(self, args)

    def njit_value_and_grad(self, *args: Any) -> Any:
        """A numba dispatcher that returns the value and the gradient by the first argument."""
        from .embed import value_and_grad_dispatcher

        return value_and_grad_dispatcher(self, args)


def function_key(function: Any) -> Any:
    """What makes two functions the same program, transforms included."""
    return function._key if isinstance(function, Function) else code_key(function)


def run_body(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a user's function as part of whatever records here."""
    trace = context.trace
    if trace is None or isinstance(function, Function):
        return function(*args, **kwargs)
    captures = trace.captures
    return captures.inline(function)(*args, **kwargs)


def _rebuild(cls: type[Function], function: Any, state: dict[str, Any]) -> Function:
    return cls(function, **state)
