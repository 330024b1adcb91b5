"""The store of compiled code under many processes, threads and forks at once, and after writers that were killed."""

import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest
from stored import KEYS, LIMIT, code_of

from numtape.runtime.store import HEADER, Store

PROCESSES = 16

WORKER = """
import random, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from stored import KEYS, LIMIT, code_of
from numtape.runtime.store import Store

directory, go, number = Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
store, choose, hits = Store(directory, LIMIT), random.Random(number), 0
Path(f"{go}-{number}").touch()
while not go.exists():
    time.sleep(0.001)
for key in KEYS[:10]:  # all begin with the same files
    assert store.get(key) in (None, code_of(key))
    store.put(key, code_of(key))
for turn in range(80):
    key = choose.choice(KEYS[:60])
    match choose.choices(("get", "put", "clear", "files"), (60, 36, 1, 3))[0]:
        case "get":
            found = store.get(key)
            assert found in (None, code_of(key)), key
            hits += found is not None
        case "put":
            store.put(key, code_of(key))
        case "clear":
            store.clear()
        case "files":
            assert store.verify() == []
store.put(KEYS[number], code_of(KEYS[number]))  # the last of all is there at the end
print(hits)
"""


@pytest.mark.parametrize("state", ["empty", "full"])
def test_processes_race(state, tmp_path):
    directory, go = tmp_path / "made" / "by" / "them", tmp_path / "go"
    if state == "full":
        store, n = Store(directory, LIMIT), 60
        while sum(f.size for f in store.files(check=False)) < LIMIT * 0.95:
            store.put(KEYS[n], code_of(KEYS[n]))
            n += 1
    command = [sys.executable, "-W", "error", "-c", WORKER, str(Path(__file__).parent), str(directory), str(go)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    workers = [subprocess.Popen([*command, str(n)], **pipes) for n in range(PROCESSES)]
    while len(list(tmp_path.glob("go-*"))) < PROCESSES and all(w.poll() is None for w in workers):
        time.sleep(0.01)
    go.touch()
    said = [w.communicate(timeout=100)[0] for w in workers]
    assert [w.returncode for w in workers] == [0] * PROCESSES, "\n".join(said)
    assert sum(map(int, said)) > 0, "some were found"
    names = os.listdir(directory)
    assert any(f"{key}.code" in names for key in KEYS[:PROCESSES])
    assert not [n for n in names if n.startswith(".begun")]
    sizes = [(directory / n).stat().st_size for n in names]
    assert sum(sizes) <= LIMIT * (1 + PROCESSES / 32) + max(sizes)
    assert Store(directory).verify() == []


KILLING = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from stored import KEYS
from numtape.runtime.store import Store

store = Store(sys.argv[2])
for n in range(60):
    child = os.fork()
    if child == 0:
        while True:
            for k in range(5):
                store.put(KEYS[k], bytes([k]) * 300_000)
    time.sleep(n * 0.0005)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert store.verify() == []
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_killed_writers(tmp_path):
    """Their files are whole or not there; what they had begun goes when it is old."""
    command = [sys.executable, "-W", "error", "-c", KILLING, str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    store, begun = Store(tmp_path), list(tmp_path.glob(".begun-*"))
    assert store.files() and begun, "some were killed in the middle"
    for key in KEYS[:5]:
        assert store.get(key) in (None, bytes([KEYS.index(key)]) * 300_000)
    for file in begun:
        os.utime(file, (1000, 1000))
    store.put(KEYS[9], b"")
    assert not list(tmp_path.glob(".begun-*"))


def test_threads(tmp_path):
    store, wrong = Store(tmp_path, LIMIT), []

    def work(first):
        for n in range(first, first + 40):
            key = KEYS[n % 50]
            store.put(key, code_of(key))
            if store.get(key) not in (None, code_of(key)):
                wrong.append(key)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=work, args=(7 * n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong and store.verify() == []
    assert sum(f.size for f in store.files()) <= LIMIT + 8 * max(map(len, map(code_of, KEYS)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_forks(tmp_path):
    """Children that are forked while a thread is in the store find it usable."""
    code = """if True:
        import os, sys, threading
        sys.path.insert(0, sys.argv[1])
        from stored import KEYS, code_of
        from numtape.runtime.store import Store
        store, done = Store(sys.argv[2]), threading.Event()

        def work():
            while not done.is_set():
                store.put(KEYS[0], code_of(KEYS[0]))

        thread = threading.Thread(target=work)
        thread.start()
        codes = []
        for key in KEYS[1:20]:
            child = os.fork()
            if child == 0:
                store.put(key, code_of(key))
                os._exit(0 if store.get(key) == code_of(key) else 1)
            codes.append(os.waitpid(child, 0)[1])
        done.set()
        thread.join()
        print(*codes)
    """
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, "0 " * 18 + "0\n"), done.stderr
    assert {f.key for f in Store(tmp_path).files()} == set(KEYS[:20])


def test_codes_have_lengths_of_their_own():
    """The races above would miss a mix of two files if all were alike."""
    lengths = [len(code_of(key)) for key in KEYS[:60]]
    assert len(set(lengths)) == 60 and HEADER.size + max(lengths) < LIMIT // 10 < sum(lengths)
