"""What a compiled function shows of itself: graphs, generated code, signatures."""

import re

import numpy as np
import pytest

import numtape as nt

A = np.ones(3)


def branches(x, k):
    return x + 1 if k > 3 else x


def test_signatures_are_described():
    f = nt.jit(branches, backend="interpreter")
    assert repr(f.signatures()) == "no signatures yet"
    for k in (7, 8, 2):
        f(A, k)
    (found,) = f.signatures()
    assert re.sub(r"(\.py):\d+", r"\1:N", str(found)) == (
        "branches(x: f64[:], k: int)\n"
        "  1 hit, 4 nodes, compiled in 0.00 s\n"
        "    where k > 3  # test_inspect.py:N\n"
        "  0 hits, 2 nodes, compiled in 0.00 s\n"
        "    where k <= 3  # test_inspect.py:N"
    )
    assert found.hits == 1 and repr(f.signatures()) == str(found)


def test_stages():
    f = nt.jit(lambda x: np.sum(x * x))
    with pytest.raises(RuntimeError, match="has not been called"):
        f.graph()
    f(A)
    assert "ct0" in f.graph("backward").names
    assert len(f.graph("backward").outputs) == 1
    assert f.source() == f._last_entry().compiled.source
    assert "ct0" in f.source("backward")
    assert f.source("fused", "kernels").startswith("program")
    for call in (lambda: f.graph("final"), lambda: f.source("traced"), lambda: f.source("fused", "c")):
        with pytest.raises(ValueError, match="must be one of '"):
            call()


def test_source_holds_the_users_lines():
    f = nt.jit(lambda x: np.sum(np.sin(x) * 2))
    f(np.ones(3))
    assert "#   " in f.source() and "f = nt.jit(lambda x: np.sum(np.sin(x) * 2))" in f.source()
