"""The commands `numtape cache`: what they print, and their exit codes."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numtape.runtime.cli import app
from numtape.runtime.settings import settings
from numtape.runtime.store import HEADER, Store, default_store

KEYS = [hashlib.sha256(name.encode()).hexdigest() for name in ("old", "middle", "new")]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path / "kept here"))
    monkeypatch.setenv("COLUMNS", "100")
    for cached in (settings, default_store):
        cached.cache_clear()
    yield default_store()
    for cached in (settings, default_store):
        cached.cache_clear()


@pytest.fixture
def filled(store):
    for n, key in enumerate(KEYS):
        store.put(key, bytes(2000 * n))
        os.utime(file_of(store, key), (n * 1e6, n * 1e6))
    return store


def file_of(store, key):
    return Path(store.directory, f"{key}.code")


def cache(*args):
    done = CliRunner().invoke(app, ["cache", *args], catch_exceptions=False)
    return done.exit_code, done.stdout.splitlines(), done.stderr.splitlines()


def test_an_empty_store(store):
    assert cache("ls") == (0, [f"{store.directory}: 0 files, 0 bytes of at most 512.0 MB"], [])
    assert cache("verify") == (0, [f"{store.directory}: 0 files, 0 bytes, none damaged"], [])
    assert cache("clear") == (0, [f"{store.directory}: removed 0 files, 0 bytes"], [])
    assert not os.path.exists(store.directory)


def test_ls(filled):
    code, lines, errors = cache("ls")
    assert (code, errors) == (0, [])
    assert lines[0] == f"{filled.directory}: 3 files, 6.4 kB of at most 512.0 MB"
    rows = [[c.strip() for c in re.split("[│┃]", line)[1:-1]] for line in lines[1:] if line[0] in "│┃"]
    assert rows[0] == ["key", "size", "last use"]
    assert [r[0] for r in rows[1:]] == [k[:16] for k in reversed(KEYS)], "used last first"
    assert [r[1] for r in rows[1:]] == ["4.1 kB", "2.1 kB", f"{HEADER.size} bytes"]
    assert re.fullmatch(r"1970-01-2[34] \d\d:\d\d:\d\d", rows[1][2])  # 2,000,000 s, in local time


def test_verify(filled):
    assert cache("verify") == (0, [f"{filled.directory}: 3 files, 6.4 kB, none damaged"], [])
    file_of(filled, KEYS[0]).write_bytes(b"")
    file_of(filled, KEYS[1]).write_bytes(bytes(500))
    lines = [
        f"{KEYS[0][:16]} is cut off",
        f"{KEYS[1][:16]} does not begin as it should",
        f"{filled.directory}: 3 files, 4.6 kB, 2 damaged",
    ]
    assert sorted(cache("verify")[1]) == sorted(lines) and cache("verify")[0] == 1, "and again: a check changes nothing"
    assert filled.get(KEYS[2]) == bytes(4000)


def test_clear(filled, monkeypatch):
    Path(filled.directory, "notes.txt").write_text("")
    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", lambda path: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
        nothing, stuck = (
            f"{filled.directory}: removed 0 files, 0 bytes",
            "numtape: 3 files, 6.4 kB could not be removed",
        )
        assert cache("clear") == (1, [nothing], [stuck])
    assert cache("clear") == (0, [f"{filled.directory}: removed 3 files, 6.4 kB"], [])
    assert os.listdir(filled.directory) == ["notes.txt"]
    filled.put(KEYS[0], b"")
    assert cache("clear") == (0, [f"{filled.directory}: removed 1 file, {HEADER.size} bytes"], [])


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and modes of files are POSIX")
@pytest.mark.parametrize("command", ["ls", "verify", "clear"])
def test_a_directory_that_is_not_used(filled, command):
    os.chmod(filled.directory, 0o777)
    said = f"numtape: no code is stored: {filled.directory} can be written to by other users"
    assert cache(command) == (1, [], [said])
    assert len(os.listdir(filled.directory)) == 3


def test_the_command_itself(tmp_path):
    Store(tmp_path).put(KEYS[0], b"code")
    command = [sys.executable, "-m", "numtape.runtime.cli", "cache"]
    environment = {**os.environ, "NUMTAPE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([*command, "verify"], env=environment, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path}: 1 file, {HEADER.size + 4} bytes, none damaged\n"
    done = subprocess.run([*command, "none-such"], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 2
    done = subprocess.run([*command, "--help"], env=environment, capture_output=True, text=True, timeout=100)
    assert "1 a file is damaged" in " ".join(done.stdout.split())
