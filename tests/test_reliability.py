"""Compiled functions when things go wrong: many processes at once, killed writers, damaged files, other machines."""

import gc
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from native_cores import resident
from stored import told

import numtape as nt
from numtape.compiler.backends.llvm import target
from numtape.compiler.backends.llvm.engine import Engine, engine
from numtape.runtime import settings as settings_module
from numtape.runtime import store as store_module
from numtape.runtime.build import chosen
from numtape.runtime.store import HEADER, Store, default_store

pytestmark = pytest.mark.skipif(chosen() != "llvm", reason="machine code is stored by the back end llvm")

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "full"
PROCESSES = 16
x4 = np.arange(1.0, 5.0)

WORKER = """
import json, sys, time
from pathlib import Path
go = Path(sys.argv[1])
Path(f"{go}-{sys.argv[2]}").touch()
while not go.exists():
    time.sleep(0.001)
import numpy as np
import numtape as nt

x = np.arange(1.0, 5.0)
chain = nt.jit(lambda x: np.sum(np.exp(-x) * np.sin(x)))
slope = nt.value_and_grad(lambda w, x: np.mean((x * w - 1.0) ** 2))
picked = nt.jit(lambda x, k: np.sort(x[k]) + np.float32(1))
for turn in range(3):
    assert np.isclose(chain(x), np.sum(np.exp(-x) * np.sin(x)), rtol=1e-14)
    value, gradient = slope(x, x)
    assert np.isclose(value, np.mean((x * x - 1) ** 2), rtol=1e-14)
    assert np.allclose(gradient, 2 * (x * x - 1) * x / 4, rtol=1e-14)
    assert picked(x, np.array([2, 0, -1])).tolist() == [2.0, 4.0, 5.0]
stats = [f.stats for f in (chain, slope, picked)]
heavy = [name for name in ("numba", "scipy") if name in sys.modules]
print(json.dumps([sum(s.compiles for s in stats), sum(s.disk_hits for s in stats), heavy]))
"""


def environment(directory):
    return os.environ | {"NUMTAPE_CACHE_DIR": str(directory)}


def race(directory, tmp_path, count=PROCESSES):
    """What processes report that all begin at the same moment."""
    go = tmp_path / f"go{time.time_ns()}"
    command = [sys.executable, "-W", "error", "-c", WORKER, str(go)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment(directory)}
    workers = [subprocess.Popen([*command, str(n)], **pipes) for n in range(count)]
    while len(list(tmp_path.glob(f"{go.name}-*"))) < count and all(w.poll() is None for w in workers):
        time.sleep(0.005)
    go.touch()
    said = [w.communicate(timeout=300) for w in workers]
    assert [(w.returncode, err) for w, (_, err) in zip(workers, said, strict=True)] == [(0, "")] * count
    return [json.loads(out) for out, _ in said]


def test_processes_start_at_once(tmp_path):
    """On an empty store, and on the full one that they leave behind, which spares all of them the compiler."""
    directory = tmp_path / "store"
    for compiles, hits, heavy in race(directory, tmp_path):
        assert compiles + hits == 3 and heavy == []
    assert Store(directory).files() and Store(directory).verify() == []
    assert not list(directory.glob(".begun*"))
    assert race(directory, tmp_path) == [[0, 3, []]] * PROCESSES
    assert Store(directory).verify() == []


def test_writers_killed_at_any_point(tmp_path):
    """Whoever comes next has the right values, without a word."""
    directory = tmp_path / "store"
    command = [sys.executable, "-W", "error", "-c", WORKER, str(tmp_path)]  # this `go` is there from the start
    pick = random.Random(5)
    for turn in range(30 if FULL else 8):
        if turn % 4 == 0:
            Store(directory).clear()
        writer = subprocess.Popen([*command, "killed"], env=environment(directory), stdout=subprocess.PIPE)
        end, known = time.monotonic() + 60, len(list(directory.glob("*")))
        while time.monotonic() < end and writer.poll() is None and len(list(directory.glob("*"))) == known:
            time.sleep(0.0005)  # its first file is begun: kill it soon
        time.sleep(pick.random() * 0.1)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        assert Store(directory).verify() == []
    ((compiles, hits, heavy),) = race(directory, tmp_path, 1)
    assert compiles + hits == 3 and heavy == []
    assert race(directory, tmp_path, 1) == [[0, 3, []]]


# -- within this process ----------------------------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty store of this process, told anew what it may warn of."""
    return use(tmp_path / "store", monkeypatch)


def use(directory, monkeypatch):
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(directory))
    monkeypatch.setattr(store_module, "_warned", {})
    for cached in (settings_module.settings, default_store):
        cached.cache_clear()
    return default_store()


@pytest.fixture(autouse=True)
def restored():
    yield
    for cached in (settings_module.settings, default_store):
        cached.cache_clear()
    engine().store = None


def fresh():
    """A function that has no entries yet, and its value for `x4`."""
    f = nt.jit(lambda x: np.sum(np.tanh(x) * x), on_retrace="ignore")  # it is cleared and traced again and again
    f.clear_cache()
    return f, np.sum(np.tanh(x4) * x4)


def right(f, value):
    np.testing.assert_allclose([f(x4) for _ in range(3)], [value] * 3, rtol=1e-14)
    return f.stats.compiles, f.stats.disk_hits


def test_found_again(store):
    with told():
        assert right(*fresh()) == (1, 0)
        assert right(*fresh()) == (0, 1)


def program(store):
    """The one file that `fresh` leaves; vector math stays loaded, and has its own."""
    right(*fresh())
    store.clear()
    right(*fresh())
    (key,) = {f.key for f in store.files()}
    return Path(store.directory, f"{key}.code")


def places(length):
    """Bytes of a file: its header's parts, the beginning and the end of the code, and some between."""
    fixed = [0, 14, 15, 16, 78, 79, 110, 111, 118, 119, 120, HEADER.size + 63, length // 2, length - 2, length - 1]
    return fixed + [random.Random(length).randrange(length) for _ in range(200 if FULL else 12)]


@pytest.mark.parametrize("damage", ["cut", "flipped", "longer"])
def test_damaged_files(damage, store, monkeypatch):
    file = program(store)
    sound = file.read_bytes()
    for place in places(len(sound)):
        bit = 1 << place % 8
        changed = {
            "cut": sound[:place],
            "flipped": sound[:place] + bytes([sound[place] ^ bit]) + sound[place + 1 :],
            "longer": sound + sound[: place + 1],
        }[damage]
        file.write_bytes(changed)
        monkeypatch.setattr(store_module, "_warned", {})
        with told("a file of compiled code was damaged and is made anew"):
            assert right(*fresh()) == (1, 0)
        with told():
            assert right(*fresh()) == (0, 1)
        assert file.read_bytes() == sound, "the same code was compiled"


def test_many_damaged_files_are_one_warning(store):
    with told():
        file = program(store)
    with told("a file of compiled code was damaged and is made anew"):
        for _ in range(3):
            file.write_bytes(file.read_bytes()[:-1])
            assert right(*fresh()) == (1, 0)


def test_the_first_call_of_eight_threads_is_one_compilation(store):
    for _ in range(10 if FULL else 3):
        f, value = fresh()
        barrier, found = threading.Barrier(8), []

        def call(f=f, barrier=barrier, found=found):
            barrier.wait()
            found.append(f(x4))

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_allclose(found, [value] * 8, rtol=1e-14)
        stats = f.stats
        assert (stats.traces, stats.compiles + stats.disk_hits, stats.calls, stats.hits) == (1, 1, 8, 7)


@pytest.mark.parametrize("home", ["missing", "a file", "for all", "locked"])
def test_a_store_that_cannot_be_used(home, tmp_path, monkeypatch):
    place = tmp_path / "home"
    match home:
        case "missing":
            place = Path("/proc/there/is/none")
        case "a file":
            place.write_text("")
        case "for all":
            place.mkdir()
            place.chmod(0o777)
        case "locked":
            if os.geteuid() == 0:
                pytest.skip("root can write everywhere")
            place.mkdir()
            place.chmod(0o500)
    use(place, monkeypatch)
    with told("compiled code is kept in memory only"):
        assert right(*fresh()) == (1, 0)
        assert right(*fresh()) == (1, 0)
    assert not place.is_dir() or not list(place.iterdir())


def test_no_home_directory(tmp_path):
    code = "import numpy as np, numtape as nt; print(nt.jit(lambda x: x * 2 + 1)(np.ones(2)))"
    gone = {"HOME": str(tmp_path / "gone"), "NUMTAPE_CACHE_DIR": "", "XDG_CACHE_HOME": ""}
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | gone, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[3. 3.]\n")
    assert done.stderr.count("RuntimeWarning") == 1 and "kept in memory only" in done.stderr
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("what", ["llvmlite", "LLVM", "NumPy", "processor", "features", "our code"])
def test_code_of_another_machine_or_version_is_not_found(what, store, monkeypatch):
    import llvmlite
    import llvmlite.binding as llvm

    assert right(*fresh()) == (1, 0)
    mine = target.fingerprint()
    with monkeypatch.context() as patch:
        match what:
            case "llvmlite":
                patch.setattr(llvmlite, "__version__", "0.1.0")
            case "LLVM":
                patch.setattr(llvm, "llvm_version_info", (14, 0, 6))
            case "NumPy":
                patch.setattr(np, "__version__", "2.0.0")
            case "processor":
                patch.setattr(llvm, "get_host_cpu_name", lambda: "another")
            case "features":
                patch.setattr(target, "features", lambda: "+none")
            case "our code":
                patch.setattr(target, "EMITTED", target.EMITTED + 1)
        target.fingerprint.cache_clear()
        try:
            assert target.fingerprint() != mine
            assert right(*fresh()) == (1, 0)
            assert right(*fresh()) == (0, 1)
        finally:
            target.fingerprint.cache_clear()
    assert right(*fresh()) == (0, 1), "what was here is still here"


def test_a_compiler_that_fails_leaves_the_next_call_as_it_was(store, monkeypatch):
    """Locks are given back, and nothing that is half made is found."""
    f, value = fresh()
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "load", lambda *args: (_ for _ in ()).throw(MemoryError("no room")))
        for _ in range(2):
            with pytest.raises(MemoryError, match="no room"):
                f(x4)
    assert f.stats.entries == 0 and right(f, value) == (1, 0)


# -- errors -----------------------------------------------------------------------------------------------------------

FAILING = {
    "an index out of range": (lambda x, k: np.sum(x[k]) + x * 2, (x4, np.array([1])), (x4, np.array([9])), IndexError),
    "shapes": (lambda x, y: x + y, (x4, x4), (x4, np.ones(3)), ValueError),
    "the maximum of nothing": (lambda x: np.max(x) + x, (x4,), (np.ones(0),), ValueError),
    "no memory": (lambda x, n: np.sum(x) + np.zeros((n, n, 8)), (x4, 1), (x4, 10**8), MemoryError),
    "a power": (lambda x, k: x**k, (np.arange(4), np.array(2)), (np.arange(4), np.array(-1)), ValueError),
    "a dtype": (lambda x: x * 2, (x4,), (np.array(["a"]),), TypeError),
    "arguments": (lambda x: x * 2, (x4,), (x4, x4), TypeError),
}


@pytest.mark.parametrize("what", FAILING)
def test_references_and_memory_on_error_paths(what):
    body, good, bad, error = FAILING[what]
    f = nt.jit(body, on_retrace="ignore")
    f.clear_cache()
    for _ in range(3):
        f(*good)

    def fail():
        with warnings.catch_warnings(), pytest.raises(error):
            warnings.simplefilter("ignore")
            f(*bad)

    for _ in range(40):
        fail()
    held = [*good, *bad, f, f._function, f.__call__, np.dtype("f8"), np.dtype("i8"), np.float64, None, ()]
    gc.collect()  # the frames of a traceback hold the exception that holds it
    before, taken = [sys.getrefcount(h) for h in held], resident()
    for _ in range(5000 if FULL else 200):
        fail()
    gc.collect()
    after = [sys.getrefcount(h) for h in held]
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) < 10
    assert resident() - taken < 1 << 20
    f(*good)
