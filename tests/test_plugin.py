"""The pytest plugin, in runs of pytest of their own: the fixture, the option, and what their failures say."""

import importlib
import os
import re
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
NAME = tomllib.loads(PYPROJECT.read_text())["project"]["entry-points"]["pytest11"]["numtape"]
COUNT = "numtape_retraces"

TESTS = """
import threading
import numpy as np
import pytest
import numtape as nt

@nt.jit(backend="interpreter")
def scale(x, k):
    for _ in range(k):
        x = x * 2
    return x

@pytest.fixture(autouse=True)
def forgotten():
    scale.clear_cache()
    scale._table.traces = 0
    scale._table.history.events.clear()

def calls(*counts):
    for k in counts:
        scale(np.ones(3), k)

def test_once():
    calls(2, 2)

def test_twice():
    calls(2, 3)

def test_thrice():
    calls(2, 3, 4)

def test_guarded(no_retrace):
    calls(2, 3)

def test_guarded_and_good(no_retrace):
    scale(np.ones(3), 2), scale(np.ones(9), 2)

def test_in_a_thread(no_retrace):
    worker = threading.Thread(target=calls, args=(2, 3))
    worker.start()
    worker.join()

def test_wrong():
    calls(2, 3, 4)
    assert False, "of its own"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "test_it.py").write_text(TESTS)
    return folder


def run(folder, *args):
    """pytest with this plugin alone: the same whether it is installed under its name or not."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COLUMNS"))}
    command = [sys.executable, "-m", "pytest", "-p", NAME, "-p", "no:cacheprovider", "--color=no", *args]
    environment = {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)


def section(text, test):
    """What pytest printed about a failed test."""
    found = re.search(
        rf"^_+ (?:ERROR at teardown of )?{test} _+$\n(.*?)(?=^(?:___+|===+|---+) )",
        text,
        re.MULTILINE | re.DOTALL,
    )
    assert found, text
    return re.sub(r"\d+\.\d\d s", "0.00 s", found[1]).strip()


def test_without_the_option(folder):
    done = run(folder, "-q", "-k", "once or twice or thrice")
    assert done.returncode == 0 and "3 passed" in done.stdout and "numtape" not in done.stdout


def test_the_option(folder):
    done = run(folder, "--max-retraces", "1", "-k", "once or twice or thrice", "--junitxml=out.xml")
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout
    assert "numtape: 3 retraces in 2 tests" in done.stdout
    explained = (
        "LOOP_TRIP_COUNT: scale was traced again because argument `k` changed: {} → {}, and test_it.py:9 loops that "
        "often.\n"
        "  test_it.py:9: for _ in range(k):\n"
        "  test_it.py:21: scale(np.ones(3), k)\n"
        "Cost: 0.00 s (trace 0.00 s, compile 0.00 s); trace {} of scale.\n"
        "Fix: The loop is unrolled for each count. Write it with array operations, or call it with few counts."
    )
    head = "2 retraces in test_thrice, 1 is allowed (--max-retraces 1):"
    expected = [head, explained.format(2, 3, 2), explained.format(3, 4, 3)]
    assert section(done.stdout, "test_thrice") == "\n\n".join(expected)
    properties = ET.parse(folder / "out.xml").iter("property")
    assert [(p.get("name"), p.get("value")) for p in properties] == [(COUNT, "1"), (COUNT, "2")]


def test_a_test_that_fails_by_itself(folder):
    done = run(folder, "--max-retraces", "0", "-k", "wrong")
    assert "AssertionError: of its own" in done.stdout and "are allowed" not in done.stdout


def test_what_the_option_takes(folder):
    for wrong in ("-1", "many"):
        done = run(folder, f"--max-retraces={wrong}")
        assert done.returncode == 4 and "argument --max-retraces: invalid" in done.stderr


def test_the_fixture(folder):
    done = run(folder, "-k", "guarded")
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout
    text = section(done.stdout, "test_guarded")
    assert "RetraceError: LOOP_TRIP_COUNT: scale was traced again because argument `k` changed: 2 → 3" in text
    assert "Fix: The loop is unrolled" in text and "(inside nt.no_retrace())" in text


def test_the_fixture_sees_other_threads(folder):
    done = run(folder, "-k", "in_a_thread")
    assert "1 passed, 6 deselected, 1 error" in done.stdout
    text = section(done.stdout, "test_in_a_thread")
    assert text.startswith("1 retrace on other threads (fixture no_retrace):\n\nLOOP_TRIP_COUNT: scale was traced")


def test_it_is_listed(folder):
    assert "no_retrace" in run(folder, "--fixtures").stdout
    assert "--max-retraces=N" in run(folder, "--help").stdout


def test_it_costs_next_to_nothing():
    """pytest loads it in every run, also where nobody uses numtape."""
    code = f"import sys, {NAME}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert done.returncode == 0 and "numtape" in loaded
    assert not loaded & {"pytest", "numba", "llvmlite", "scipy", "rich", "typer"}
    assert importlib.import_module(NAME).PROPERTY == COUNT
