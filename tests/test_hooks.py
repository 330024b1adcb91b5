"""Hooks of traces and compiles, the logger, failed traces, and the line that a long compile shows in a terminal."""

import logging
import os
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import numtape as nt
from numtape.runtime.hooks import Compilation

jit = partial(nt.jit, backend="interpreter")
A, B = np.ones(3), np.ones((3, 3))


def without_numbers(text):
    return re.sub(r"(\.py):\d+", r"\1:N", re.sub(r"\d+\.\d\d s", "0.00 s", str(text)))


def test_on_trace_until_it_is_removed():
    f, seen = jit(lambda x: x + 1), []
    hook = nt.on_trace(seen.append)
    f(A), f(B), f(A)
    assert [(e.kind, e.code, e.argument) for e in seen] == [("first", "FIRST_TRACE", ""), ("retrace", "RANK", "x")]
    assert seen[1] is f.explain_last()
    hook.remove()
    hook.remove()
    f(A.astype("f4"))
    assert len(seen) == 2


def test_on_trace_as_a_context():
    f, seen = jit(lambda x: x + 1), []
    with nt.on_trace(seen.append), pytest.raises(KeyError):
        f(A)
        raise KeyError
    f(B)
    assert len(seen) == 1


def test_on_compile():
    def triple(x):
        return 3 * x

    f, seen = jit(triple), []
    with nt.on_compile(seen.append):
        f(A), f(np.ones(9))
    (found,) = seen
    assert (found.function, found.backend, found.nodes, found.found) == ("triple", "interpreter", 3, False)
    assert str(found) == "triple: compiled by interpreter in 0.00 s (3 nodes)"
    assert str(Compilation("f", "llvm", 2, 0.5, True)) == "f: loaded by llvm in 0.50 s (2 nodes)"


def test_what_a_hook_raises_reaches_the_caller():
    def refuse(explanation):
        raise LookupError(explanation.function)

    f = jit(lambda x: x + 1)
    with nt.on_trace(refuse), pytest.raises(LookupError, match="<lambda>"):
        f(A)
    assert f(A)[0] == 2


def test_a_hook_is_a_function():
    for register in (nt.on_trace, nt.on_compile):
        with pytest.raises(TypeError, match="a hook is a function of one argument, not str"):
            register("print")


def test_logger(caplog):
    f = jit(lambda x: x + 1)
    with caplog.at_level(logging.INFO, "numtape"):
        f(A), f(B)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("numtape", "INFO")
    assert record.getMessage() == str(f.explain_last())
    caplog.clear()
    with caplog.at_level(logging.DEBUG, "numtape"):
        f(A.astype("f4"))
    assert [r.getMessage().split(":")[0] for r in caplog.records] == ["<lambda>", "DTYPE"]


def test_a_failed_trace_is_an_event():
    @jit
    def product(x, w):
        return x @ w

    seen = []
    with nt.on_trace(seen.append):
        for _ in range(3):
            with pytest.raises(nt.ShapeError):
                product(np.ones((5, 3)), np.ones(4))
    assert [e.kind for e in seen] == ["failed"], "one event for one error"
    assert seen[0] is product.explain_last()
    assert product.stats.traces == 0 and product._table.failures == 3
    head, *rest = without_numbers(seen[0]).splitlines()
    assert head.startswith("TRACE_FAILED: product could not be traced: ShapeError: matmul: ")
    assert rest[0] == "  test_hooks.py:N: return x @ w"
    assert rest[1] == "  test_hooks.py:N: product(np.ones((5, 3)), np.ones(4))"
    product(np.ones((5, 3)), np.ones(3))
    assert product.explain_last().code == "FIRST_TRACE"


def test_text_of_an_error_of_the_body():
    @jit
    def broken(x):
        raise KeyError("weights")

    with pytest.raises(KeyError):
        broken(A)
    assert without_numbers(broken.explain_last()) == (
        "TRACE_FAILED: broken could not be traced: KeyError: 'weights'.\n"
        '  test_hooks.py:N: raise KeyError("weights")\n'
        "  test_hooks.py:N: broken(A)\n"
        "Fix: The call raised this error. Nothing of it is kept: the next call is traced anew."
    )


def test_a_signature_that_failed_is_no_known_one():
    f = jit(lambda x, flag: x + 1 if flag[0] else 1 / 0)
    f(A, [True])
    with pytest.raises(ZeroDivisionError):
        f(B, [False])
    f(B, [True])
    assert {r.code for r in f.explain_last().reasons} == {"RANK"}


# -- the line in a terminal ------------------------------------------------------------------------------------------

SLOW = """
import time
import numpy as np
import numtape as nt
from numtape.compiler import pipeline
from numtape.runtime import hooks

hooks.PATIENCE = 0.0
compile_graph = pipeline.compile_graph

def slowly(*args):
    time.sleep(0.5)
    return compile_graph(*args)

pipeline.compile_graph = slowly
nt.jit(lambda x: x + 1, backend="interpreter")(np.ones(2))
"""


def stderr_of(code, **environment):
    """What a program writes to a terminal of 80 columns."""
    ours, theirs = pytest.importorskip("pty").openpty()
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR", "CI")}
    kept.update({"COLUMNS": "80"}, **environment)
    done = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=subprocess.PIPE, env=kept)
    os.close(theirs)
    out = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not part:
            break
        out += part
    os.close(ours)
    stdout, _ = done.communicate(timeout=60)
    assert (done.returncode, stdout) == (0, b""), out
    return out.decode()


def test_a_long_compile_shows_a_line_and_takes_it_away():
    shown = stderr_of(SLOW, TERM="xterm")
    assert "numtape: compiling <lambda> (3 nodes)" in shown
    assert shown.rstrip().endswith("\x1b[2K") or "\x1b[2K" in shown.split("compiling")[-1], "the line is erased"


def test_a_short_compile_shows_nothing():
    assert stderr_of(SLOW.replace("= 0.0", "= 60.0"), TERM="xterm") == ""


def test_a_simple_terminal_or_none_shows_nothing():
    assert stderr_of(SLOW, TERM="dumb") == ""
    done = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
