"""Why a function was traced: the explanation of each trace, and what is done about it (`on_retrace`, limits)."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..tracer.context import is_inside, user_loc
from ..tracer.errors import NumtapeError, RetraceError, RetraceWarning
from ..tracer.graph import NOWHERE, Loc
from . import hooks
from .compare import NOTHING, Comparison, compare
from .events import Event, Miss
from .guards import Failed, from_misses
from .limits import check
from .reasons import OPEN_ENDED, Reason, from_signatures, line_text, spec_text
from .settings import settings
from .signature import Signature

if TYPE_CHECKING:
    from .jit import Function

EXPENSIVE = 2.0
"""Seconds that the retraces of one function for one reason may take before a warning."""
SHARE = 0.05
"""The part of the time since the first trace below which retraces are no harm."""
RECURRENCES = {True: 3, False: 5}
"""How often a reason must have come back: one that can come back without end, and one that can't."""


@dataclass(frozen=True)
class Explanation:
    """Why a trace happened, what it cost and what to do.

    Attributes
    ----------
    code : str
        The reason, e.g. ``"DTYPE"``; the first of `reasons`.
    argument, before, after : str
        What changed, as the user writes it, from what to what.
    line : Loc
        The user's line that depends on it; `text` is that line.
    cost : float
        Seconds of tracing and compiling; also apart, as `trace_seconds` and `compile_seconds`.
    fix : str
        What avoids the trace.
    reasons : tuple of Reason
        All differences, the most telling first.
    comparison : Comparison
        This call beside the compiled one that came nearest, and why each entry did not serve.
    """

    function: str
    kind: str
    reasons: tuple[Reason, ...]
    call_site: Loc = NOWHERE
    trace_seconds: float = 0.0
    compile_seconds: float = 0.0
    trace: int = 0
    comparison: Comparison = NOTHING

    @property
    def code(self) -> str:
        return self.reasons[0].code

    @property
    def argument(self) -> str:
        return self.reasons[0].argument

    @property
    def before(self) -> str:
        return self.reasons[0].before

    @property
    def after(self) -> str:
        return self.reasons[0].after

    @property
    def line(self) -> Loc:
        return self.reasons[0].line

    @property
    def text(self) -> str:
        return self.reasons[0].text

    @property
    def fix(self) -> str:
        return self.reasons[0].fix

    @property
    def sentence(self) -> str:
        return self.reasons[0].sentence

    @property
    def cost(self) -> float:
        return self.trace_seconds + self.compile_seconds

    @property
    def headline(self) -> str:
        link = " because" if self.kind == "retrace" else ":"
        return f"{self.code}: {self.function} {_HAPPENED[self.kind]}{link} {self.sentence}."

    @property
    def evidence(self) -> list[str]:
        """The user's lines, the cost, and what else differs."""
        lines = [_quoted(loc) for loc in dict.fromkeys((self.line, self.call_site)) if loc != NOWHERE]
        if self.trace:
            parts = f"trace {self.trace_seconds:.2f} s, compile {self.compile_seconds:.2f} s"
            lines.append(f"Cost: {self.cost:.2f} s ({parts}); trace {self.trace} of {self.function}.")
        if len(self.reasons) > 1:
            others = [f"{r.code} of {r.argument}, {r.before} → {r.after}" for r in self.reasons[1:4]]
            lines.append(f"Also: {'; '.join(others)}.")
        return lines

    def __str__(self) -> str:
        fix = self.fix if self.kind in ("first", "none") else f"Fix: {self.fix}"
        return "\n".join([self.headline, *self.evidence, fix])

    def _repr_html_(self) -> str:
        from .fragments import explanation_of

        return explanation_of(self)


_HAPPENED = {
    "first": "was traced for the first time",
    "retrace": "was traced again",
    "fallback": "ran uncompiled",
    "failed": "could not be traced",
    "none": "has not been traced yet",
}


def _quoted(loc: Loc) -> str:
    text = line_text(loc)
    return f"  {loc}: {text}" if text else f"  {loc}"


def explain(function: Function) -> Explanation:
    """The explanation of a function's newest event; of kind "none" where it has not been traced yet."""
    event = function._table.history.last()
    if event is not None:
        return event.explanation or explanation_of(function, event)
    reason = Reason("NOT_TRACED", "", "", "", function._line(), "it has not been called", "Call it first.")
    return Explanation(name_of(function.kind, function._label), "none", (reason,))


def name_of(transform: str, label: str) -> str:
    """How a function is called in texts: ``loss``, ``grad of loss``."""
    return label if transform == "jit" else f"{transform} of {label}"


def explanation_of(function: Function, event: Event) -> Explanation:
    """Find the reasons of an event in what the function's table knows."""
    table = function._table
    failed = _failed(event)
    if event.kind == "first":
        after = ", ".join(f"{n}: {spec_text(s)}" for n, s in zip(event.names, event.signature.specs, strict=True))
        fix = "Nothing to do: calls with these dtypes and ranks are served from now on, whatever their shapes."
        sentence = f"with {after}" if after else "without arguments"
        found = [Reason("FIRST_TRACE", "", "nothing", after, event.call_site, sentence, fix)]
    elif event.misses:
        found = from_misses(event, failed, function._function)
    else:
        past = {e.signature: e.names for e in _past(table.history.all(), event)}
        found = from_signatures(event, past, function._binder.name_of, table.limit)
    return Explanation(
        name_of(event.transform, event.function), event.kind, tuple(found), event.call_site, event.trace_seconds,
        event.compile_seconds, table.traces, compare(event, failed, _past(table.history.all(), event)),
    )  # fmt: skip


def _past(events: Sequence[Event], event: Event) -> list[Event]:
    """The traces before one."""
    return [e for e in events if e is not event and e.kind != "failed"]


def _failed(event: Event) -> list[Failed]:
    """The misses of an event, each with the entry it speaks of."""
    out = []
    for miss in event.misses:
        entry = None if miss.entry is None else miss.entry()
        known = (None, None) if entry is None else (entry.plan.graph, entry.event)
        out.append(Failed(miss, *known))
    return out


# -- after a trace ---------------------------------------------------------------------------------------------------


def announce(function: Function, event: Event) -> None:
    """Called after each trace. Raises RetraceError where a limit or ``on_retrace="error"`` forbids it."""
    explanation = event.explanation = explanation_of(function, event)
    _tell(event)
    check(function, event.kind, explanation)
    if event.kind != "retrace":
        return
    match function._on_retrace:
        case "ignore":
            return
        case "error":
            raise RetraceError(f'{explanation}\n(on_retrace="error")', explanation=explanation)
        case "warn":
            _warn_by_cost(function, event, explanation)
        case policy:
            policy(explanation)


def _tell(event: Event) -> None:
    """Tell the hooks, the logger and the log file of an event."""
    hooks.traced(event.explanation)
    if settings().log:
        from .report import append

        append(settings().log, event)


def _warn_by_cost(function: Function, event: Event, explanation: Explanation) -> None:
    """Warn where one reason keeps coming back and its traces take a share of the time; once for each reason."""
    table, key = function._table, (explanation.code, explanation.argument)
    if key in table.warned:
        return
    past = table.history.all()
    same = [e for e in past if e.kind == "retrace" and _key(e) == key]
    spent = sum(e.trace_seconds + e.compile_seconds for e in same)
    since = time.time() - past[0].time
    if len(same) < RECURRENCES[explanation.code in OPEN_ENDED] or spent < max(EXPENSIVE, SHARE * since):
        return
    table.warned.add(key)
    seconds = table.trace_seconds + table.compile_seconds
    head = (
        f"{explanation.function} was traced {table.traces} times ({seconds:.1f} s in all): {explanation.sentence}, "
        f"called at {event.call_site} ({explanation.code}). {explanation.fix}"
    )
    _warn("\n".join([head, *explanation.evidence]), event.call_site)


def _key(event: Event) -> tuple[str, str] | None:
    found = event.explanation
    return None if found is None else (found.code, found.argument)


def _warn(text: str, where: Loc) -> None:
    # warn_explicit: the warning belongs to the user's line, however deep the call stands
    warnings.warn_explicit(RetraceWarning(text), None, where.file or "numtape", where.line or 1)


# -- where a trace fails ---------------------------------------------------------------------------------------------

FAILURES = 256
"""Different failures of one function that are told; texts with numbers in them could be new ones forever."""


def announce_failure(function: Function, signature: Signature, names: Sequence[str], error: Exception) -> None:
    """Called where a trace raises; one event for each signature and error. Nothing of such a trace is kept."""
    table = function._table
    table.failures += 1
    what, *rest = str(error).strip().splitlines() or [""]
    sentence = f"{type(error).__name__}: {what}".rstrip(".: ")
    key = ("failed", signature, sentence)
    if key in table.warned or len(table.warned) >= FAILURES:
        return
    table.warned.add(key)
    event = Event(
        function._label, function._line(), "failed", signature, tuple(names), user_loc(), tuple(table.entries),
        transform=function.kind,
    )  # fmt: skip
    fix = " ".join(rest[-2:]) if isinstance(error, NumtapeError) and rest else _RETRIED
    where = _raised_at(error) or event.call_site
    reason = Reason("TRACE_FAILED", "", "", type(error).__name__, where, sentence, fix)
    event.explanation = Explanation(name_of(function.kind, function._label), "failed", (reason,), event.call_site)
    table.history.add(event)
    _tell(event)


_RETRIED = "The call raised this error. Nothing of it is kept: the next call is traced anew."


def _raised_at(error: BaseException) -> Loc | None:
    """The user's line that raised, or that called what raised."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if not is_inside(trace.tb_frame.f_code.co_filename):
            found = Loc(trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return found


# -- where entries run out -------------------------------------------------------------------------------------------


def announce_fallback(
    function: Function, signature: Signature, misses: Sequence[Miss], leaves: Sequence[Any] = ()
) -> None:
    """Called where a call runs uncompiled because `max_entries` is reached; one event and warning per signature."""
    table = function._table
    table.fallbacks += 1
    if ("fallback", signature) in table.warned:
        return
    table.warned.add(("fallback", signature))
    named = next((e for e in reversed(table.history.all()) if e.signature == signature), None)
    entry = misses[-1].entry()
    event = Event(
        function._label, function._line(), "fallback", signature, () if named is None else named.names, user_loc(),
        tuple(table.entries), tuple(misses), transform=function.kind,
        values={} if entry is None else entry.present(function._function, leaves),
    )  # fmt: skip
    failed = _failed(event)
    reasons = from_misses(event, failed, function._function)
    worst = reasons[0]
    count = len(misses)
    limit = replace(
        worst,
        code="MAX_ENTRIES",
        before=f"{count} entries",
        after="uncompiled",
        sentence=f"max_entries={function._max_entries} is reached for one signature, and {worst.sentence}",
        fix=f"{_WAY_OUT.get(worst.code, _FEWER)} Or allow more: max_entries={4 * count}.",
    )
    event.explanation = explanation = Explanation(
        name_of(function.kind, function._label), "fallback", (limit, *reasons), event.call_site,
        comparison=compare(event, failed, ()),
    )  # fmt: skip
    table.history.add(event)
    _tell(event)
    if function._on_retrace == "warn":
        _warn(str(explanation), event.call_site)
    elif callable(function._on_retrace):
        function._on_retrace(explanation)


_FEWER = "Call it with fewer kinds of values."
_WAY_OUT = {
    "BRANCH_TAKEN": "Compute both sides and choose, np.where(condition, a, b), to need one entry.",
    "LOOP_TRIP_COUNT": "Write the loop with array operations, which need one entry for all counts.",
}
