"""A memory-mapped file is an array like any other."""

import tempfile

import numpy as np

import numtape as nt

total = nt.jit(lambda x: np.sum(x * x))
with tempfile.TemporaryFile() as file:
    np.arange(6.0).tofile(file)
    file.flush()
    mapped = np.memmap(file, dtype="f8", mode="r", shape=(6,))
    assert total(np.arange(6.0)) == total(mapped) == 55.0 and total(mapped[::2]) == 20.0
    del mapped
