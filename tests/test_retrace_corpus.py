"""The corpus of small scripts: `again/` for every reason to trace again, `stays/` for what must be traced once.

A script marks what it expects at the end of a line::

    power(x, 4)  # retrace: LOOP_TRIP_COUNT of k, 3 → 4; array operations

This call is traced again, for this reason and no other, and the fix holds these words. Two reasons stand with `` | ``
between them, the first one first. The line that the explanation shows ends in ``# the cause``, or is the call itself.
In `stays/` the code alone is given. A call without a mark must not be traced again, nor a function by the back door, as
a new one: one line of code is traced once. What a script computes it holds against NumPy itself.
"""

import re
import runpy
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

import numtape as nt
from numtape.runtime.events import listeners

CORPUS = Path(__file__).parent / "retrace_corpus"
AGAIN, STAYS = (sorted((CORPUS / kind).glob("*.py")) for kind in ("again", "stays"))
CODES = {
    "ALIASING", "BRANCH_TAKEN", "BROADCAST_PATTERN", "CLEARED", "CLOSURE_CHANGED", "DTYPE", "GLOBAL_CHANGED",
    "LOOP_TRIP_COUNT", "MAX_ENTRIES", "RANK", "SHAPE_GUARD", "STATIC_VALUE", "TREE_STRUCTURE", "VARIABLE",
    "WEAK_SCALAR",
}  # fmt: skip
MARK = re.compile(r"# retrace: ([^;]*)(?:; (.*))?$")


class Mark(NamedTuple):
    """What a script expects of the call on one of its lines."""

    line: int
    reasons: str
    fix: str


def marks_of(path):
    lines = enumerate(path.read_text().splitlines(), 1)
    return [Mark(number, found[1], found[2] or "") for number, line in lines if (found := MARK.search(line))]


def cause_of(path):
    return [number for number, line in enumerate(path.read_text().splitlines(), 1) if line.endswith("# the cause")]


def events_of(path):
    """What happened while a script ran, calls that raised aside; a warning is an error unless entries run out."""
    events = []
    listeners.append(events.append)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "MAX_ENTRIES", nt.RetraceWarning)
            runpy.run_path(str(path), run_name="__main__")
    finally:
        listeners.remove(events.append)
    return [event for event in events if event.kind != "failed"]


def assert_traced_once(events, marks):
    """Whatever is not marked is the first trace of its line of code."""
    marked = {mark.line for mark in marks}
    plain = [event for event in events if event.kind == "first" or event.call_site.line not in marked]
    for event in plain:
        assert event.kind == "first", str(event.explanation)
    programs = [(event.transform, event.function, event.line) for event in plain]
    assert len(set(programs)) == len(programs), "a new function object was traced as if it were new code"


@pytest.mark.parametrize("path", AGAIN, ids=lambda path: path.stem)
def test_traced_again(path):
    marks, events = marks_of(path), events_of(path)
    again = [event for event in events if event.kind != "first"]
    assert [event.call_site.line for event in again] == [mark.line for mark in marks]
    for mark, event in zip(marks, again, strict=True):
        found = event.explanation
        told = [f"{r.code} of {r.argument}, {r.before} → {r.after}" for r in found.reasons]
        assert told == mark.reasons.split(" | ")
        assert mark.fix and mark.fix in found.fix
        assert Path(found.line.file) == path and found.line.line in (cause_of(path) or [mark.line])
        text = str(found)
        for part in (found.code, found.argument, f"{found.before} → {found.after}", found.text, "Fix: "):
            assert part in text
    assert_traced_once(events, marks)


@pytest.mark.parametrize("path", STAYS, ids=lambda path: path.stem)
def test_traced_once(path):
    marks, events = marks_of(path), events_of(path)
    assert events, "nothing was compiled"
    again = [(e.call_site.line, e.explanation.code) for e in events if e.kind != "first"]
    assert again == [(mark.line, mark.reasons) for mark in marks]
    assert_traced_once(events, marks)


def test_the_corpus_covers_all_reasons():
    told = {reason.split(" ")[0] for path in AGAIN for mark in marks_of(path) for reason in mark.reasons.split(" | ")}
    assert told == CODES
    assert len(AGAIN) >= 24 and len(STAYS) >= len(AGAIN)
    assert all(marks_of(path) for path in AGAIN)
