"""The short way of a call: what it counts, and how long functions, entries, captured arrays and memory live."""

import copy
import functools
import gc
import inspect
import os
import pickle
import random
import sys
import threading
import weakref

import numpy as np
import pytest
from native_cores import resident
from short_calls import double, is_short, opened, same, simple, x4

import numtape as nt
from numtape.runtime.build import chosen
from numtape.runtime.jit import Function
from numtape.runtime.report import collect

pytestmark = pytest.mark.skipif(chosen() != "llvm", reason="native entries come with the back end llvm")


# -- counts -----------------------------------------------------------------------------------------------------------


def test_counts_are_exact():
    f = nt.jit(double)
    f.clear_cache()
    twin = nt.jit(double)  # shares the entries
    for x in (x4, x4, x4, x4[::2], np.ones(3, "f4"), x4, np.ones(3, "f4"), np.ones(3, "f4")):
        f(x)
    twin(x4), twin(x4), twin(x4)
    assert (f.stats.calls, f.stats.hits, f.stats.traces) == (8, 6, 2)
    assert (twin.stats.calls, twin.stats.hits, twin.stats.traces) == (3, 3, 0)
    assert sorted(s.hits for s in f.signatures()) == [2, 7]
    before = f._table.hits
    row = next(r for r in collect(f._table.history.all()).rows if r.calls == before + f._table.traces)
    assert (row.hits, row.traces) == (before, f._table.traces)
    f.clear_cache()
    assert not is_short(f) and not is_short(twin)
    assert (f.stats.calls, f.stats.hits, f._table.hits) == (8, 6, before) and f.signatures() == []
    f(x4), f(x4), f(x4)
    assert (f.stats.calls, f.stats.hits, f.stats.traces, f._table.hits) == (11, 8, 3, before + 2)
    del twin
    assert f._table.hits == before + 2


def test_evicted_entries_are_not_called_any_more():
    f = nt.jit(lambda x, name: x * 2 if name != "x" else x)
    g = opened(lambda x: x + 1, x4)
    g._table.limit = 3
    for rank in range(5):
        g(np.ones((1,) * rank)), g(np.ones((1,) * rank)), g(np.ones((1,) * rank))
        assert is_short(g) and len(g._table.entries) <= 3
    traces = g.stats.traces
    same(g(np.ones(())), np.float64(2.0))
    assert g.stats.traces == traces + 1, "its entry was gone"
    assert g.stats.calls == g.stats.hits + g.stats.traces and f.stats.calls == 0


def test_threads():
    f, wrong, done = nt.jit(double), [], threading.Event()
    f.clear_cache()
    hits, given = f._table.tally.total, [x4.astype(d) for d in ("f8", "f4", "i8", "i4", "i2", "u1", "u8", "?")]
    given[0] = np.arange(40_000.0)  # large enough for the interpreter lock to be given up
    expected, turns = [double(x) for x in given], 300

    def work(number):
        pick = random.Random(number)
        for _ in range(turns):
            k = number if pick.random() < 0.8 else pick.randrange(8)
            got = f(given[k])
            if got.dtype != expected[k].dtype or not np.allclose(got, expected[k], rtol=1e-3, atol=1e-3):
                wrong.append((number, k))

    def clear():
        while not done.wait(0.002):
            f.clear_cache()

    workers, clearing = [threading.Thread(target=work, args=(n,)) for n in range(8)], threading.Thread(target=clear)
    for thread in (*workers, clearing):
        thread.start()
    for thread in workers:
        thread.join()
    done.set()
    clearing.join()
    stats = f.stats
    assert not wrong and stats.calls == 8 * turns == stats.hits + stats.traces
    assert f._table.hits - hits == stats.hits
    f.clear_cache()
    gc.collect()
    assert not f._table.tally.lanes and f.stats.calls == stats.calls


# -- lifetimes --------------------------------------------------------------------------------------------------------


def made():
    w = np.ones(1000)
    k = 2.0
    return opened(lambda x: np.sum(x * w * k), np.ones(1000)), weakref.ref(w)


def test_a_function_goes_with_its_last_reference():
    f, w = made()
    gc.collect()
    gc.disable()
    try:
        f(np.ones(1000))
        gone, entry = weakref.ref(f), weakref.ref(f._table.all()[0])
        table = f._table
        del f
        assert gone() is None and w() is None, "no cycle has to be found by the collector"
        table.clear()
        assert entry() is None
        assert not table.tally.lanes and table.tally.counted == table.hits >= 2
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_clearing_gives_back_what_a_lane_held():
    f, w = made()
    entry = weakref.ref(f._table.all()[0])
    f.clear_cache()
    assert entry() is None and w() is not None
    assert f(np.ones(1000)) == 2000.0


def test_the_call_of_a_function_that_is_gone():
    f = nt.jit(double)
    call = f.__call__
    del f
    with pytest.raises(ReferenceError, match="is gone"):
        call(x4)


def test_copies_pickles_and_introspection():
    f = opened(simple, x4, 2.0)
    assert inspect.signature(f) == inspect.signature(simple) and f.__wrapped__ is simple
    assert f.__name__ == "simple" and callable(f) and f.__call__ is f.__call__
    same(f.__call__(x4, 3.0), x4 * 3)
    for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
        assert other is not f and other._table is f._table
        same(other(x4, 3.0), x4 * 3)
        assert other.stats.calls == 1

    @functools.wraps(f)
    def outer(*args):
        return f(*args)

    assert inspect.signature(outer) == inspect.signature(simple)
    same(outer(x4, 3.0), x4 * 3)


class Doubled(Function):
    """A subclass may have a call of its own."""

    def __call__(self, *args):
        return 2 * super().__call__(*args)


def test_subclasses_of_function():
    f = Doubled(simple)
    for _ in range(4):
        same(f(x4, 1.0), 2 * x4)
    assert f.stats.calls == 4


def test_memory_and_references_stay():
    w, k = np.ones(4), 3.0
    f = opened(lambda x, a: (np.sum(x * w), (x * a, a * k)), x4, 2.0)
    g = opened(nt.value_and_grad(lambda x: np.sum(x * x)), x4)
    ways = [(f, (x4, 2.0)), (f, (x4[::-1], 2.0)), (f, (x4, np.float32(2))), (g, (x4,)), (g, (x4[::2],))]
    held = [x4, w, np.dtype("f8"), np.float64, f, g, f._function, g._function, None, ()]
    many = 1_000_000 if os.environ.get("HYPOTHESIS_PROFILE") == "full" else 20_000
    for call, args in ways:
        for _ in range(2000):
            call(*args)
        counts, memory = [sys.getrefcount(h) for h in held], resident()
        for _ in range(many):
            call(*args)
        after = [sys.getrefcount(h) for h in held]
        # a count or two may move for reasons of the interpreter's own; a leak moves by `many`
        assert max(abs(a - b) for a, b in zip(counts, after, strict=True)) < 10, args
        assert resident() - memory < 1 << 20  # the smallest object that could leak takes 24 bytes
