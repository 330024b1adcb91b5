"""Why a signature was new: reasons with their codes, from signatures held leaf against leaf."""

from __future__ import annotations

import linecache
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..tracer.graph import Loc
from .events import Event
from .identity import Code, Same
from .signature import Signature, Spec

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


# -- what a signature differs in -------------------------------------------------------------------------------------


def from_signatures(
    event: Event, leaf_names: Mapping[Signature, Sequence[str]], name_of: Callable[[int], str], limit: int
) -> list[Reason]:
    """Reasons why a signature is new: each leaf that differs from the nearest known signature.

    `leaf_names` holds the signatures that were ever met, `name_of` gives the name of a positional argument.
    """
    new, where = event.signature, event.call_site
    if not event.known or new in leaf_names or new in event.known:  # met before, and without an entry now
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
    """The known signature with the same tree, the fewest differing leaves, and the fewest differences in these.

    The newest of equals.
    """

    def distance(old: Signature) -> tuple[bool, int, int]:
        differing = [sum(p != q for p, q in zip(a, b, strict=True)) for a, b in zip(old.specs, new.specs, strict=False)]
        leaves = sum(map(bool, differing)) + abs(len(old.specs) - len(new.specs))
        return old.tree != new.tree, leaves, sum(differing)

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
            missing = ", ".join(["None"] * (old.rank - new.rank))
            change = f"np.squeeze({name}) drops axes of size 1"
            if missing:
                change = f"{name}[{missing}] adds {'an axis' if missing == 'None' else 'axes'}"
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
            before, after = f"one {before}", f"another {after}"
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
    if isinstance(detail, Code) or (callable(detail) and not isinstance(detail, type)):
        return "function"
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
    item = _static_item(detail)
    if isinstance(detail, Same):
        return type(item).__name__  # its repr may hold an address
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
