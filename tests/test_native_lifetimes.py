"""The native entry: what its calls leave behind, and how long functions, code and arrays live."""

import gc
import pickle
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from native_cores import Slow, doubling, function, given, load, new_runtime, number_at, resident, runtime, taken

from numtape.compiler.backends.llvm import capi

x4, x23 = np.arange(4.0), np.arange(6.0).reshape(2, 3)


def paths():
    """Functions and arguments that between them go every way through the entry."""
    counters = np.zeros(1, "i8")

    def nothing(*args):
        return None

    options = {"fallback": nothing, "counters": counters}
    big = np.ones(30_000)
    echo = [("float64", np.float64(2.5)), ("float64", np.array(2.5)), ("bool", np.True_), ("~bool", True)]
    echo += [("~float64", 2.5), ("~int64", 2**70), ("~int64", 2**50), ("float64", 1)]
    yield from ((function("echo", [kind], [kind], **options), (value,)) for kind, value in echo)
    yield doubling(**options), (x4,)
    yield doubling(**options), (x4[::2],)
    yield doubling(**options), (pickle.loads(pickle.dumps(x4)),)
    yield doubling(**options), (big,)
    yield doubling(rank=2, **options), (x23,)
    yield doubling(**options), ()
    yield function("status", ["~int64"], [], (), **options), (3,)
    yield function("three", ["float64[1]"], ["float64[1]"] * 3, (0, (1, 2)), **options), (x4,)
    yield function("value_and_array", ["float64[1]"], ["float64", "float64[1]"], (0, 1), **options), (x4,)


def test_reference_counts():
    for f, args in paths():
        held = [*args, *[getattr(a, "dtype", None) for a in args], *f.__self__, f, f.__self__, runtime().pool.handler]
        held += [np.dtype("f8"), np.float64, np.ndarray, np.True_, None, True, ()]
        f(*args)
        before = [sys.getrefcount(value) for value in held]
        for _ in range(1000):
            f(*args)
        after = [sys.getrefcount(value) for value in held]
        # a count or two may move for reasons of the interpreter's own; a leak moves by 1000
        assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 10, args


def test_memory_stays_flat():
    every = list(paths())
    for f, args in every:
        for _ in range(2000):
            f(*args)
    before = resident()
    for f, args in every:
        for _ in range(100_000 if sum(getattr(a, "size", 1) for a in args) < 1000 else 2000):
            f(*args)
    assert resident() - before < 4 << 20  # one leak of 16 bytes a call would take 1.6 MB, and a block is 80 at least


FAILING = """
@left = global i64 0
declare ptr @PyErr_NoMemory()
declare void @Py_DecRef(ptr)
declare RESULT @NAME(KINDS)
define ptr @left_at() {
  ret ptr @left
}
define RESULT @failing(PARAMETERS) {
entry:
  %n = load i64, ptr @left
  %m = sub i64 %n, 1
  store i64 %m, ptr @left
  %fails = icmp eq i64 %m, 0
  br i1 %fails, label %no, label %yes
yes:
  %r = call RESULT @NAME(PARAMETERS)
  ret RESULT %r
no:
  DROPPED
  %ignored = call ptr @PyErr_NoMemory()
  ret RESULT null
}
"""
COUNTED = """
@live = global i64 0
declare ptr @malloc(i64)
declare void @free(ptr)
define ptr @live_at() {
  ret ptr @live
}
define ptr @counted_malloc(i64 %n) {
  %r = call ptr @malloc(i64 %n)
  %o = atomicrmw add ptr @live, i64 1 monotonic
  ret ptr %r
}
define void @counted_free(ptr %p) {
  %o = atomicrmw sub ptr @live, i64 1 monotonic
  call void @free(ptr %p)
  ret void
}
"""
MAKERS = {
    "nt_PyArray_NewFromDescr": ["ptr", "ptr", "i32", "ptr", "ptr", "ptr", "i32", "ptr"],
    "PyTuple_New": ["i64"],
    "PyFloat_FromDouble": ["double"],
}


def failing(name, kinds):
    """An engine with a function that does what `name` does, but once: a MemoryError, when its countdown reaches 0."""
    text = FAILING.replace("PARAMETERS", ", ".join(f"{k} %a{i}" for i, k in enumerate(kinds)))
    # NumPy takes its reference to the dtype over, whatever comes of it
    text = text.replace("DROPPED", "call void @Py_DecRef(ptr %a1)" if name.startswith("nt_") else "")
    return load(text.replace("KINDS", ", ".join(kinds)).replace("RESULT", "ptr").replace("NAME", name))


@pytest.mark.parametrize("maker", MAKERS)
def test_nothing_stays_behind_when_a_result_cannot_be_made(maker):
    assert runtime()
    engine, counted = failing(maker, MAKERS[maker]), load(COUNTED)
    left, live = number_at(engine, "left_at"), number_at(counted, "live_at")
    replaced = {f"{name}": counted.get_function_address(f"counted_{name}") for name in ("malloc", "free")}
    own, cores, _ = new_runtime(**replaced, **{maker: engine.get_function_address("failing")})
    outputs = {"three": ["float64[1]"] * 3, "value_and_array": ["~float64", "float64[1]"]}
    results = {"three": (0, (1, (2,))), "value_and_array": (1, (0, ()))}
    slow, failures, held = Slow(), 0, [np.dtype("f8"), own.pool.handler, ()]
    for core, kinds in outputs.items():
        at = cores.get_function_address(core)
        f = own.builtin(at, taken("float64[1]"), given(*kinds), results[core], slow, np.zeros(1, "i8"), "f")
        counts = [sys.getrefcount(value) for value in held]
        for turn in range(1, 6):
            left.value = turn
            try:
                made = f(x4)
            except MemoryError:
                failures += 1
                assert live.value == 0
            else:
                assert live.value == sum(kind == "float64[1]" for kind in kinds)
                del made
            assert live.value == 0
        assert [sys.getrefcount(value) for value in held] == counts
        left.value = 0
        assert len(f(x4)) == 2
    assert failures == {"nt_PyArray_NewFromDescr": 4, "PyTuple_New": 6, "PyFloat_FromDouble": 1}[maker]
    assert not slow.calls


def test_nothing_stays_behind_when_a_scalar_cannot_be_made(monkeypatch):
    engine = failing("PyType_GenericAlloc", ["ptr", "i64"])
    monkeypatch.setattr(capi, "allocator", lambda type_: engine.get_function_address("failing"))
    f = function("value_and_array", ["float64[1]"], ["float64", "float64[1]"], (1, 0))
    left = number_at(engine, "left_at")
    left.value = 1
    with pytest.raises(MemoryError):
        f(x4)
    assert f(x4)[1] == 3


class Owner:
    """Holds a function whose fallback leads back to it."""

    def __init__(self, seen, keep):
        self.seen, self.keep = seen, weakref.ref(keep)
        self.function = doubling(fallback=self.fall_back, keep=keep)

    def fall_back(self, *args):
        return self

    def __del__(self):
        # still whole: the code that the function runs is kept until the function is gone
        self.seen.append((self.function(x4).tolist(), self.keep() is not None))


class Code:
    pass


def test_a_cycle_is_collected_and_works_to_the_end():
    seen = []
    owner = Owner(seen, Code())
    gone, code = weakref.ref(owner), owner.keep
    assert owner.function() is owner
    assert code() is not None
    del owner
    gc.collect()
    assert gone() is None
    assert seen == [([0, 2, 4, 6], True)]
    assert code() is None


def test_a_function_dies_with_its_last_name():
    code, counters = Code(), np.zeros(1, "i8")
    alive = weakref.ref(code)
    count = sys.getrefcount(counters)
    f = doubling(keep=code, counters=counters)
    del code
    assert alive() is not None
    del f
    assert alive() is None
    assert sys.getrefcount(counters) == count


def test_arrays_outlive_everything():
    """At interpreter shutdown too, where modules go in any order."""
    code = """
import atexit, builtins, os, sys
sys.path.insert(0, sys.argv[1])
from native_cores import doubling, np
f = doubling()
arrays = [f(np.ones(n)) for n in (3, 30_000, 3_000_000)]
builtins.kept = sys.kept = np.kept = arrays[0][1:]
arrays.append(arrays)
class Late:
    def __del__(self, f=f, x=np.ones(30_000), write=os.write):
        self.y = f(x)
        write(1, str(float(self.y[7])).encode())
sys.late = Late()
atexit.register(lambda y=f(np.ones(40_000)): os.write(1, b"%f " % y.sum()))
del sys.modules["native_cores"]
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["80000.000000", "2.0"]
    assert not done.stderr
