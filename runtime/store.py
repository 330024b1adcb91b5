"""The store of compiled code on disk: loads what it has verified, or nothing; keeps its size; never fails at the user.

A file is named by its key and holds a header (magic line, key, sha256 and length of what follows) and the code. It is
written beside its place and moved there, so a reader meets a whole file or none. No locks: every race between
processes ends in a miss at worst, and nothing is held when a process forks.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import struct
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ..tracer.errors import layout
from .settings import settings

LIMIT = 512_000_000  # bytes
TOUCH_SECONDS = 60  # uses of a file are noted no more often than that
LEFTOVER_SECONDS = 600  # a file that was begun so long ago has lost its writer
# Other processes' files are seen when the directory is listed, at the latest after this part of the limit was written.
SHARE = 32

MAGIC = b"numtape code 1\n"
HEADER = struct.Struct(f"<{len(MAGIC)}s64s32sQ")  # magic, key, sha256, length
KEY = re.compile("[0-9a-f]{64}")
NAME = re.compile(r"([0-9a-f]{64})\.code")
BEGUN = re.compile(r"\.begun-\w+\.code")
# NONBLOCK: a pipe in a file's place must not be waited for
READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)

_warned: dict[str, object] = {}


class Stored(NamedTuple):
    """A file of the store: its key, size in bytes, time of last use, and what is wrong with it ("" if nothing is)."""

    key: str
    size: int
    used: float
    defect: str


class Store:
    """Compiled code in a directory of at most `limit` bytes; a key is the sha256 of all that the code depends on.

    Without a usable directory it finds nothing and keeps nothing, and warns once per process.
    """

    def __init__(self, directory: str | os.PathLike[str], limit: int = LIMIT) -> None:
        self.directory = os.fspath(directory)
        self.limit = limit
        with contextlib.suppress(OSError):  # where the working directory is gone, using the path fails and is told then
            self.directory = self.directory and os.path.abspath(self.directory)
        # Bytes in the directory when it was listed last (below 0: never), and written by this process since. Threads
        # that lose an addition to each other overshoot by a file; a lock would have to survive a fork.
        self._listed = -1
        self._added = 0

    def get(self, key: str) -> bytes | None:
        """The code stored under a key, verified; None where there is none, or none that can be trusted."""
        path = self._path(key)
        try:
            if not self._ready():
                return None
            data, defect = _read(path, key)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._unusable(error)
            return None
        if defect:
            # if another process has just put a sound file here, that one is lost, which costs one compilation
            _remove(path)
            what = f"a file of compiled code was damaged and is made anew: {path} {defect}"
            _warn("defect", what, "If it happens again, look after the disk: numtape cache verify")
            return None
        with contextlib.suppress(OSError):  # removed by now, or the disk is read-only
            if abs(time.time() - os.stat(path).st_mtime) > TOUCH_SECONDS:
                _touch(path)
        return data

    def put(self, key: str, data: bytes) -> None:
        """Store code under a key. What is larger than the limit is left out; what was unused longest makes room."""
        path, size = self._path(key), HEADER.size + len(data)
        if size > self.limit:
            return
        try:
            self._ready(make=True)
            self._write(path, key, data)
            self._make_room(path, size)
        except OSError as error:
            self._unusable(error)

    def files(self, check: bool = True) -> list[Stored]:
        """All files, those used last first; each is read and verified, unless `check` is False."""
        found = []
        for path, status, key in self._scan():
            try:
                defect = _read(path, key)[1] if key and check else ""
            except FileNotFoundError:  # removed by another process
                continue
            except OSError as error:
                defect = f"can't be read: {error.strerror}"
            if key:
                found.append(Stored(key, status.st_size, status.st_mtime, defect))
        return sorted(found, key=lambda f: (-f.used, f.key))

    def verify(self) -> list[Stored]:
        """Read every file; those with a defect. They are left where they are, and never loaded."""
        return [f for f in self.files() if f.defect]

    def clear(self) -> int:
        """Remove all files, except those being written at this moment; how many are gone."""
        gone = 0
        for path, status, key in self._scan():
            if key or _left(status):
                gone += _remove(path)
        self._listed = -1
        return gone

    def trouble(self) -> str:
        """Why the directory can't be used; "" if it can be, or could be made."""
        try:
            self._ready()
        except OSError as error:
            return _reason(error, self.directory)
        return ""

    def _path(self, key: str) -> str:
        if not KEY.fullmatch(key):
            raise ValueError(f"a key is a sha256 in lower-case hexadecimal, not {key!r}")
        return os.path.join(self.directory, f"{key}.code")

    def _ready(self, make: bool = False) -> bool:
        """Is the directory there? OSError where it can't be used, or where somebody else could write to it."""
        if not self.directory:
            raise NotADirectoryError("no home directory is known")
        if make:
            _make(self.directory)
        try:
            status = os.lstat(self.directory)
        except FileNotFoundError:
            return False
        foreign = ""
        if stat.S_ISLNK(status.st_mode):
            foreign = _foreign(status, writable=0)  # its owner can turn it to any directory of ours
            status = os.stat(self.directory)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(f"{self.directory} is not a directory")
        if foreign := foreign or _foreign(status):
            raise PermissionError(f"{self.directory} {foreign}")
        return True

    def _write(self, path: str, key: str, data: bytes) -> None:
        handle, begun = tempfile.mkstemp(prefix=".begun-", suffix=".code", dir=self.directory)  # readable by us alone
        try:
            with open(handle, "wb") as file:
                file.write(HEADER.pack(MAGIC, key.encode(), hashlib.sha256(data).digest(), len(data)))
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            _touch(begun)
            if os.path.isdir(path):
                _remove(path)  # os.replace takes no directory's place
            os.replace(begun, path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(begun)
            # Windows replaces no file that is open; what its reader found is what we have
            if not isinstance(error, PermissionError) or not _sound(path, key):
                raise

    def _make_room(self, path: str, size: int) -> None:
        """Remove what was unused longest, if a file that was just written takes the sum above the limit."""
        self._added += size
        if 0 <= self._listed <= self.limit - self._added and self._added <= self.limit // SHARE:
            return
        total, others = 0, []
        for other, status, key in self._scan():
            if not key and _left(status) and _remove(other):
                continue
            total += status.st_size
            if key and other != path:
                others.append((status.st_mtime_ns, status.st_size, other))
        if total > self.limit:
            # an eighth more than needed, or every put into a full store would list it
            for _, freed, victim in sorted(others):
                if total <= self.limit - self.limit // 8:
                    break
                # what another process has removed counts too, or several at once would empty the store
                total -= freed * _remove(victim)
        self._listed, self._added = total, 0

    def _scan(self) -> Iterator[tuple[str, os.stat_result, str]]:
        """The paths of our files and their keys, "" for one that was begun only; passes over what isn't ours."""
        entries: list[os.DirEntry[str]] = []
        with contextlib.suppress(OSError):  # `trouble` tells
            if self._ready():
                with os.scandir(self.directory) as listing:
                    entries = list(listing)
        for entry in entries:
            named = NAME.fullmatch(entry.name)
            if named or BEGUN.fullmatch(entry.name):
                with contextlib.suppress(OSError):  # removed by another process
                    yield entry.path, entry.stat(follow_symlinks=False), named[1] if named else ""

    def _unusable(self, error: OSError) -> None:
        what = f"compiled code is kept in memory only: {_reason(error, self.directory)}"
        _warn("unusable", what, "To keep it on disk, set NUMTAPE_CACHE_DIR to a directory that only you can write to.")


@lru_cache(1)
def default_store() -> Store:
    """The store of this process, in the directory that the settings name."""
    return Store(settings().cache_dir)


# -- files ------------------------------------------------------------------------------------------------------------


def _read(path: str, key: str) -> tuple[bytes, str]:
    """What a file holds for a key, and what is wrong with the file ("" if nothing is)."""
    try:
        handle = os.open(path, READ)
    except OSError:
        if os.path.islink(path):
            return b"", "is a link"
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return b"", "is not a file"
        if foreign := _foreign(status):
            return b"", foreign
        with open(handle, "rb", closefd=False) as file:
            head = file.read(HEADER.size)
            if len(head) < HEADER.size:
                return b"", "is cut off"
            magic, named, digest, length = HEADER.unpack(head)
            if magic != MAGIC:
                return b"", "does not begin as it should"
            if named != key.encode():
                return b"", "belongs to another key"
            # asked before reading: a wrong length must not take all memory
            if status.st_size != HEADER.size + length:
                return b"", "has another length than it should"
            data = file.read(length)
    finally:
        os.close(handle)
    return (data, "") if hashlib.sha256(data).digest() == digest else (b"", "has changed since it was written")


def _sound(path: str, key: str) -> bool:
    try:
        return not _read(path, key)[1]
    except OSError:
        return False


def _foreign(status: os.stat_result, writable: int = stat.S_IWGRP | stat.S_IWOTH) -> str:
    """How somebody else could have written this; "" where nobody could, or where the platform has no such notions."""
    if not hasattr(os, "geteuid"):
        return ""
    if status.st_uid != os.geteuid():
        return "belongs to another user"
    return "can be written to by other users" if status.st_mode & writable else ""


def _make(directory: str) -> None:
    """Make a directory and those above it, for this user alone."""
    if os.path.isdir(directory):
        return
    parent = os.path.dirname(directory)
    if parent != directory:
        _make(parent)
    with contextlib.suppress(FileExistsError):
        os.mkdir(directory, 0o700)


def _touch(path: str) -> None:
    """Note a use. The time is given: the one that a file system takes by itself can be the same for many files."""
    now = time.time_ns()
    os.utime(path, ns=(now, now))


def _left(status: os.stat_result) -> bool:
    """Has this file, which was begun only, lost its writer?"""
    return abs(time.time() - status.st_mtime) > LEFTOVER_SECONDS


def _remove(path: str) -> bool:
    """Remove a file, or whatever has taken its place. Is it gone?"""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        return not os.path.lexists(path)
    return True


# -- warnings ---------------------------------------------------------------------------------------------------------


def _reason(error: OSError, directory: str) -> str:
    return f"{error.filename or directory}: {error.strerror}" if error.strerror else str(error)


def _warn(kind: str, what: str, fix: str) -> None:
    """Warn once per process about each kind of trouble."""
    mine = object()
    if _warned.setdefault(kind, mine) is mine:  # one step: of several threads, one warns
        warnings.warn(layout(what, fix=fix), RuntimeWarning, stacklevel=3)
