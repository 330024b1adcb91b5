"""What the tests of the store share; imports little, since sixteen processes load it at once."""

import contextlib
import hashlib
import warnings
from pathlib import Path

KEYS = [hashlib.sha256(b"%d" % n).hexdigest() for n in range(200)]
LIMIT = 400_000


def code_of(key):
    """What is stored under a key: of a length of its own, 500 to 30,000 bytes."""
    return (bytes.fromhex(key) * 1000)[: 500 + int(key[:4], 16) % 29_500]


def key_of(text):
    return hashlib.sha256(str(text).encode()).hexdigest()


KEY, OTHER = key_of("one"), key_of("another")


def file_of(store, key=KEY):
    return Path(store.directory, f"{key}.code")


@contextlib.contextmanager
def told(*texts):
    """What a block warns, in order, once each; nothing for no texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    assert [w.category for w in caught] == [RuntimeWarning] * len(texts), [str(w.message) for w in caught]
    for warning, text in zip(caught, texts, strict=True):
        assert text in str(warning.message)


@contextlib.contextmanager
def memory_only(reason):
    with told(f"compiled code is kept in memory only: {reason}"):
        yield


def keeps_nothing(store):
    store.put(KEY, b"code")
    store.put(OTHER, b"code")
    return store.get(KEY) is None and store.files() == [] and store.clear() == 0 and store.trouble() != ""
