"""The command `numtape`: what it prints, its exit codes, and that a script runs as Python would run it."""

import json
import os
import re
import subprocess
import sys

import pytest

SCRIPT = """\
import sys
import numpy as np
import numtape as nt
import beside

@nt.jit
def power(x, k):
    for _ in range(k):
        x = x * x
    return np.sum(x)

if __name__ == "__main__":
    for k in (2, 3, 4, 2):
        power(np.ones(3), k)
    square = nt.grad(lambda x: np.sum(x**2))
    for n in range(3):
        square(np.ones(n))
    print("argv", *sys.argv[1:])
    if "--boom" in sys.argv:
        raise KeyError("boom")
    if "--leave" in sys.argv:
        sys.exit(7)
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "beside.py").write_text("")
    (folder / "train.py").write_text(SCRIPT)
    return folder / "train.py"


def numtape(*args, **kwargs):
    command = [sys.executable, "-m", "numtape.runtime.cli", *map(str, args)]
    # a width of its own, and no colours, whatever terminal the tests run in
    kept = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR", "NUMTAPE_LOG")}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**kept, **kwargs})


def flat(text):
    """A text without its line breaks and the box around it."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", text).split())


def cells(line):
    return [c.strip() for c in re.split("[│┃]", line) if c.strip()]


@pytest.fixture(scope="module")
def done(script, tmp_path_factory):
    file = tmp_path_factory.mktemp("out") / "events.jsonl"
    log = file.with_name("log.jsonl")
    done = numtape("run", script, "--lr", "3", "--json", file, "--", "--json", NUMTAPE_LOG=str(log))
    assert done.returncode == 0, done.stderr
    return done, file, log


def test_run_prints_a_report(done):
    lines = done[0].stdout.splitlines()
    assert lines[0] == "argv --lr 3 --json"
    seconds = r"\d+\.\d\d s of tracing and compiling"
    assert re.fullmatch(rf"numtape: 2 functions, 7 calls, 4 traces \(2 again\), {seconds}", lines[1])
    title = "function line calls hits traces trace s compile s break-even worst reason"
    assert " ".join(cells(lines[3])) == title
    rows = {row[0]: row[1:] for row in map(cells, lines[4:]) if len(row) == 9}
    power, square = rows["power"], rows["grad of <lambda>"]
    assert power[:4] == ["train.py:6", "4", "1", "3"] and power[7] == "LOOP_TRIP_COUNT"
    assert square[:4] == ["train.py:15", "3", "2", "1"] and square[7] == "-"
    text = done[0].stdout
    assert "1. LOOP_TRIP_COUNT: power was traced again because argument `k` changed: 2 → 3" in text
    assert "2. LOOP_TRIP_COUNT: power was traced again because argument `k` changed: 3 → 4" in text
    assert "  train.py:8: for _ in range(k):" in text
    assert "  train.py:14: power(np.ones(3), k)" in text


def test_json_lines(done):
    records = [json.loads(line) for line in done[1].read_text().splitlines()]
    assert {r["schema"] for r in records} == {1}
    events = [r for r in records if r["record"] == "event"]
    assert [e["kind"] for e in events] == ["first", "retrace", "retrace", "first"]
    reason = events[1]["reasons"][0]
    assert (reason["code"], reason["argument"], reason["before"], reason["after"]) == ("LOOP_TRIP_COUNT", "k", "2", "3")
    assert reason["line"].endswith("train.py:8") and reason["text"] == "for _ in range(k):"
    assert [r["function"] for r in records if r["record"] == "function"] == ["power", "grad of <lambda>"]


def test_report_reads_what_run_wrote(done):
    printed = numtape("report", done[1])
    assert printed.returncode == 0
    assert printed.stdout.splitlines() == done[0].stdout.splitlines()[1:]


def test_report_reads_a_log(done):
    printed = numtape("report", done[2])
    assert printed.returncode == 0
    assert "numtape: 2 functions, 4 calls, 4 traces (2 again)" in printed.stdout


def test_report_refuses_other_files(tmp_path):
    file = tmp_path / "other.jsonl"
    for text in ("[]", "no json", '{"schema": 99, "record": "event"}'):
        file.write_text(f"\n{text}\n")
        done = numtape("report", file)
        assert done.returncode == 2
        assert "line 2 is not a record of numtape" in flat(done.stderr)
    assert numtape("report", tmp_path / "none").returncode == 2


def test_too_many_retraces(script):
    done = numtape("run", script, "--fail-on-retrace", "1", "--json", "-")
    assert done.returncode == 3
    assert done.stderr.endswith("numtape: 2 retraces, 1 is allowed\n")
    first, *records = done.stdout.splitlines()
    assert first == "argv" and all(json.loads(r)["schema"] == 1 for r in records)


def test_a_script_that_raises(script):
    done = numtape("run", script, "--boom", "--fail-on-retrace", "0")
    assert done.returncode == 1
    assert "KeyError: 'boom'" in done.stderr
    shown = re.findall(r'File "(.*?)"', done.stderr)
    assert shown and set(shown) == {str(script)}, "the traceback begins at the script"
    assert "LOOP_TRIP_COUNT" in done.stdout


def test_exit_code_of_the_script(script):
    assert numtape("run", script, "--leave", "--fail-on-retrace", "0").returncode == 7


def test_other_scripts(tmp_path):
    plain, wrong, words = tmp_path / "plain.py", tmp_path / "wrong.py", tmp_path / "words.py"
    plain.write_text("print(__name__, __file__)")
    wrong.write_text("x = = 1")
    words.write_text("raise SystemExit('done with it')")
    done = numtape("run", plain)
    assert (done.returncode, done.stdout) == (0, f"__main__ {plain}\nnumtape: no function was traced\n")
    done = numtape("run", wrong)
    assert done.returncode == 1 and "SyntaxError" in done.stderr and "runpy" not in done.stderr
    done = numtape("run", words)
    assert done.returncode == 1 and "done with it" in done.stderr
    assert numtape("run", tmp_path / "none.py").returncode == 2


def test_graph_source_and_signatures(script):
    done = numtape("graph", f"{script}:power")
    assert done.returncode == 0 and done.stderr == "argv\n"
    head, graph, *_ = done.stdout.splitlines()
    assert head == "# power (train.py:6)"
    assert graph == "power(x: f64[x.0], k: ~i64[]) -> f64[]"
    done = numtape("source", f"{script}:grad of <lambda>", "--backend", "kernels")
    assert done.stdout.startswith("# grad of <lambda> (train.py:15)\nprogram ")
    done = numtape("signatures", f"{script}:power")
    assert "power(x: f64[:], k: int)\n  1 hit, " in done.stdout
    assert "    where k == 2  # train.py:8" in done.stdout
    done = numtape("graph", f"{script}:powr")
    assert done.returncode == 2 and "it compiled <lambda>, power" in flat(done.stderr)
    done = numtape("source", f"{script}:power", "--stage", "final")
    assert done.returncode == 2 and "stage must be one of" in done.stderr


def test_exit_codes_are_documented():
    done = numtape("run", "--help")
    assert done.returncode == 0
    assert "3 more than N retraces" in " ".join(done.stdout.split())
