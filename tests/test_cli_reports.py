"""The commands that explain and compare: why, diff, doctor, run --baseline and --html, and wrong settings."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numtape.runtime import doctor
from numtape.runtime.cli import app, with_file
from numtape.runtime.settings import settings
from numtape.runtime.store import default_store

SCRIPT = """\
import sys
import numpy as np
import numtape as nt

@nt.jit(backend="interpreter")
def power(x, k):
    for _ in range(k):
        x = x * x
    return np.sum(x)

@nt.jit(backend="interpreter")
def broken(x):
    return x @ np.ones(7)

for k in map(int, sys.argv[1:]):
    power(np.ones(3), k)
try:
    broken(np.ones((2, 3)))
except nt.ShapeError as error:
    print("refused")
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    file = tmp_path_factory.mktemp("scripts") / "train.py"
    file.write_text(SCRIPT)
    return file


def numtape(*args, **kwargs):
    command = [sys.executable, "-m", "numtape.runtime.cli", *map(str, args)]
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "NUMTAPE_LOG")}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**kept, **kwargs})


def inside(*args):
    """The command in this process: what runs no script needs no other."""
    done = CliRunner().invoke(app, list(map(str, args)), catch_exceptions=False)
    return subprocess.CompletedProcess(args, done.exit_code, done.stdout, done.stderr)


def flat(text):
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def without_seconds(text):
    return re.sub(r"\d+\.\d\d s", "0.00 s", text)


@pytest.fixture(scope="module")
def reports(script, tmp_path_factory):
    """Two reports of the script: with two retraces, and with three."""
    folder = tmp_path_factory.mktemp("reports")
    for name, counts in (("old", (2, 3, 4)), ("new", (2, 3, 4, 5))):
        assert numtape("run", script, *counts, "--json", folder / f"{name}.jsonl").returncode == 0
    return folder / "old.jsonl", folder / "new.jsonl"


WHY = """\
# power (train.py:5): retrace 2 of 2
LOOP_TRIP_COUNT: power was traced again because argument `k` changed: 3 → 4, and train.py:7 loops that often.
  train.py:7: for _ in range(k):
  train.py:16: power(np.ones(3), k)
Cost: 0.00 s (trace 0.00 s, compile 0.00 s); trace 3 of power.
Fix: The loop is unrolled for each count. Write it with array operations, or call it with few counts.

        compiled  this call
  x     f64[3]    f64[3]
  k  *  3         4

Compiled entries, and why each did not serve:
  1. needs k == 2 (train.py:7)
  2. needs k == 3 (train.py:7)
"""


def test_why(script, reports):
    done = numtape("why", f"{script}:power", 2, 3, 4)
    assert (done.returncode, done.stderr) == (0, "refused\n")
    assert without_seconds(done.stdout) == WHY
    done = inside("why", f"{reports[0]}:power")
    assert without_seconds(done.stdout) == WHY
    done = inside("why", f"{reports[1]}:power", "--n", 1)
    assert done.stdout.startswith("# power (train.py:5): retrace 1 of 3\n") and "`k` changed: 2 → 3" in done.stdout


def test_why_nothing_was_traced_again(script):
    done = numtape("why", f"{script}:power", 2, 2)
    assert done.returncode == 0
    head, first, *_ = done.stdout.splitlines()
    assert head == "# power (train.py:5): never traced again"
    assert first == "FIRST_TRACE: power was traced for the first time: with x: f64[:], k: int."


def test_why_of_what_is_not_there(script, reports):
    done = inside("why", f"{reports[0]}:power", "--n", 9)
    assert done.returncode == 2 and "has 2 retraces: there is no number 9" in flat(done.stderr)
    done = inside("why", f"{reports[0]}:pwer")
    assert done.returncode == 2 and "holds no 'pwer'; it holds broken, power" in flat(done.stderr)
    done = numtape("why", f"{script}:pwer", 2)
    assert done.returncode == 2 and "compiled no 'pwer'; it compiled broken, power" in flat(done.stderr)


def test_a_function_that_only_failed_is_listed(script, reports):
    printed = inside("report", reports[0]).stdout
    assert "numtape: 2 functions, 4 calls, 3 traces (2 again, 1 failed), " in printed
    row = next(line for line in printed.splitlines() if "broken" in line)
    assert [c.strip() for c in row.split("│")[1:6]] == ["broken", "train.py:11", "1", "0", "0"]
    assert "TRACE_FAILED: broken could not be traced: ShapeError: " in printed
    done = numtape("graph", f"{script}:broken")
    assert done.returncode == 2 and "nothing of broken is compiled: TRACE_FAILED" in flat(done.stderr)


def test_diff(reports):
    old, new = reports
    done = inside("diff", old, new)
    assert done.returncode == 3
    assert done.stdout.splitlines() == [
        "numtape: 1 worse, 0 better",
        "worse   power (train.py): LOOP_TRIP_COUNT of k 2 → 3 times. The loop is unrolled for each count. "
        "Write it with array operations, or call it with few counts.",
    ]
    done = inside("diff", new, old)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["numtape: 0 worse, 1 better", "better  power (train.py): LOOP_TRIP_COUNT of k 3 → 2 times."],
    )
    done = inside("diff", old, old)
    assert (done.returncode, done.stdout) == (0, "numtape: 0 worse, 0 better\n")
    assert inside("diff", old, old.with_name("none")).returncode == 2


def test_baseline(script, reports):
    old, new = reports
    done = numtape("run", script, 2, 3, 4, 5, "--baseline", old)
    assert done.returncode == 3
    assert done.stderr.startswith(
        "numtape: more than in the baseline: power (train.py): LOOP_TRIP_COUNT of k 2 → 3 times"
    )
    assert numtape("run", script, 2, 3, 4, 5, "--baseline", new).returncode == 0
    assert numtape("run", script, 2, 3, "--baseline", old).returncode == 0
    done = numtape("run", script, 2, "--baseline", old.with_name("none"))
    assert done.returncode == 2 and "Write one: numtape run SCRIPT --json FILE." in flat(done.stderr)
    assert "refused" not in done.stdout, "the script is not run in vain"


def test_html(script, reports, tmp_path):
    made, again = tmp_path / "run.html", tmp_path / "report.html"
    assert numtape("run", script, 2, 3, "--html", made).returncode == 0
    done = inside("report", reports[0], "--html", again)
    assert (done.returncode, done.stdout) == (0, "")
    for page in (made, again):
        assert page.read_text().startswith("<!DOCTYPE html>") and "LOOP_TRIP_COUNT" in page.read_text()
    done = inside("report", reports[0], "--html", tmp_path / "none" / "x.html")
    assert done.returncode == 2 and "--html" in done.stderr and "Traceback" not in done.stderr


def test_json_without_a_file(script):
    done = numtape("run", script, 2, "--json")
    assert done.returncode == 0
    records = [json.loads(line) for line in done.stdout.splitlines()[1:]]
    assert [r["record"] for r in records] == ["event", "event", "function", "function"]
    assert script.read_text() == SCRIPT
    for given, meant in {
        "run --json a.py": "run --json - a.py",
        "run --json --html x a.py": "run --json - --html x a.py",
        "run a.py --json": "run a.py --json -",
        "run a.py --json out": "run a.py --json out",
        "run a.py --json - 3": "run a.py --json - 3",
        "run a.py --json -- --json": "run a.py --json - -- --json",
    }.items():
        assert " ".join(with_file(given.split())) == meant


def test_a_wrong_back_end(script):
    for command in (["run", script], ["why", f"{script}:power"], ["cache", "ls"]):
        done = numtape(*command, NUMTAPE_BACKEND="gpu")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "numtape: NUMTAPE_BACKEND must be one of auto, llvm, numba, not 'gpu'\n"


def test_graphs_for_other_programs(script, tmp_path):
    done = numtape("graph", f"{script}:power", "--dot", 2)
    assert done.returncode == 0 and done.stdout.startswith('digraph "power" {') and done.stdout.endswith("}\n")
    drawn = tmp_path / "graph.svg"
    done = numtape("graph", f"{script}:power", 2, "--svg", "--output", drawn)
    assert (done.returncode, done.stdout) == (0, "")
    assert drawn.read_text().startswith("<svg ") and drawn.read_text().endswith("</svg>\n")
    assert numtape("graph", f"{script}:power", 2, "--svg", "--dot").returncode == 2
    done = numtape("graph", f"{script}:power", 2, "--svg", "--output", tmp_path / "none" / "x.svg")
    assert done.returncode == 2 and "--output" in done.stderr


def test_exit_codes_are_in_the_help():
    for command in ("run", "report", "why", "signatures", "graph", "source", "diff", "doctor"):
        done = inside(command, "--help")
        assert done.returncode == 0 and "Exit codes: 0 all well" in flat(done.stdout).replace(
            "nothing got worse", "all well"
        )
    assert "3 more retraces than allowed, or than before" in flat(inside("--help").stdout)


# -- doctor ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def examined(tmp_path, monkeypatch):
    """Runs `doctor` in this process with an environment of its own."""

    def run(**environment):
        for name in ("NUMTAPE_BACKEND", "OMP_NUM_THREADS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("NUMTAPE_CACHE_DIR", str(tmp_path / "kept"))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        for cached in (settings, default_store):
            cached.cache_clear()
        done = CliRunner().invoke(app, ["doctor"], catch_exceptions=False)
        return done.exit_code, done.stdout

    yield run
    for cached in (settings, default_store):
        cached.cache_clear()


def topics(text):
    return {line[:13].strip(): line[13:] for line in text.splitlines() if not line.startswith("!")}


def test_doctor(examined, tmp_path):
    _, text = examined(OMP_NUM_THREADS="2")
    found = topics(text)
    names = ["numtape", "libraries", "back end", "native code", "processor", "BLAS", "threads", "store", "trial"]
    assert list(found)[:9] == names
    assert re.match(r"0\.\d+\.\d+ on \w+ 3\.\d+", found["numtape"])
    assert re.match(r"numpy \d.*, numba .*, llvmlite .*, scipy ", found["libraries"])
    assert found["back end"] in (f"{name} (NUMTAPE_BACKEND chooses none)" for name in ("llvm", "numba"))
    assert found["store"].startswith(f"{tmp_path / 'kept'}: 0 files, 0.0 of 512 MB")
    assert found["threads"].endswith("OMP_NUM_THREADS=2")
    assert re.fullmatch(r"2 \* x \+ 1 (compiled|loaded from the store) in \d+\.\d\d s, and right", found["trial"])
    assert ("pool" in found) == found["back end"].startswith("llvm")


def test_doctor_says_why_native_code_does_not_serve(examined, monkeypatch):
    monkeypatch.setattr(doctor, "unverified", lambda: "it is not Linux on x86-64")
    code, text = examined()
    assert code == 1
    assert topics(text)["native code"] == "can't serve: it is not Linux on x86-64"
    assert "! native code: Calls go through numba: right, but slower to start." in text
    assert "products go through NumPy" in topics(text)["BLAS"]


def test_doctor_names_an_unusable_store(examined, tmp_path):
    (tmp_path / "file").write_text("")
    code, text = examined(NUMTAPE_CACHE_DIR=str(tmp_path / "file"))
    assert code == 1
    assert f"! store: No code is kept: {tmp_path / 'file'} is not a directory. Set NUMTAPE_CACHE_DIR" in text


def test_doctor_with_a_wrong_back_end(examined):
    code, text = examined(NUMTAPE_BACKEND="gpu")
    assert code == 1
    assert "! back end: NUMTAPE_BACKEND must be one of auto, llvm, numba, not 'gpu'. Without NUMTAPE_BACKEND, " in text
    assert topics(text)["trial"] == "compiled nothing"


def test_doctor_finds_wrong_results(examined, monkeypatch):
    monkeypatch.setattr(doctor, "_small", lambda x: 2 * x)
    code, text = examined(NUMTAPE_BACKEND="numba")
    assert code == 1
    assert "! trial: Please report this: it should be 1, 3, 5." in text


# -- docs ------------------------------------------------------------------------------------------------------------

DOCS = (Path(__file__).parents[1] / "docs" / "diagnostics.md").read_text()


def test_the_example_of_the_docs(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", DOCS, re.DOTALL)
    expected = re.findall(r"^print\(.*\) +# (.*)$", code, re.MULTILINE)
    (tmp_path / "example.py").write_text(code)
    done = subprocess.run([sys.executable, tmp_path / "example.py"], capture_output=True, text=True, timeout=60)
    assert (done.stdout.splitlines(), done.stderr) == (expected, "") and len(expected) == 3


def test_the_docs_name_all_there_is():
    commands = re.findall(r"^\| `numtape (\w+)", DOCS, re.MULTILINE)
    listed = [c.name for c in app.registered_commands] + [g.name for g in app.registered_groups]
    assert sorted(commands) == sorted(listed)
    folder = Path(doctor.__file__).parent
    sources = [(folder / f"{name}.py").read_text() for name in ("explain", "guards", "reasons")]
    codes = set(re.findall(r'"([A-Z]+_[A-Z]+|DTYPE|RANK|VARIABLE|ALIASING|CLEARED|EVICTED)"', "".join(sources)))
    assert len(codes) > 15
    assert not {c for c in codes - {"NOT_TRACED"} if f"`{c}`" not in DOCS}
