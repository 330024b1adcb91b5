"""The memory of results: blocks and their reuse, bounds, arrays that own them, threads, forks."""

import copy
import ctypes
import os
import pickle
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from native_cores import c_function, doubling, function, handler_name, resident, runtime, shared

from numtape.compiler.backends.llvm import capi, pool
from numtape.compiler.backends.llvm.pool_ir import HUGE, KEPT, POOLED

MB = 1 << 20


@pytest.fixture(autouse=True)
def empty():
    """The pool, empty, with the usual limit before and after."""
    own = runtime().pool
    own.limit = pool.LIMIT
    own.clear()
    yield own
    own.limit = pool.sensible_limit()
    own.clear()


@pytest.fixture(scope="module")
def alloc():
    return c_function("nt_alloc", ctypes.c_void_p, ctypes.c_int64)


@pytest.fixture(scope="module")
def free():
    return c_function("nt_free", None, ctypes.c_void_p, ctypes.c_int64)


@pytest.fixture
def lock(empty):
    """The word that is 1 while a thread is at work on the pool."""
    pointer = c_function("nt_pool_lock", ctypes.c_void_p, engine=shared()[2])()
    word = ctypes.c_int32.from_address(pointer)
    assert word.value == 0
    yield word
    word.value = 0


@pytest.mark.parametrize(
    "size", [0, 1, 7, 64, 1000, POOLED - 1, POOLED, POOLED + 1, HUGE - 1, HUGE, 5 * MB + 3, 64 * MB]
)
def test_blocks(alloc, free, size):
    first, second = alloc(size), alloc(size)
    assert first
    assert second
    assert abs(first - second) >= max(size, 1)
    for block, value in ((first, 1), (second, 2)):
        assert block % (HUGE if size >= HUGE else 64) == 0
        ctypes.memset(block, value, size)
    assert ctypes.string_at(first, size) == b"\1" * size
    assert ctypes.string_at(second, size) == b"\2" * size
    free(first, size)
    free(second, size)
    free(None, size)


@pytest.mark.parametrize("size", [-1, -(2**63), 2**46, 2**46 - 1, 2**62, 2**63 - 1])
def test_what_there_is_no_memory_for(alloc, size):
    assert alloc(size) is None


@pytest.mark.parametrize("size", [POOLED, POOLED + 1, 100_000, HUGE, 3 * MB + 5, 40 * MB])
def test_a_freed_block_is_the_next_one(empty, alloc, free, size):
    block = alloc(size)
    free(block, size)
    counters = empty.counters()
    assert counters["blocks"] == 1
    assert size <= counters["bytes"] <= 1.125 * size
    assert alloc(size) == block
    assert empty.counters() == counters | {"blocks": 0, "bytes": 0, "hits": counters["hits"] + 1}
    free(block, size)
    other = alloc(2 * size)
    assert other != block
    free(other, 2 * size)
    assert alloc(size) == block
    free(block, 0)  # whatever the size that is given
    assert empty.counters()["blocks"] == 2


def test_a_block_serves_sizes_near_its_own(alloc, free):
    block = alloc(1_000_000)
    for size in (990_000, 1_040_000, 2**20):
        free(block, 1_000_000)
        assert alloc(size) == block
    free(block, 2**20)
    other = alloc(900_000)
    assert other != block
    free(other, 900_000)


def test_small_blocks_stay_out(empty, alloc, free):
    before = empty.counters()
    free(alloc(POOLED - 1), POOLED - 1)
    assert empty.counters() == before


def test_the_newest_block_comes_first(alloc, free):
    blocks = [alloc(MB) for _ in range(5)]
    for block in blocks:
        free(block, MB)
    assert [alloc(MB) for _ in range(5)] == blocks[::-1]
    for block in blocks:
        free(block, MB)


def test_the_pool_is_bounded(empty, alloc, free):
    blocks = [alloc(POOLED) for _ in range(KEPT + 10)]
    evicted = empty.counters()["evicted"]
    for number, block in enumerate(blocks, 1):
        free(block, POOLED)
        assert empty.counters()["blocks"] == min(number, KEPT)
    assert empty.counters()["evicted"] == evicted + 10
    assert {alloc(POOLED) for _ in range(KEPT)} == set(blocks[10:])  # the oldest went
    for block in blocks[10:]:
        free(block, POOLED)
    empty.limit = 10 * MB
    assert empty.counters()["blocks"] == 0
    blocks = [alloc(size * MB) for size in (4, 3, 2, 1, 11)]
    for block, held in zip(blocks, (4, 7, 9, 10, 10), strict=True):
        free(block, 0)
        assert empty.counters()["bytes"] == held * MB
    free(alloc(7 * MB), 0)  # two must go for it
    assert empty.counters()["bytes"] == 10 * MB
    assert empty.counters()["blocks"] == 3
    empty.limit = 0
    free(alloc(MB), MB)
    assert empty.counters()["blocks"] == 0
    with pytest.raises(ValueError):
        empty.limit = -1


def test_what_is_cleared_goes_back_to_the_system(empty, alloc, free):
    blocks = [alloc(32 * MB) for _ in range(4)]
    for block in blocks:
        ctypes.memset(block, 1, 32 * MB)
        free(block, 32 * MB)
    held = resident()
    assert empty.counters()["bytes"] == 128 * MB
    empty.clear()
    assert empty.counters()["bytes"] == empty.counters()["blocks"] == 0
    assert held - resident() > 100 * MB


def test_memory_in_use_stays_flat(empty):
    f = doubling()
    arrays = [np.ones(n) for n in range(20_000, 400_000, 9_999)]
    for x in arrays:
        f(x)
    held = resident()
    for _ in range(50):
        for x in arrays:
            f(x)
    assert resident() - held < 64 * MB
    assert empty.counters()["bytes"] <= empty.limit


@pytest.mark.parametrize(("pages", "expected"), [(2**30, pool.LIMIT), (2**18, 64 * MB)])
def test_the_limit_is_less_where_memory_is(monkeypatch, pages, expected):
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": pages, "SC_PAGE_SIZE": 4096}.get)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert pool.sensible_limit() == expected


def test_the_limit_is_less_in_a_container(monkeypatch, tmp_path):
    (tmp_path / "max").write_text(f"{64 * MB}\n")
    monkeypatch.setattr(pool, "_MEMORY_FILES", (str(tmp_path / "none"), str(tmp_path / "max")))
    assert pool.sensible_limit() == 4 * MB
    (tmp_path / "max").write_text("max\n")
    assert pool.sensible_limit() > 4 * MB


def test_an_array_gives_its_memory_back_with_its_last_view(empty):
    f, x = doubling(), np.ones(40_000)
    y = f(x)
    at = y.ctypes.data
    for keep in (lambda a: a[5:], memoryview, lambda a: a.reshape(2, -1).T, lambda a: a.view("i8"), lambda a: iter(a)):
        kept = keep(y)
        del y
        y = f(x)
        assert y.ctypes.data != at
        del kept, y
        empty.clear()
        y = f(x)
        at = y.ctypes.data
    del y
    assert empty.counters()["blocks"] == 1
    assert f(x).ctypes.data == at


def test_random_lifetimes(empty):
    """Whatever lives of an array, nobody else writes into its memory."""
    rng = random.Random(1)
    f = function("float64_1", ["float64[1]"], ["float64[1]"])
    sources = {n: np.empty(n) for n in (3, 8192, 10_000, 20_000)}
    views = (
        lambda a: a,
        lambda a: a[::2],
        memoryview,
        lambda a: a.reshape(-1, 1),
        lambda a: a[:1],
        lambda a: a.T[None],
    )
    live, hits = [], empty.counters()["hits"]
    for number in range(30_000):
        x = sources[rng.choice(list(sources))]
        x[0] = number
        array = f(x)
        array[-1] = array[len(array) // 2] = 2 * number if len(array) > 3 else array[0]
        array[0] = 2 * number
        live.append((rng.choice(views)(array), 2 * number))
        del array
        while len(live) > rng.randint(1, 12):
            kept, value = live.pop(rng.randrange(len(live)))
            assert np.asarray(kept).reshape(-1)[0] == value
    starts = [np.asarray(kept).__array_interface__["data"][0] for kept, _ in live]
    assert len(set(starts)) == len(starts)
    assert empty.counters()["hits"] - hits > 10_000


@pytest.mark.parametrize("sizes", [(10, 20), (10, 5), (10, 50_000), (50_000, 10), (50_000, 60_000), (600_000, 300_000)])
def test_resize(sizes):
    old, new = sizes
    y = doubling()(np.arange(float(old)))
    y.resize(new, refcheck=False)
    expected = 2 * np.arange(float(old))
    expected.resize(new)
    np.testing.assert_array_equal(y, expected)
    assert y.flags.owndata
    assert handler_name(y) == "numtape"


@pytest.mark.filterwarnings("ignore:Setting the shape")
def test_arrays_that_are_changed_free_the_right_memory(empty):
    """Shape and dtype may be set in place: the block knows its size."""
    f = doubling()
    for _ in range(3):
        y = f(np.ones(40_000))
        y.shape = (200, 200)
        del y
        assert empty.counters()["blocks"] == 1
    y = f(np.ones(40_000)).view("i1")
    assert y.size == 320_000
    del y
    assert empty.counters()["blocks"] == 1
    y = f(np.ones(0))
    y.resize(0, refcheck=False)
    assert y.shape == (0,)


def test_copies():
    y = doubling()(np.arange(50_000.0))
    for other in (pickle.loads(pickle.dumps(y)), y.copy(), copy.copy(y), copy.deepcopy(y), np.array(y)):
        assert other.ctypes.data != y.ctypes.data
        assert handler_name(other) != "numtape"
        np.testing.assert_array_equal(other, y)
    y += 1
    assert y[:2].tolist() == [1, 3]


def test_numpy_can_use_the_handler_for_all_arrays(empty, alloc, free):
    """malloc, calloc and realloc as NumPy calls them, over memory that isn't clear."""
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(capi._table()[capi.GET_HANDLER - 1])
    before = set_handler(empty.handler)
    try:
        for size in (10, 40_000, 400_000):
            block = alloc(8 * size)
            ctypes.memset(block, 255, 8 * size)
            free(block, 8 * size)
            x = np.zeros(size)
            assert handler_name(x) == "numtape"
            assert not x.any()
            y = np.arange(float(size))
            y.resize(2 * size, refcheck=False)
            assert y[size - 1] == size - 1
            assert not y[size:].any()
        with pytest.raises(MemoryError):
            np.empty(2**44)
    finally:
        set_handler(before)
    assert handler_name(np.empty(3)) == "default_allocator"


def test_threads_without_the_lock_of_the_interpreter(empty):
    hammer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        shared()[1].get_function_address("hammer")
    )
    empty.limit = MB  # so that blocks are evicted all the time
    before = empty.counters()
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda mark: hammer(mark, 20_000), range(1, 9))) == [0] * 8
    after = empty.counters()
    assert after["bytes"] <= MB
    assert after["blocks"] <= KEPT
    assert after["hits"] - before["hits"] > 10_000
    assert after["evicted"] > before["evicted"]


def test_a_busy_pool_is_passed_by(empty, alloc, free, lock):
    block = alloc(MB)
    free(block, MB)
    before = empty.counters()
    lock.value = 1
    other = alloc(MB)
    assert other != block
    free(other, MB)
    lock.value = 0
    after = empty.counters()
    assert after == before | {"bypassed": before["bypassed"] + 2}
    assert alloc(MB) == block
    free(block, MB)


@pytest.mark.parametrize("torn", [False, True])
def test_a_child_has_a_pool_of_its_own(empty, lock, torn):
    """Also when a thread that the child doesn't have was at work on it."""
    f, x = doubling(), np.ones(40_000)
    kept = f(x)
    f(x)  # a block in the pool
    lock.value = int(torn)
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            held = empty.counters()["blocks"]
            y, z = f(3 * x), f(4 * x)
            good = (y == 6).all() and (z == 8).all() and (kept == 2).all() and lock.value == 0
            del y, z
            empty.clear()
            os.write(writing, f"{held} {good} {empty.counters()['blocks']}".encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    assert os.waitpid(child, 0)[1] == 0
    with open(reading, "rb") as pipe:
        assert pipe.read().decode() == f"{int(not torn)} True 0"
    lock.value = 0
    assert (kept == 2).all()
    assert empty.counters()["blocks"] == 1
