"""Strided, Fortran-ordered, read-only and byte-swapped arrays, and views of all kinds."""

import numpy as np

import numtape as nt


def score(x):
    return np.sum(np.sin(x) * np.arange(x.shape[1])) + x.T @ x


compiled, base = nt.jit(score), np.arange(96.0).reshape(8, 12)
locked = base.copy()
locked.flags.writeable = False
unaligned = np.frombuffer(b"\0" + base.tobytes(), np.uint8)[1:].view(">f8").reshape(8, 12)
for x in (
    base, base.T, base[::2, ::3], base[::-1, ::-1], np.asfortranarray(base), locked, base.astype(">f8"),
    np.broadcast_to(base[0], (3, 12)), base[:, :1], base[:0], unaligned,
):  # fmt: skip
    np.testing.assert_allclose(compiled(x), score(x))
