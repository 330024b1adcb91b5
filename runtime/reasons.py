"""Why a call had no entry: reason codes, from signatures held leaf against leaf and from guards that failed."""

from __future__ import annotations

import linecache
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tracer.dims import Dim, atom, names, show_size, substitute
from ..tracer.graph import Graph, Guard, Loc
from .events import Event, Miss
from .signature import Same, Signature, Spec

OPEN_ENDED = ("LOOP_TRIP_COUNT", "STATIC_VALUE", "SHAPE_GUARD", "TREE_STRUCTURE")
"""Reasons that can come back without end: each value is another trace."""


@dataclass(frozen=True)
class Reason:
    """One difference between a call and what is compiled: its code, the argument, before and after, line and fix."""

    code: str
    argument: str
    before: str
    after: str
    line: Loc
    sentence: str
    fix: str

    @property
    def text(self) -> str:
        """The user's line."""
        return line_text(self.line)


def line_text(loc: Loc) -> str:
    """The text of a line, "" where the file can't be read."""
    return linecache.getline(loc.file, loc.line).strip() if loc.line else ""


# -- what a signature differs in -----------------------------------------------------------------------------------


def from_signatures(
    event: Event, leaf_names: Mapping[Signature, Sequence[str]], name_of: Callable[[int], str], limit: int
) -> list[Reason]:
    """Reasons why a signature is new: each leaf that differs from the nearest known signature.

    `leaf_names` holds the signatures that were ever met, `name_of` gives the name of a positional argument.
    """
    new, where = event.signature, event.call_site
    if not event.known or (new in leaf_names and new not in event.known):
        code = "EVICTED" if len(event.known) >= limit else "CLEARED"
        return [Reason(code, "all arguments", "compiled", code.lower(), where, *_GONE[code])]
    near = nearest(new, event.known)
    if near.tree != new.tree:
        argument, before, after = _tree_difference(near, new, event.names, leaf_names.get(near, ()), name_of)
        sentence = f"argument `{argument}` changed its structure: {before} → {after}"
        fix = "Pass the same containers with the same keys and lengths each time."
        return [Reason("TREE_STRUCTURE", argument, before, after, where, sentence, fix)]
    found: list[Reason] = []
    for name, old, spec in zip(event.names, near.specs, new.specs, strict=True):
        if old != spec:
            found += _leaf_reasons(name, old, spec, where)
    return sorted(found, key=lambda r: _ORDER.index(r.code))


_ORDER = ("WEAK_SCALAR", "VARIABLE", "RANK", "DTYPE", "STATIC_VALUE")
_GONE = {
    "CLEARED": ("its entries were given up: compiled → cleared", "Call clear_cache() less often."),
    "EVICTED": (
        "there were too many signatures to keep its entry: compiled → evicted",
        "Call it with fewer kinds of arguments, or wrap one function for each.",
    ),
}


def nearest(new: Signature, known: Sequence[Signature]) -> Signature:
    """The known signature with the same tree and the fewest differing leaves; the newest of equals."""

    def distance(old: Signature) -> tuple[bool, int]:
        differing = sum(1 for a, b in zip(old.specs, new.specs, strict=False) if a != b)
        return old.tree != new.tree, differing + abs(len(old.specs) - len(new.specs))

    return min(reversed(known), key=distance)


def _leaf_reasons(name: str, old: Spec, new: Spec, where: Loc) -> list[Reason]:
    arrays = ("array", "variable")
    if old.kind in arrays and new.kind in arrays:
        out = []
        if old.kind != new.kind:
            kinds = {"array": "array", "variable": "Variable"}
            before, after = kinds[old.kind], kinds[new.kind]
            sentence = f"argument `{name}` changed its kind: {before} → {after}"
            fix = f"Pass {_a(before)} each time: {name}.numpy() is a Variable's array."
            out.append(Reason("VARIABLE", name, before, after, where, sentence, fix))
        if old.rank != new.rank:
            before, after = str(old.rank), str(new.rank)
            sentence = f"argument `{name}` changed its rank: {before} → {after}"
            change = f"{name}[None] adds an axis" if new.rank < old.rank else f"np.squeeze({name}) drops axes of size 1"
            fix = f"Pass arrays of one rank ({change}), or keep both: each rank is traced once."
            out.append(Reason("RANK", name, before, after, where, sentence, fix))
        if old.detail != new.detail:
            before, after = str(old.detail), str(new.detail)
            sentence = f"argument `{name}` changed its dtype: {before} → {after}"
            fix = f"Pass np.asarray({name}, dtype=np.{before}), or keep both: each dtype is traced once."
            out.append(Reason("DTYPE", name, before, after, where, sentence, fix))
        return out
    if old.kind == new.kind == "static" and _static_kind(old.detail) == _static_kind(new.detail):
        before, after = static_text(old.detail), static_text(new.detail)
        sentence = f"argument `{name}` changed its value: {before} → {after}, which is part of the signature"
        fix = "Each value is traced once. If there are many, pass numbers or arrays instead: new ones are no new trace."
        if isinstance(new.detail, Same):
            sentence = f"argument `{name}` is another object: {before} → {after}"
            fix = "It is compared by identity: make it once, outside of the loop, and pass the same object."
        return [Reason("STATIC_VALUE", name, before, after, where, sentence, fix)]
    before, after = _kind_text(old), _kind_text(new)
    code = "WEAK_SCALAR" if _is_number(old) and _is_number(new) else "STATIC_VALUE"
    sentence = f"argument `{name}` changed its kind: {before} → {after}"
    return [Reason(code, name, before, after, where, sentence, _kind_fix(name, old, new))]


def _kind_fix(name: str, old: Spec, new: Spec) -> str:
    kinds = {old.kind, new.kind}
    number = "float" if "float" in kinds else "int"
    array = next((s for s in (old, new) if s.kind == "array"), None)
    if not (_is_number(old) and _is_number(new)):
        return f"Pass `{name}` as one kind of thing each time."
    if array is not None:
        if array.rank:
            return f"Pass an array each time: np.full(shape, {name})."
        number = f"np.{array.detail}"
    return f"Pass {number}({name}) each time, or keep both: each kind is traced once."


def _is_number(spec: Spec) -> bool:
    return spec.kind in ("int", "float", "array") or _static_kind(spec.detail) in ("bool", "int")


def _static_kind(detail: Any) -> str:
    if isinstance(detail, tuple) and len(detail) == 2 and isinstance(detail[0], str):
        return detail[0]
    return type(_static_item(detail)).__name__


def _static_item(detail: Any) -> Any:
    """The static object inside of a spec."""
    if isinstance(detail, Same):
        return detail.item
    if isinstance(detail, tuple) and len(detail) == 2 and isinstance(detail[0], str | type):
        return detail[1]
    return detail


def spec_text(spec: Spec) -> str:
    """How a leaf is described in texts: ``f64[:,:]``, ``int``, ``'mean'``."""
    return static_text(spec.detail) if spec.kind == "static" else str(spec)


def static_text(detail: Any) -> str:
    """How a static value is written, shortened."""
    if isinstance(detail, tuple) and len(detail) == 2 and isinstance(detail[0], Same):
        return f"{type(detail[0].item).__name__}.{detail[1].__name__}"
    item = _static_item(detail)
    if isinstance(detail, Same):
        return repr(detail)
    name = getattr(item, "__qualname__", None)
    return name if isinstance(name, str) else reprlib.repr(item)


def _kind_text(spec: Spec) -> str:
    if spec.kind == "array":
        return f"{spec.detail} array of rank {spec.rank}" if spec.rank else f"NumPy {spec.detail}"
    if spec.kind == "static":
        kind = _static_kind(spec.detail)
        return kind if kind == "bool" else f"{kind} {static_text(spec.detail)}"
    return "Variable" if spec.kind == "variable" else spec.kind


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _tree_difference(
    old: Signature, new: Signature, new_names: Sequence[str], old_names: Sequence[str], name_of: Callable[[int], str]
) -> tuple[str, str, str]:
    """The argument whose structure differs, and what it was and is."""
    (old_args, old_kwargs), (new_args, new_kwargs) = old.tree.children(), new.tree.children()
    path, before, after = _descend(old_args, new_args, ())
    if path:
        return name_of(path[0]) + "".join(f"[{p!r}]" for p in path[1:]), before, after
    if old_args != new_args:  # another number of positional arguments
        counts = sorted((len(old_args.children()), len(new_args.children())))
        words = ("left out", "given") if counts[0] == len(old_args.children()) else ("given", "left out")
        return name_of(counts[0]), *words
    path, before, after = _descend(old_kwargs, new_kwargs, ())
    if path:
        return path[0] + "".join(f"[{p!r}]" for p in path[1:]), before, after
    changed = sorted(set(new_names) ^ set(old_names))
    word = "given" if changed[0] in new_names else "left out"
    return changed[0], "left out" if word == "given" else "given", word


def _descend(old: Any, new: Any, path: tuple[Any, ...]) -> tuple[tuple[Any, ...], str, str]:
    """The path to the first place where two structures differ, and how each side looks there."""
    while old.type is new.type and old.type is not None and old.entries() == new.entries():
        for entry, a, b in zip(new.entries(), old.children(), new.children(), strict=True):
            if a != b:
                old, new, path = a, b, (*path, entry)
                break
        else:
            break
    return path, _structure_text(old), _structure_text(new)


def _structure_text(tree: Any) -> str:
    if tree.type is None:
        return "one value" if tree.num_leaves else "None"
    if tree.type is type(None):
        return "None"
    entries = tree.entries()
    if issubclass(tree.type, dict):
        return f"{tree.type.__name__} with {', '.join(map(repr, entries[:4]))}{', …' if len(entries) > 4 else ''}"
    return f"{tree.type.__name__} of {len(entries)}"


# -- which guard failed ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failed:
    """A miss with the entry it speaks of: its graph, and the shapes and numbers it was recorded with."""

    miss: Miss
    graph: Graph | None
    before: Event | None


def from_misses(event: Event, failed: Sequence[Failed], code: Any) -> list[Reason]:
    """Reasons why no entry of a known signature fitted, the entry that came furthest first."""
    ranked = sorted(reversed(failed), key=_progress, reverse=True)
    found: dict[tuple[str, str], Reason] = {}
    for item in ranked:
        reason = _from_capture(item.miss, event, code) if item.miss.guard is None else _from_guard(item, event)
        found.setdefault((reason.code, reason.argument), reason)
    return list(found.values())


def _progress(item: Failed) -> int:
    """How many guards held before one failed."""
    guard = item.miss.guard
    return item.graph.guards.index(guard) if guard is not None and item.graph is not None else -1


def _from_capture(miss: Miss, event: Event, code: Any) -> Reason:
    if not miss.capture:
        text = "a check at run time failed: an index out of range, or a reduction of nothing"
        return Reason("RUNTIME_CHECK", "", "passed", "failed", event.call_site, text, "Look at the values passed.")
    name = miss.capture
    if name == "arguments that are one array":
        sentence = "arguments that were one array are several now, or the other way round, and the body writes into one"
        fix = "Pass copies: f(x, x.copy()). Each pattern is traced once."
        return Reason("ALIASING", "all arguments", miss.before, "another pattern", event.call_site, sentence, fix)
    root = re.split(r"[\[.]", name)[0]
    inner = code is not None and root in code.co_freevars
    kind = "CLOSURE_CHANGED" if inner or code is None or root not in code.co_names else "GLOBAL_CHANGED"
    sentence = f"the captured `{name}` changed: {miss.before} → {miss.after}"
    fix = f"Keep its dtype, rank and kind, or pass `{name}` as an argument; new numbers alone are no new trace."
    return Reason(kind, name, miss.before, miss.after, event.call_site, sentence, fix)


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
    before, after = str(was.get(chosen, "as compiled")), str(now.get(chosen, "another"))
    subject, place = size_words(chosen, event.names), f"{guard.loc}"
    head = f"{subject} changed: {before} → {after}"
    text = line_text(guard.loc)
    condition = condition_text(guard)
    argument = chosen if subject.endswith(f" `{chosen}`") else subject

    def reason(code: str, why: str, fix: str) -> Reason:
        return Reason(code, argument, before, after, guard.loc, f"{head}, {why}", fix)

    match guard.why:
        case "Python needs the number itself":
            if re.search(r"\brange\(|^(?:async )?for |\bfor\b.*\bin\b|^while ", text):
                fix = "The loop is unrolled for each count. Write it with array operations, or call it with few counts."
                return reason("LOOP_TRIP_COUNT", f"and {place} loops that often", fix)
            code = "SHAPE_GUARD" if "." in chosen else "STATIC_VALUE"
            fix = "Each value is traced once. Use it in arithmetic, slices and shapes alone, or call with few values."
            return reason(code, f"and {place} needs the number itself", fix)
        case "these sizes are equal" | "a size is 1 and stretches":
            fix = "Both forms are compiled now. To need one only, stretch it yourself before the call: np.broadcast_to."
            why = f"and {place} broadcasts: `{condition}` no longer holds"
            return reason("BROADCAST_PATTERN", why, fix)
        case _:
            why = f"and `{condition}` no longer holds at {place}"
            if text.startswith("while "):
                fix = "The loop is unrolled for each count. Write it with array operations, or call it with few counts."
                return reason("LOOP_TRIP_COUNT", why, fix)
            code = "SHAPE_GUARD" if "." in chosen or not _ASKS.search(text) else "BRANCH_TAKEN"
            return reason(code, why, "Both outcomes are compiled now. One trace needs code that is the same for both.")


_ASKS = re.compile(r"\b(?:if|elif|while|assert|and|or|not|bool|min|max|sorted)\b")


def _from_branch(guard: Guard, graph: Graph | None) -> Reason:
    assert isinstance(guard.subject, int)
    found = [] if graph is None else inputs_behind(graph, guard.subject)
    argument = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
    before, after = str(guard.outcome), str(not guard.outcome)
    on = " and ".join(f"`{name}`" for name in found[:3]) if found else "computed values"
    sentence = f"the branch at {guard.loc} on {on} went the other way: {before} → {after}"
    fix = "Both outcomes are compiled now. To need one trace, compute both sides and choose: np.where(condition, a, b)."
    return Reason("BRANCH_TAKEN", argument, before, after, guard.loc, sentence, fix)


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


def size_words(name: str, arguments: Sequence[str]) -> str:
    """An atom in the user's words: ``x.0`` is axis 0 of `x`."""
    if name[0] in "#@":
        return "an integer computed from the data"
    stem, dot, axis = name.rpartition(".")
    if dot and axis.isdigit():
        return f"axis {axis} of `{stem}`"
    return f"argument `{name}`" if name in arguments else f"the captured `{name}`"


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
    stem, dot, axis = name.rpartition(".")
    return f"{stem}.shape[{axis}]" if dot and axis.isdigit() else name
