"""Explanations of traces: the text of each reason, what is compared with what, and what happens after a trace."""

import dataclasses
import re
import warnings
import weakref
from functools import partial

import numpy as np
import pytest

import numtape as nt
from numtape.runtime.events import Event, Miss
from numtape.runtime.explain import Explanation, announce
from numtape.runtime.reasons import nearest
from numtape.runtime.signature import FLOAT, INT, Signature, flatten

# explanations don't depend on the back end, and this one compiles nothing
jit = partial(nt.jit, backend="interpreter")


def text(explanation):
    """The text of an explanation without seconds and line numbers."""
    return re.sub(r"\d+\.\d\d s", "0.00 s", re.sub(r"(\.py):\d+", r"\1:N", str(explanation)))


def forgotten(f):
    """A function without a past: functions of one code share what they remember."""
    table = f._table
    table.clear()
    table.history.events.clear()
    table.warned.clear()
    table.traces, table.compile_seconds = 0, 0.0
    return f


def test_text_of_a_first_trace():
    @jit
    def mean(x, how="plain", scale=2.0):
        return np.mean(x) * scale

    mean(np.ones((2, 3)))
    assert text(mean.explain_last()) == (
        "FIRST_TRACE: mean was traced for the first time: with x: f64[:,:], how: 'plain', scale: float.\n"
        "  test_explain.py:N: mean(np.ones((2, 3)))\n"
        "Cost: 0.00 s (trace 0.00 s, compile 0.00 s); trace 1 of mean.\n"
        "Nothing to do: calls with these dtypes and ranks are served from now on, whatever their shapes."
    )


def test_text_before_the_first_trace():
    @nt.grad
    def mean(x):
        return np.mean(x)

    assert text(mean.explain_last()) == (
        "NOT_TRACED: grad of mean has not been traced yet: it has not been called.\n"
        "  test_explain.py:N: @nt.grad\n"
        "Call it first."
    )
    assert mean.explain_last().code == "NOT_TRACED"


def test_text_of_a_forced_integer():
    @jit
    def power(x, k):
        y = x
        for _ in range(k):
            y = y * x
        return y

    power(np.ones(2), 3)
    power(np.ones(5), 4)
    assert text(power.explain_last()) == (
        "LOOP_TRIP_COUNT: power was traced again because argument `k` changed: 3 → 4, "
        "and test_explain.py:N loops that often.\n"
        "  test_explain.py:N: for _ in range(k):\n"
        "  test_explain.py:N: power(np.ones(5), 4)\n"
        "Cost: 0.00 s (trace 0.00 s, compile 0.00 s); trace 2 of power.\n"
        "Fix: The loop is unrolled for each count. Write it with array operations, or call it with few counts."
    )


def test_text_of_several_differences():
    @jit
    def add(x, y):
        return x + y

    add(np.ones(2), 1)
    add(np.ones((2, 2), "f4"), 1.0)
    assert text(add.explain_last()) == (
        "WEAK_SCALAR: add was traced again because argument `y` changed its kind: int → float.\n"
        '  test_explain.py:N: add(np.ones((2, 2), "f4"), 1.0)\n'
        "Cost: 0.00 s (trace 0.00 s, compile 0.00 s); trace 2 of add.\n"
        "Also: RANK of x, 1 → 2; DTYPE of x, float64 → float32.\n"
        "Fix: Pass float(y) each time, or keep both: each kind is traced once."
    )


def test_text_where_entries_run_out():
    @jit(max_entries=2)
    def sign(x):
        if x[0] > 0:
            return x
        if x[1] > 0:
            return -x
        return x * 0

    with pytest.warns(nt.RetraceWarning) as caught:
        for values in ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (-1.0, -2.0)):
            sign(np.array(values))
    assert len(caught) == 1
    assert text(caught[0].message) == (
        "MAX_ENTRIES: sign ran uncompiled: max_entries=2 is reached for one signature, and the branch at "
        "test_explain.py:N on `x` went the other way: True → False.\n"
        "  test_explain.py:N: if x[1] > 0:\n"
        "  test_explain.py:N: sign(np.array(values))\n"
        "Also: BRANCH_TAKEN of x, True → False.\n"
        "Fix: Compute both sides and choose, np.where(condition, a, b), to need one entry. "
        "Or allow more: max_entries=8."
    )
    assert caught[0].filename == __file__
    assert sign.explain_last().code == "MAX_ENTRIES"
    assert sign.explain_last().reasons[1].code == "BRANCH_TAKEN"


def loops_over_rows(x):
    return sum(x[i] for i in range(x.shape[0]))


def branches_on_a_number(x, k):
    return x + 1 if k > 3 else x


def branches_on_a_size(x):
    return x + 1 if x.shape[0] > 3 else x


def branches_on_a_count(x):
    return x[x > 0].sum() if np.sum(x > 0) > 1 and x[x > 0].shape[0] > 2 else x.sum()


def branches_on_data(p):
    return p["w"] + 1 if p["w"].sum() > 0 else p["w"]


def indexes_a_tuple(x, k):
    return x + (1.0, 2.0, 3.0)[k]


def adds(x, y=None):
    return x if y is None else x + y


def adds_leaves(p):
    leaves, _ = flatten(p)
    return sum(leaves)


def takes_any(*rest):
    return sum(rest)


A, B, E = np.ones(3), np.ones((3, 3)), np.array([0.0, 0.0, 1.0])
CASES = {
    "dtype": (adds, (A, A), (A, A.astype("f4")), "DTYPE", "y", "float64", "float32"),
    "dtype in a dict": (adds_leaves, ({"w": A},), ({"w": A > 0},), "DTYPE", "p['w']", "float64", "bool"),
    "rank": (adds, (A, A), (A, B), "RANK", "y", "1", "2"),
    "rank of a scalar": (adds, (A, np.float64(1)), (A, A), "RANK", "y", "0", "1"),
    "int to float": (adds, (A, 1), (A, 1.5), "WEAK_SCALAR", "y", "int", "float"),
    "int to bool": (adds, (A, 1), (A, True), "WEAK_SCALAR", "y", "int", "bool"),
    "int to array": (adds, (A, 1), (A, A), "WEAK_SCALAR", "y", "int", "float64 array of rank 1"),
    "float to NumPy": (adds, (A, 1.0), (A, np.float32(1)), "WEAK_SCALAR", "y", "float", "NumPy float32"),
    "bool": (adds, (A, True), (A, False), "STATIC_VALUE", "y", "True", "False"),
    "keys": (adds_leaves, ({"a": A},), ({"b": A},), "TREE_STRUCTURE", "p", "dict with 'a'", "dict with 'b'"),
    "list or tuple": (adds_leaves, ([A, [A]],), ([A, (A,)],), "TREE_STRUCTURE", "p[1]", "list of 1", "tuple of 1"),
    "None": (adds, (A,), (A, A), "TREE_STRUCTURE", "y", "None", "one value"),
    "number of arguments": (takes_any, (A,), (A, A), "TREE_STRUCTURE", "rest[1]", "left out", "given"),
    "loop": (loops_over_rows, (B,), (np.ones((4, 3)),), "LOOP_TRIP_COUNT", "axis 0 of `x`", "3", "4"),
    "loop over a number": (indexes_a_tuple, (A, 0), (A, 2), "STATIC_VALUE", "k", "0", "2"),
    "branch on a number": (branches_on_a_number, (A, 7), (A, 2), "BRANCH_TAKEN", "k", "7", "2"),
    "branch on a size": (branches_on_a_size, (A,), (np.ones(9),), "SHAPE_GUARD", "axis 0 of `x`", "3", "9"),
    "branch on a count": (branches_on_a_count, (A,), (A - E,), "BRANCH_TAKEN", "x", "count1 > 2", "count1 <= 2"),
    "branch on data": (branches_on_data, ({"w": A},), ({"w": -A},), "BRANCH_TAKEN", "p['w']", "True", "False"),
    "stretched": (adds, (A, A), (np.ones(5), np.ones(1)), "BROADCAST_PATTERN", "axis 0 of `y`", "3", "1"),
    "no longer stretched": (adds, (B, np.ones((3, 1))), (B, B), "BROADCAST_PATTERN", "axis 1 of `y`", "1", "3"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_reason(name):
    function, first, second, code, argument, before, after = CASES[name]
    f = forgotten(jit(on_retrace="ignore")(function))
    f(*first)
    f(*second)
    found = f.explain_last()
    assert found.kind == "retrace"
    assert (found.code, found.argument, found.before, found.after) == (code, argument, before, after)
    assert len(found.reasons) == 1
    assert found.text and found.text in str(found)
    assert f"{before} → {after}" in str(found)
    assert (argument if argument.startswith("axis") else f"`{argument}`") in str(found)
    assert f"{found.cost:.2f} s" in str(found)
    assert found.fix in str(found)
    assert 2 <= len(str(found).splitlines()) <= 6


def test_captured_values():
    scale = np.ones(3)

    @jit(on_retrace="ignore")
    def f(x):
        return x * scale

    f(A)
    scale = np.float32(2)
    f(A)
    found = f.explain_last()
    assert (found.code, found.argument) == ("CLOSURE_CHANGED", "scale")


OFFSET = 1.0


def test_global_values():
    global OFFSET
    f = jit(on_retrace="ignore")(lambda x: x + OFFSET)
    try:
        f(A)
        OFFSET = 2.0
        f(A)
        assert f.stats.traces == 1
        OFFSET = 2
        f(A)
    finally:
        OFFSET = 1.0
    found = f.explain_last()
    assert (found.code, found.argument, found.before, found.after) == ("GLOBAL_CHANGED", "OFFSET", "float", "int")


def test_static_objects_are_compared_by_identity():
    f = jit(on_retrace="ignore")(lambda x, config: x + 1)
    f(A, object())
    f(A, object())
    found = f.explain_last()
    assert (found.code, found.argument) == ("STATIC_VALUE", "config")
    assert "the same object" in found.fix
    assert "argument `config` is another object: one object → another object" in str(found)


def test_cleared_and_evicted():
    f = jit(lambda x: x + 1)
    f(A)
    f.clear_cache()
    f(A)
    assert f.explain_last().code == "CLEARED"
    f._table.limit = 1
    f(B)
    assert f.explain_last().code == "RANK"
    f(A)
    assert f.explain_last().code == "EVICTED"


def test_the_nearest_signature_is_compared():
    def signature(*specs):
        return Signature(flatten([0] * len(specs))[1], specs)

    far, near, short = signature(FLOAT, FLOAT, FLOAT), signature(INT, INT, FLOAT), signature(INT, INT)
    assert nearest(signature(INT, INT, INT), [near, far, short]) == near
    assert nearest(signature(INT, INT, INT), [short]) == short


def test_the_entry_that_came_furthest_is_named():
    @jit
    def f(x):
        y = x + 1 if x[0] > 0 else x
        return y + 1 if x[1] > 0 else y

    for a, b in ((1, 1), (-1, 1), (-1, -1)):
        f(np.array([a, b], dtype=float))
    found = f.explain_last()
    assert "x[1] > 0" in found.text  # the second entry failed at its second guard, the first one at its first
    assert [r.line.line - found.line.line for r in found.reasons] == [0]


# -- after a trace ---------------------------------------------------------------------------------------------------


def test_errors_on_retrace():
    f = jit(on_retrace="error")(lambda x: x + 1)
    f(A)
    with pytest.raises(nt.RetraceError, match=r"RANK: .* rank: 1 → 2") as caught:
        f(B)
    assert caught.value.explanation.code == "RANK"
    assert np.all(f(A) == 2)


def test_other_policies_are_refused():
    with pytest.raises(ValueError, match="on_retrace must be .* not 'wran'"):
        nt.jit(lambda x: x, on_retrace="wran")


def test_a_callable_on_retrace():
    seen = []
    f = jit(on_retrace=seen.append)(lambda x: x + 1)
    f(A)
    assert seen == []
    f(B)
    assert [type(e) for e in seen] == [Explanation]
    assert seen[0] is f.explain_last()


def test_limits_raise_with_the_explanation():
    f = jit(lambda x: x + 1)
    with nt.no_retrace():
        f(A)
        with pytest.raises(nt.RetraceError, match=r"(?s)RANK: .*inside nt.no_retrace"):
            f(B)
    with nt.max_traces(f, 1):
        f(B)
        with pytest.raises(nt.RetraceError, match=r"(?s)DTYPE: .*inside nt.max_traces"):
            f(A.astype("f4"))


def traced(f, seconds, k, time=0.0):
    """Tell of a retrace of `f` that took some seconds: argument `k` of a loop changed."""
    entry = f._last_entry()
    first = f._table.history.events[0]
    guard = entry.plan.graph.guards[0]
    event = dataclasses.replace(
        entry.event,
        kind="retrace",
        misses=(Miss(weakref.ref(entry), guard),),
        compile_seconds=seconds,
        values={"x": (2,), "k": k},
    )
    assert isinstance(event, Event) and first.kind == "first"
    f._table.traces += 1
    f._table.compile_seconds += seconds
    f._table.history.add(event)
    announce(f, event)


@pytest.fixture
def loop():
    def power(x, k):
        for _ in range(k):
            x = x * 2
        return x

    f = forgotten(jit(power))
    f(np.ones(2), 1)
    return f


def test_a_warning_names_all(loop):
    with pytest.warns(nt.RetraceWarning) as caught:
        for k in range(2, 9):
            traced(loop, 1.0, k)
    assert len(caught) == 1, "once for a reason"
    assert text(caught[0].message) == (
        "power was traced 4 times (3.0 s in all): argument `k` changed: 1 → 4, and test_explain.py:N loops that often, "
        "called at test_explain.py:N (LOOP_TRIP_COUNT). The loop is unrolled for each count. Write it with array "
        "operations, or call it with few counts.\n"
        "  test_explain.py:N: for _ in range(k):\n"
        "  test_explain.py:N: f(np.ones(2), 1)\n"
        "Cost: 0.00 s (trace 0.00 s, compile 0.00 s); trace 4 of power."
    )


def test_cheap_traces_give_no_warning(loop):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(2, 9):
            traced(loop, 0.2, k)


def test_a_small_share_of_the_time_gives_no_warning(loop):
    loop._table.history.events[0].time -= 3600
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(2, 9):
            traced(loop, 1.0, k)


def test_two_expensive_traces_give_no_warning(loop):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        traced(loop, 60.0, 2)
        traced(loop, 60.0, 3)


def test_five_kinds_of_arguments_give_no_warning():
    f = nt.jit(lambda x: x + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in ("f8", "f4", "i8", "i4", "?"):
            f(np.ones(3, dtype))
    assert f.stats.traces == 5
