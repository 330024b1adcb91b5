"""The store of compiled code: nothing unverified is loaded, nothing is raised at the user."""

import os
import shutil
import tempfile
import threading
import time
import warnings
from pathlib import Path

import pytest
from stored import KEY, OTHER, file_of, keeps_nothing, memory_only, told

from numtape.runtime import store as module
from numtape.runtime.store import HEADER, Store

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of files are POSIX")


@pytest.fixture(autouse=True)
def not_warned_yet(monkeypatch):
    monkeypatch.setattr(module, "_warned", {})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


# -- what is kept ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"code", os.urandom(100_000), bytearray(b"code")], ids=len)
def test_gives_back_what_was_put(store, data):
    with told():
        assert store.get(KEY) is None
        store.put(KEY, data)
        assert store.get(KEY) == data and type(store.get(KEY)) is bytes
        assert store.get(OTHER) is None
        assert Store(store.directory).get(KEY) == data, "another process finds it too"
    assert os.listdir(store.directory) == [f"{KEY}.code"]
    assert file_of(store).stat().st_size == HEADER.size + len(data)


def test_reading_makes_nothing(store):
    assert store.get(KEY) is None and store.files() == [] and store.verify() == [] and store.clear() == 0
    assert store.trouble() == "" and not os.path.exists(store.directory)


def test_keys_are_hashes(store):
    for key in ("", "ab", "../" * 20 + "abcd", KEY.upper(), KEY + "\n", "g" * 64):
        for call in (store.get, lambda k: store.put(k, b"")):
            with pytest.raises(ValueError, match="a key is a sha256 in lower-case hexadecimal"):
                call(key)


def test_listing(store, tmp_path):
    before = time.time()
    for key, data in ((KEY, b"12345"), (OTHER, b"")):
        store.put(key, data)
    file_of(store).write_bytes(file_of(store).read_bytes()[:-1] + b"6")
    Path(store.directory, "notes.txt").write_text("not ours")
    os.utime(file_of(store, OTHER), (1000, 1000))
    first, second = store.files()
    assert first[:2] == (KEY, HEADER.size + 5) and before - 1 < first.used < time.time() + 1
    assert first.defect == "has changed since it was written"
    assert second == (OTHER, HEADER.size, 1000, "")
    assert [f.defect for f in store.files(check=False)] == ["", ""]
    assert store.verify() == [first] and store.verify() == [first], "a check changes nothing"
    assert store.clear() == 2 and store.files() == []
    assert os.listdir(store.directory) == ["notes.txt"]


# -- damage ----------------------------------------------------------------------------------------------------------


def damaged(store, content):
    """Whether a file with this content is a miss and is removed."""
    file_of(store).write_bytes(content)
    return len(store.verify()) == 1 and store.get(KEY) is None and not file_of(store).exists()


def test_every_cut_and_every_flip_is_seen(store):
    store.put(KEY, b"compiled code")
    sound = file_of(store).read_bytes()
    with told("a file of compiled code was damaged and is made anew: "):
        for length in range(len(sound)):
            assert damaged(store, sound[:length]), length
        for place in range(len(sound)):
            for bits in (1, 0x80, 0xFF):
                changed = bytes([sound[place] ^ bits])
                assert damaged(store, sound[:place] + changed + sound[place + 1 :]), place
        assert damaged(store, sound + b"\0") and damaged(store, sound + sound) and damaged(store, b"\0" * len(sound))
        file_of(store).write_bytes(sound)
        assert store.get(KEY) == b"compiled code" and store.verify() == []


def test_a_false_length_takes_no_memory(store):
    """The file says 2**60 bytes follow; reading them would raise MemoryError."""
    store.put(KEY, b"code")
    sound = file_of(store).read_bytes()
    with told(f"{file_of(store)} has another length than it should"):
        assert damaged(store, sound[: HEADER.size - 8] + (2**60).to_bytes(8, "little") + sound[HEADER.size :])


def test_a_renamed_file_is_damaged(store):
    store.put(OTHER, b"code of another program")
    os.rename(file_of(store, OTHER), file_of(store))
    with told(f"{file_of(store)} belongs to another key"):
        assert store.get(KEY) is None


def make_directory(path):
    (path / "full").mkdir(parents=True)


def make_link(path):
    other = path.parent.parent / "kept"
    shutil.copy(path, other)
    path.unlink()
    path.symlink_to(other)


def make_dangling(path):
    path.unlink()
    path.symlink_to("nowhere")


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)  # whoever opens it the usual way waits for a writer


@posix
@pytest.mark.parametrize("make", [make_directory, make_link, make_dangling, make_pipe])
def test_something_else_in_a_files_place(store, make):
    store.put(KEY, b"code")
    if make is make_directory:
        file_of(store).unlink()
    make(file_of(store))
    assert [f.key for f in store.verify()] == [KEY]
    with told("a file of compiled code was damaged"):
        assert store.get(KEY) is None
        assert not os.path.lexists(file_of(store))
    make_directory(file_of(store))
    with told():
        store.put(KEY, b"new")
        assert store.get(KEY) == b"new"
    if make is make_link:
        assert Path(store.directory).with_name("kept").exists(), "a link is removed, not what it leads to"


@posix
def test_a_file_that_others_can_write_is_damaged(store, monkeypatch):
    store.put(KEY, b"code")
    file_of(store).chmod(0o602)
    with told(f"{file_of(store)} can be written to by other users"):
        assert store.get(KEY) is None and not file_of(store).exists()


def test_one_warning_in_a_process(store):
    with told("a file of compiled code was damaged"):
        for _ in range(3):
            store.put(KEY, b"code")
            file_of(store).write_bytes(b"")
            threads = [threading.Thread(target=store.get, args=(KEY,)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


def test_warnings_can_be_errors(store):
    store.put(KEY, b"code")
    file_of(store).write_bytes(b"")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="numtape cache verify"):
            store.get(KEY)
    assert not file_of(store).exists()


# -- directories that can't be used ----------------------------------------------------------------------------------


@posix
def test_directories_are_private(tmp_path):
    before = os.umask(0)
    try:
        Store(tmp_path / "a" / "b").put(KEY, b"")
    finally:
        os.umask(before)
    modes = {p.relative_to(tmp_path).as_posix(): p.stat().st_mode & 0o777 for p in tmp_path.rglob("*")}
    assert modes == {"a": 0o700, "a/b": 0o700, f"a/b/{KEY}.code": 0o600}


@posix
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_directory_that_others_can_write(store, mode):
    store.put(KEY, b"code")
    os.chmod(store.directory, mode)
    with memory_only(f"{store.directory} can be written to by other users."):
        assert keeps_nothing(store)
    os.chmod(store.directory, 0o755)
    assert store.get(KEY) == b"code", "nothing was removed"


@posix
def test_a_directory_of_somebody_else(store, monkeypatch):
    store.put(KEY, b"code")
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with memory_only(f"{store.directory} belongs to another user."):
        assert keeps_nothing(store)


@posix
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="gives files away, which only root can")
def test_what_was_given_away(store):
    for key in (KEY, OTHER):
        store.put(key, b"code")
    os.chown(file_of(store), 12345, -1)
    with told(f"{file_of(store)} belongs to another user"):
        assert store.get(KEY) is None and store.get(OTHER) == b"code"
    link = store.directory + "-link"
    os.symlink(store.directory, link)
    assert Store(link).get(OTHER) == b"code", "a link of our own to a directory of our own"
    os.chown(link, 12345, -1, follow_symlinks=False)
    with memory_only(f"{link} belongs to another user."):
        assert keeps_nothing(Store(link))


@posix
def test_a_link_to_a_directory(store):
    link = Path(store.directory + "-link")
    link.symlink_to(store.directory)
    with memory_only(f"{link}: No such file or directory."):
        assert keeps_nothing(Store(link))
    os.mkdir(store.directory, 0o700)
    with told():
        Store(link).put(KEY, b"code")
    assert store.get(KEY) == b"code"


@pytest.mark.parametrize("below", ["", "/below", "/far/below"])
def test_a_file_in_the_directorys_place(tmp_path, below):
    (tmp_path / "file").write_text("mine")
    with told("compiled code is kept in memory only: "):
        assert keeps_nothing(Store(f"{tmp_path}/file{below}"))
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "owner, name, number",
    [
        (tempfile, "mkstemp", 30),  # read-only
        (os, "mkdir", 13),
        (os, "fsync", 28),  # disk full
        (os, "replace", 5),
        (os, "open", 24),  # too many open files
    ],
)
def test_system_errors_are_never_raised(store, monkeypatch, owner, name, number):
    def fail(*args, **kwargs):
        raise OSError(number, os.strerror(number), "some-file")

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        with memory_only(f"some-file: {os.strerror(number)}.\nTo keep it on disk, set NUMTAPE_CACHE_DIR to"):
            store.put(KEY, b"code")
            store.put(OTHER, b"code")
            assert store.get(KEY) is None
    assert not os.path.exists(store.directory) or os.listdir(store.directory) == []
    store.put(KEY, b"code")
    assert store.get(KEY) == b"code", "tried again: a disk that was full may have room by now"


def test_a_file_that_cannot_be_read_stays(store, monkeypatch):
    store.put(KEY, b"code")
    with monkeypatch.context() as patch, memory_only(f"{store.directory}: Input/output error."):
        patch.setattr(os, "fstat", lambda handle: (_ for _ in ()).throw(OSError(5, os.strerror(5))))
        assert store.get(KEY) is None
        assert store.verify()[0].defect == "can't be read: Input/output error"
    assert store.get(KEY) == b"code"


def test_a_file_that_is_open_is_not_replaced(store, monkeypatch):
    """As on Windows, where two processes that compile the same program meet."""

    def fail(*args):
        raise PermissionError(13, "Permission denied")

    store.put(KEY, b"code")
    monkeypatch.setattr(os, "replace", fail)
    with told():
        store.put(KEY, b"code")
    with memory_only(f"{store.directory}: Permission denied."):
        store.put(OTHER, b"code")
    assert os.listdir(store.directory) == [f"{KEY}.code"]


def test_interrupts_are_passed_on(store, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    store.put(KEY, b"code")
    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.put(KEY, b"code")
    assert os.listdir(store.directory) == [f"{KEY}.code"]


def test_without_users_nothing_is_asked_about_them(store, monkeypatch):
    monkeypatch.delattr(os, "geteuid", raising=False)
    os.mkdir(store.directory)
    os.chmod(store.directory, 0o777)
    store.put(KEY, b"code")
    assert store.get(KEY) == b"code"
