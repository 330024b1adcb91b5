"""The native entry: what it takes, what it gives back, and what it leaves to the fallback."""

import gc
import itertools
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from native_cores import (
    LLVM,
    Slow,
    address,
    doubling,
    function,
    given,
    handler_name,
    load,
    new_runtime,
    number_at,
    runtime,
    taken,
)

from numtape.compiler.backends.llvm import entry

SHAPES = {
    1: [(4,), (0,), (1,), (9000,)],
    2: [(2, 3), (0, 3), (3, 0), (1, 5), (5, 1), (1, 1)],
    3: [(2, 3, 4), (2, 1, 1)],
}
SCALARS = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8"]


@pytest.mark.parametrize("name", LLVM)
@pytest.mark.parametrize("rank", SHAPES)
def test_arrays(name, rank):
    counters = np.zeros(2, np.int64)
    f = doubling(name, rank, counters=counters)
    for number, shape in enumerate(SHAPES[rank], 1):
        x = (np.arange(np.prod(shape)) % 3).astype(name).reshape(shape)
        y = f(x)
        assert type(y) is np.ndarray
        assert y.dtype is x.dtype
        assert y.base is None
        assert str(y.flags) == str(np.empty(shape, name).flags)
        assert not y.size or y.strides == np.empty(shape, name).strides
        assert y.ctypes.data % 64 == 0
        assert handler_name(y) == "numtape"
        np.testing.assert_array_equal(y, x + x)
        assert counters.tolist() == [number, 0]


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_of_a_dtype(name):
    f = function("echo", [name], [name])
    dtype = np.dtype(name)
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    special = [-0.0, np.nan, np.inf, limits.smallest_subnormal] if dtype.kind == "f" else []
    for value in [0, 1, limits.min, limits.max, *special]:
        array = np.array(value, dtype)
        for argument in (array, array[()], pickle.loads(pickle.dumps(array))):
            y = f(argument)
            assert type(y) is dtype.type
            assert y.tobytes() == array.tobytes()
            assert y is not argument


def test_truth_of_a_dtype():
    f = function("echo", ["bool"], ["bool"])
    assert f(np.True_) is np.True_
    assert f(np.False_) is np.False_
    assert f(np.array(True)) is np.True_
    assert f(np.array(False)) is np.False_


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("~float64", [0.0, -0.0, 1.5, 5e-324, np.inf, -np.inf, np.nan]),
        ("~int64", [0, 1, -1, 300, 2**40, 2**63 - 1, -(2**63)]),
        ("~bool", [True, False]),
    ],
)
def test_python_numbers(kind, values):
    f = function("echo", [kind], [kind])
    for value in values:
        y = f(value)
        assert type(y) is type(value)
        assert repr(y) == repr(value)


class Sub(np.ndarray):
    pass


class Float(float):
    pass


class Int(int):
    pass


x4, x23 = np.arange(4.0), np.arange(6.0).reshape(2, 3)
unaligned = np.frombuffer(b"\0" * 33, np.uint8)[1:].view(np.float64)
STRANGE = {
    "float64[1]": [
        x4.tolist(), x4.view(Sub), np.ma.array(x4), x4.astype("f4"), x4.astype(">f8"), x4[::2], x4[::-1], x23,
        np.array(1.0), unaligned, 1.0, None, np.float64(1), np.arange(4), x4.astype(complex), memoryview(x4),
        np.zeros(2, [("a", "f8")]), x4.astype(object), np.zeros(2, "m8[s]"),
    ],
    "float64[2]": [x4, x23.T, np.asfortranarray(x23), x23[:, :2], x23[None]],
    "int64[1]": [np.arange(4, dtype=np.longlong), np.arange(4, dtype="u8"), np.arange(4, dtype=">i8"), x4],
    "float64": [
        1.0, 1, None, np.float32(1), x4[:1], np.array(1.0, "f4"), np.array(1.0, ">f8"), unaligned[:1].reshape(()),
    ],
    "int64": [1, np.longlong(1), np.int32(1), np.uint64(1), np.timedelta64(1, "s")],
    "bool": [True, 1, np.int8(1)],
    "~float64": [1, np.float64(1), Float(1), np.array(1.0), True, "1.0", None],
    "~int64": [True, 1.0, Int(1), np.int64(1), 2**63, -(2**63) - 1, 10**40],
    "~bool": [1, 0, np.True_, None, 1.0],
}  # fmt: skip


@pytest.mark.parametrize("kind", STRANGE)
def test_strange_arguments_go_to_the_fallback(kind):
    """On its own and as the second of three; the fallback sees the very same objects."""
    good = {"1": np.ones(3), "2": np.ones((2, 2))}
    usual = {
        "~float64": 1.0,
        "~int64": 1,
        "~bool": True,
        "bool": np.True_,
        "float64": np.float64(1),
        "int64": np.int64(1),
    }
    fine = usual.get(kind, good.get(kind[-2]))
    fine = fine.astype(kind[:-3]) if isinstance(fine, np.ndarray) else fine
    slow, counters = Slow(), np.zeros(1, np.int64)
    one = function("echo", [kind], ["~int64"], fallback=slow, counters=counters)
    three = function("echo", [kind] * 3, ["~int64"], fallback=slow, counters=counters)
    one(fine)
    three(fine, fine, fine)
    assert counters[0] == 2
    assert not slow.calls
    for value in STRANGE[kind]:
        for f, args in ((one, (value,)), (three, (fine, value, fine))):
            assert f(*args) is slow
            (seen,) = slow.calls
            assert all(a is b for a, b in zip(seen, args, strict=True))
            slow.calls.clear()
    assert counters[0] == 2


def test_number_of_arguments():
    slow = Slow()
    f = function("float64_1", ["float64[1]"] * 2, ["float64[1]"], fallback=slow)
    for count in (0, 1, 3, 40):
        assert f(*[x4] * count) is slow
        assert len(slow.calls.pop()) == count
    with pytest.raises(TypeError, match="keyword"):
        f(x4, x=x4)


def test_arguments_that_are_fine_as_they_are():
    """Read-only memory, dtypes that were unpickled or carry metadata, a contiguous part, strides that don't matter."""
    f = doubling(fallback=None)
    frozen = x4.copy()
    frozen.flags.writeable = False
    stored = pickle.loads(pickle.dumps(x4))
    assert stored.dtype is not x4.dtype
    noted = x4.astype(np.dtype("f8", metadata={"a": 1}))
    for x in (frozen, stored, noted, np.arange(8.0)[2:6], np.zeros((4, 4))[:1, 1:2].reshape(1)):
        y = f(x)
        assert y.dtype is np.dtype("f8")
        np.testing.assert_array_equal(y, 2 * x)
    g = doubling(rank=2)
    np.testing.assert_array_equal(g(np.arange(12.0).reshape(3, 4)[:, :1].T[:, :1]), [[0.0]])


def test_what_is_written_has_to_be_writable():
    slow = Slow()
    frozen, point = np.ones(3), np.array(1.0)
    frozen.flags.writeable = False
    f = function("float64_1", ["float64[1]"] * 2, ["float64[1]"], fallback=slow, written=[1])
    assert f(frozen, np.ones(2)).tolist() == [2, 2, 2]
    assert f(np.ones(2), frozen) is slow
    g = function("echo", ["float64"], ["float64"], fallback=slow, written=[0])
    assert g(point) == 1
    assert g(np.float64(1)) is slow


def test_a_status_goes_to_the_fallback():
    slow, counters = Slow(), np.zeros(1, np.int64)
    f = function("status", ["~int64"], [], (), fallback=slow, counters=counters)
    assert f(0) == ()
    for status in (1, 2, 1000, -1, -4):
        assert f(status) is slow
        assert slow.calls.pop() == (status,)
    assert counters[0] == 1


def test_what_the_fallback_raises():
    def broken(*args):
        raise LookupError(*args)

    f = function("status", ["~int64"], [], (), fallback=broken)
    with pytest.raises(LookupError, match="5"):
        f(5)
    with pytest.raises(LookupError, match="None"):
        f(None)


def test_results_are_put_together():
    f = function("value_and_array", ["float64[1]"], ["float64", "float64[1]"], (0, 1))
    value, array = f(x4)
    assert type(value) is np.float64
    assert value == 3
    assert array.tolist() == [0, 2, 4, 6]
    f = function("value_and_array", ["float64[1]"], ["~float64", "float64[1]"], ((1, ()), ((0,),)))
    (array, nothing), ((value,),) = f(x4)
    assert type(value) is float
    assert value == 3
    assert nothing == ()
    assert array.tolist() == [0, 2, 4, 6]
    assert gc.is_tracked(f(x4))


@pytest.mark.parametrize("order", [*itertools.permutations(range(3)), ((0, 1), 2), (0, (1, (2,)))])
def test_results_have_memory_of_their_own(order):
    made = function("three", ["float64[1]"], ["float64[1]"] * 3, order)(x4)
    flat = []
    for item in made:
        while isinstance(item, tuple) and len(item) == 1:
            (item,) = item
        flat += item if isinstance(item, tuple) else [item]
    flat = [a for item in flat for a in (item if isinstance(item, tuple) else [item])]
    assert len({a.ctypes.data for a in flat} | {x4.ctypes.data}) == 4
    assert [a.tolist() for a in flat] == [[0, 2, 4, 6]] * 3


@pytest.mark.parametrize(
    ("inputs", "outputs", "result"),
    [
        ([], ["float64"], ()),
        ([], ["float64"], (0, 0)),
        ([], ["float64"], 1),
        ([], ["float64"] * 2, 0),
        ([], ["complex128"], 0),
        (["complex128"], [], ()),
        (["~float32"], [], ()),
        ([], ["~int64[1]"], 0),
    ],
)
def test_what_no_call_can_hold(inputs, outputs, result):
    with pytest.raises(ValueError):
        entry.describe(0, taken(*inputs), given(*outputs), result)


@pytest.mark.parametrize("counters", [np.zeros(1), np.zeros(0, "i8"), np.zeros((1, 1), "i8"), np.zeros(4, "i8")[::2]])
def test_counters_are_a_row_of_int64(counters):
    with pytest.raises(ValueError, match="int64"):
        doubling(counters=counters)


def test_the_function_object():
    slow = Slow()
    f = runtime().builtin(address("echo"), [], given("~int64"), 0, slow, np.zeros(1, "i8"), "loss", "What it is.")
    assert f.__name__ == "loss"
    assert f.__doc__ == "What it is."
    assert f.__self__[0] is slow
    assert "loss" in repr(f)


SAVED = """
@saved = global i64 0
declare ptr @PyEval_SaveThread()
define ptr @saved_at() {
  ret ptr @saved
}
define ptr @counted_save() {
  %o = atomicrmw add ptr @saved, i64 1 monotonic
  %r = call ptr @PyEval_SaveThread()
  ret ptr %r
}
"""


def test_the_lock_is_given_up_for_large_work_alone():
    assert runtime()
    counted = load(SAVED)
    saved = number_at(counted, "saved_at")
    own, cores, _ = new_runtime(PyEval_SaveThread=counted.get_function_address("counted_save"))
    at, counters = cores.get_function_address("float64_1"), np.zeros(1, "i8")
    f = own.builtin(at, taken("float64[1]", "float64[1]"), given("float64[1]"), 0, Slow(), counters, "f")
    g = own.builtin(at, taken("float64[1]"), given("float64[1]"), 0, Slow(), counters, "g", release=3)
    most = np.ones(entry.RELEASE - 4)
    steps = [(f, (x4, x4), 0), (f, (x4, most), 0), (f, (most, np.ones(5)), 1), (g, (x4[:3],), 0), (g, (x4,), 1)]
    for function_, args, released in steps:
        saved.value = 0
        function_(*args)
        assert saved.value == released
    assert counters[0] == len(steps)


def test_other_threads_run_while_the_core_does():
    """The core waits for what another thread writes."""
    x = np.zeros(30_000, np.int64)
    x[1] = 2**36  # turns that it waits
    thread = threading.Thread(target=lambda: x.__setitem__(0, 1))
    switch = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        thread.start()
        done = function("await", ["int64[1]"], [], ())(x)
    finally:
        sys.setswitchinterval(switch)
        thread.join()
    assert done == ()


def test_threads():
    f = doubling()

    def work(number):
        x, small = np.full(40_000, float(number)), np.full(3, float(number))
        return all((f(x) == 2 * number).all() and (f(small) == 2 * number).all() for _ in range(300))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
