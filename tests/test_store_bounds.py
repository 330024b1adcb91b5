"""The store of compiled code: where it is, how large it gets, what leaves it."""

import itertools
import os
import sys
import time
from pathlib import Path

import pytest
from stored import KEY, file_of, keeps_nothing, key_of, memory_only, told

from numtape.runtime import store as module
from numtape.runtime.settings import settings
from numtape.runtime.store import HEADER, LIMIT, Store, default_store


@pytest.fixture(autouse=True)
def not_warned_yet(monkeypatch):
    monkeypatch.setattr(module, "_warned", {})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


# -- where it is -----------------------------------------------------------------------------------------------------


@pytest.fixture
def fresh(monkeypatch):
    """The default store under an environment."""

    def made(**environment):
        for name in ("NUMTAPE_CACHE_DIR", "XDG_CACHE_HOME", "NUMTAPE_BACKEND"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, str(value))
        settings.cache_clear()
        default_store.cache_clear()
        return default_store()

    yield made
    settings.cache_clear()
    default_store.cache_clear()


def test_default_location(fresh, tmp_path, monkeypatch):
    import platformdirs

    default = platformdirs.user_cache_dir("numtape", appauthor=False)
    assert fresh().directory == default and fresh(NUMTAPE_CACHE_DIR="").directory == default
    assert fresh().limit == LIMIT and default_store() is default_store()
    assert fresh(NUMTAPE_CACHE_DIR=tmp_path / "here").directory == str(tmp_path / "here")
    monkeypatch.chdir(tmp_path)
    relative = fresh(NUMTAPE_CACHE_DIR="there")
    monkeypatch.chdir("/")
    assert relative.directory == str(tmp_path / "there"), "as it was when the store was made"


@pytest.mark.skipif(sys.platform != "linux", reason="where Linux keeps caches")
def test_homes(fresh, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    assert fresh(HOME=tmp_path / "home").directory == f"{tmp_path}/home/.cache/numtape"
    assert fresh(NUMTAPE_CACHE_DIR="~/here").directory == f"{tmp_path}/home/here"
    assert fresh(XDG_CACHE_HOME=tmp_path / "xdg").directory == f"{tmp_path}/xdg/numtape"
    with memory_only("no home directory is known."):
        assert keeps_nothing(fresh(HOME=tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    import platformdirs

    def unknown(*args, **kwargs):
        raise RuntimeError("could not determine the home directory")

    for answer in (unknown, lambda *args, **kwargs: "~/.cache/numtape"):
        monkeypatch.setattr(platformdirs, "user_cache_dir", answer)
        assert fresh(HOME=tmp_path / "home").directory == ""


# -- bounds ----------------------------------------------------------------------------------------------------------


def sized(store):
    return sum(f.stat().st_size for f in Path(store.directory).iterdir())


def test_what_was_unused_longest_goes_first(tmp_path, monkeypatch):
    data = bytes(1000)
    store = Store(tmp_path, limit=8 * (HEADER.size + 1000))
    keys = [key_of(n) for n in range(9)]
    for n, key in enumerate(keys[:8]):
        store.put(key, data)
        os.utime(file_of(store, key), (1000 + n, 1000 + n))
    assert len(store.files()) == 8, "up to the limit nothing goes"
    assert store.get(keys[0]) == data, "a use counts"
    store.put(keys[8], data)
    assert {f.key for f in store.files()} == {keys[0], *keys[3:]}, "the limit, less an eighth"


def test_files_of_one_moment_go_in_order(tmp_path, monkeypatch):
    """A file system's own times can be the same for many files that are written one after the other."""
    store, clock = Store(tmp_path), itertools.count(10**18, 1000)
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    for n in range(5):
        store.put(key_of(n), b"")
    assert [file_of(store, key_of(n)).stat().st_mtime_ns - 10**18 for n in range(5)] == [0, 1000, 2000, 3000, 4000]


def test_two_at_once_make_room_once(tmp_path, monkeypatch):
    """Whatever one removes is gone already, since another process has chosen the same files."""
    store, unlink = Store(tmp_path, limit=8 * (HEADER.size + 1000)), os.unlink
    for n in range(8):
        store.put(key_of(n), bytes(1000))
    monkeypatch.setattr(os, "unlink", lambda path: (unlink(path), unlink(path)))
    store.put(KEY, bytes(1000))
    assert len(store.files()) == 7


def test_size_is_bounded(tmp_path):
    store = Store(tmp_path, limit=100_000)
    for n in range(100):
        store.put(key_of(n), bytes(n * 40))
        assert sized(store) <= store.limit
        assert store.get(key_of(n)) is not None, "what was put last is there"
    store.put(KEY, bytes(store.limit))
    assert store.get(KEY) is None and len(store.files()) > 10, "what is too large makes nothing go"
    store.put(KEY, bytes(store.limit - HEADER.size))
    assert [f.key for f in store.files()] == [KEY], "what just fits"


def test_other_processes_are_counted(tmp_path):
    """Stores that write in turn: each sees what the others wrote when it has written its share."""
    stores = [Store(tmp_path, limit=1_000_000) for _ in range(4)]
    for n in range(200):
        stores[n % 4].put(key_of(n), bytes(10_000))
    assert sized(stores[0]) <= stores[0].limit * (1 + 4 / module.SHARE)


def test_the_directory_is_listed_seldom(tmp_path, monkeypatch):
    listings = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: listings.append(path) or scandir(path))
    store = Store(tmp_path)
    for n in range(50):
        store.put(key_of(n), b"code")
        store.get(key_of(n))
    assert len(listings) == 1


def test_a_use_is_noted_once_a_minute(store, monkeypatch):
    store.put(KEY, b"code")
    now = time.time()
    for age, noted in ((50, False), (70, True), (1e6, True), (-1e6, True)):  # a clock can have been wrong
        os.utime(file_of(store), (now - age, now - age))
        store.get(KEY)
        assert (abs(file_of(store).stat().st_mtime - now) < 30) == noted
    store.verify()
    os.utime(file_of(store), (1000, 1000))
    store.verify()
    assert store.files()[0].used == 1000, "a check is no use"
    monkeypatch.setattr(os, "utime", lambda *args, **kwargs: (_ for _ in ()).throw(OSError(30, "Read-only")))
    with told():
        assert store.get(KEY) == b"code"


def test_leftovers_of_killed_writers_go(tmp_path):
    store = Store(tmp_path)
    old, new, other = tmp_path / ".begun-a1b2c3d4.code", tmp_path / ".begun-a1b2c3d5.code", tmp_path / ".begun-by-me"
    for file in (old, new, other):
        file.write_bytes(b"begun")
    for file in (old, other):
        os.utime(file, (1000, 1000))
    store.put(KEY, b"code")
    assert sorted(os.listdir(tmp_path)) == sorted([new.name, other.name, f"{KEY}.code"])
    os.utime(new, (1000, 1000))
    assert store.clear() == 2 and os.listdir(tmp_path) == [other.name]
