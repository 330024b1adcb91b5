"""Why no entry of a known signature fitted a call: which captured value had changed, or which guard failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tracer.dims import Dim, atom, names, show_size, substitute
from ..tracer.graph import BINDING, Graph, Guard, Why
from ..tracer.plain import replace
from .events import ALIASING, Event, Miss
from .identity import python_function
from .reasons import Reason, line_text


@dataclass(frozen=True)
class Failed:
    """A miss with the entry it speaks of: its graph, and the shapes and numbers it was recorded with."""

    miss: Miss
    graph: Graph | None
    before: Event | None


def from_misses(event: Event, failed: Sequence[Failed], function: Any) -> list[Reason]:
    """Reasons why no entry of a known signature fitted, the entry that came furthest first."""
    found: dict[tuple[str, str], Reason] = {}
    for item in _ranked(failed):
        reason = _from_capture(item.miss, event, function) if item.miss.guard is None else _from_guard(item, event)
        found.setdefault((reason.code, reason.argument), reason)
    return list(found.values())


def furthest(failed: Sequence[Failed]) -> Failed:
    """The newest of those entries of which most guards held."""
    return _ranked(failed)[0]


def _ranked(failed: Sequence[Failed]) -> list[Failed]:
    newest_first = failed[::-1]
    return sorted(newest_first, key=_progress, reverse=True)


def _progress(item: Failed) -> int:
    """How many guards held before one failed."""
    guard = item.miss.guard
    return item.graph.guards.index(guard) if guard is not None and item.graph is not None else -1


def _from_capture(miss: Miss, event: Event, function: Any) -> Reason:
    if not miss.capture:
        text = "a check at run time failed: an index out of range, or a reduction of nothing"
        return Reason("RUNTIME_CHECK", "", "passed", "failed", event.call_site, text, "Look at the values passed.")
    name = miss.capture
    if name == ALIASING:
        sentence = "which arguments are one array changed, and the body writes into one: as compiled → another way"
        fix = "Pass copies, f(x, x.copy()), or keep both: each way is traced once."
        return Reason("ALIASING", "all arguments", "as compiled", "another way", event.call_site, sentence, fix)
    root = re.split(r"[\[.]", name)[0]
    given = root in {re.split(r"[\[.]", argument)[0] for argument in event.names}
    sentence = f"{'' if given else 'the captured '}`{name}` changed: {miss.before} → {miss.after}"
    if _NUMBER.fullmatch(miss.before) and _NUMBER.fullmatch(miss.after):
        fix = f"Keep the kind, dtype and rank of `{name}`: new numbers in it are no new trace."
    else:
        fix = f"Each `{name}` is traced once. If there are many, use numbers or arrays: new ones are no new trace."
    if given:  # a part of an object that is an argument
        return Reason("STATIC_VALUE", name, miss.before, miss.after, event.call_site, sentence, fix)
    kind = "GLOBAL_CHANGED" if _is_global(function, root) else "CLOSURE_CHANGED"
    return Reason(kind, name, miss.before, miss.after, event.call_site, sentence, fix)


_NUMBER = re.compile(r"int|float|bool|[a-z]+\d+\[[:,]*\]")  # how the spec of a number or an array reads


def _is_global(function: Any, name: str) -> bool:
    inner = python_function(function)
    return inner is not None and name in inner.__globals__ and name not in inner.__code__.co_freevars


def _from_guard(item: Failed, event: Event) -> Reason:
    guard = item.miss.guard
    assert guard is not None
    if isinstance(guard.subject, int):
        return _from_branch(guard, item.graph)
    was, now = sizes_of(item.before), sizes_of(event)
    atoms = sorted(names(guard.subject))
    changed = [a for a in atoms if was.get(a) != now.get(a)] or atoms
    # x of 3 and y of 3, then x of 5 and y of 1: it is y that stretches now
    chosen = next((a for a in changed if (was.get(a) == 1) != (now.get(a) == 1)), changed[0])
    argument, subject = _words(chosen, event.names, item.graph)
    condition, place, text = condition_text(guard), f"{guard.loc}", line_text(guard.loc)
    if chosen in was and chosen in now:
        before, after = str(was[chosen]), str(now[chosen])
    else:  # an integer that is known inside of a call alone
        before, after = condition, condition_text(replace(guard, outcome=not guard.outcome))
    head = f"{subject} changed: {before} → {after}"

    def reason(code: str, why: str, fix: str) -> Reason:
        return Reason(code, argument, before, after, guard.loc, f"{head}, {why}", fix)

    match guard.why:
        case Why.FORCED:
            if re.search(r"\brange\(|^(?:async )?for |\bfor\b.*\bin\b|^while ", text):
                fix = "The loop is unrolled for each count. Write it with array operations, or call it with few counts."
                return reason("LOOP_TRIP_COUNT", f"and {place} loops that often", fix)
            code = "SHAPE_GUARD" if _AXIS.search(chosen) else "STATIC_VALUE"
            fix = "Each value is traced once. Use it in arithmetic, slices and shapes alone, or call with few values."
            return reason(code, f"and {place} needs the number itself", fix)
        case Why.EQUAL | Why.STRETCHES:
            fix = "Both forms are compiled now. To need one only, stretch it yourself before the call: np.broadcast_to."
            why = f"and {place} broadcasts: `{condition}` no longer holds"
            return reason("BROADCAST_PATTERN", why, fix)
        case _:
            why = f"and `{condition}` no longer holds at {place}"
            if text.startswith("while "):
                fix = "The loop is unrolled for each count. Write it with array operations, or call it with few counts."
                return reason("LOOP_TRIP_COUNT", why, fix)
            asked = bool(_ASKS.search(text))
            code = "SHAPE_GUARD" if _AXIS.search(chosen) or not asked else "BRANCH_TAKEN"
            return reason(code, why, _CHOOSE if asked else "Both cases are compiled now: neither is traced again.")


_AXIS = re.compile(r"\.(\d+)$")
_ASKS = re.compile(r"\b(?:if|elif|while|assert|and|or|not|bool|min|max|sorted)\b")


def _from_branch(guard: Guard, graph: Graph | None) -> Reason:
    assert isinstance(guard.subject, int)
    found = [] if graph is None else inputs_behind(graph, guard.subject)
    argument = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    before, after = str(guard.outcome), str(not guard.outcome)
    on = " and ".join(f"`{name}`" for name in found[:3]) if found else "computed values"
    sentence = f"the branch at {guard.loc} on {on} went the other way: {before} → {after}"
    turns = line_text(guard.loc).startswith("while ")
    fix = _TURNS if turns else _CHOOSE
    return Reason("BRANCH_TAKEN", argument, before, after, guard.loc, sentence, fix)


_TURNS = "Each number of turns is compiled once. To need one trace, write it with array operations."
_CHOOSE = "Both outcomes are compiled now. To need one trace, compute both sides and choose: np.where(condition, a, b)."


def inputs_behind(graph: Graph, index: int) -> list[str]:
    """Names of the inputs that a node depends on."""
    needed = {index}
    for k in range(index, len(graph.names) - 1, -1):
        if k in needed:
            needed.update(graph.nodes[k].args)
    return [name for k, name in enumerate(graph.names) if k in needed]


def sizes_of(event: Event | None) -> dict[str, int]:
    """The sizes and integers of a call, by the names that guards use."""
    found: dict[str, int] = {}
    for name, value in () if event is None else event.values.items():
        if type(value) is int:
            found[name] = value
        elif isinstance(value, tuple):
            found.update({f"{name}.{axis}": size for axis, size in enumerate(value)})
    return found


def _words(name: str, arguments: Sequence[str], graph: Graph | None) -> tuple[str, str]:
    """An atom as an argument, and as a part of a sentence: ``x.0`` is axis 0 of `x`."""
    if name[0] in "#@":
        nodes = enumerate(() if graph is None else graph.nodes)
        found = [inputs_behind(graph, k) for k, n in nodes if n.op in BINDING and n.param("count") == name]  # type: ignore[arg-type]
        of = ", ".join(found[0]) if found else "the data"
        return of, f"an integer computed from `{of}`" if found else "an integer computed from the data"
    axis = _AXIS.search(name)
    if axis:
        words = f"axis {axis[1]} of `{name[: axis.start()]}`"
        return words, words
    return name, f"argument `{name}`" if name in arguments else f"the captured `{name}`"


def condition_text(guard: Guard) -> str:
    """What a guard of sizes asks, as Python: ``x.shape[0] > 3``."""
    assert isinstance(guard.subject, Dim)
    renamed = {n: atom(_as_python(n)) for n in names(guard.subject)}
    left = _side(guard.subject, 1, renamed)
    right = _side(guard.subject, -1, renamed)
    relation = guard.relation if guard.outcome else _OPPOSITE[guard.relation]
    return f"{show_size(left)} {relation} {show_size(right)}"


_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _side(size: Dim, sign: int, renamed: Mapping[str, Any]) -> Any:
    """The terms of one sign: ``x.0 - 3 > 0`` reads better as ``x.0 > 3``."""
    terms = tuple((m, f * sign) for m, f in size.terms if f * sign > 0)
    if all(not m for m, _ in terms):
        return sum(f for _, f in terms)
    return substitute(Dim(terms), renamed)


def _as_python(name: str) -> str:
    axis = _AXIS.search(name)
    if axis:
        return f"{name[: axis.start()]}.shape[{axis[1]}]"
    return name.replace("#", "count").replace("@", "value") if name[0] in "#@" else name
