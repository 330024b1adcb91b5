"""The benchmark suite runs, its peers agree, and who is missing is named. How fast anything is, no test says."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
LABELS = {"numtape": "numtape (back end", "ideal": "by hand (numba)", "autograd": "autograd"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A run on tiny data in an environment without JAX: the return code, the data, the Markdown."""
    directory = tmp_path_factory.mktemp("bench")
    hidden = directory / "hidden"
    hidden.mkdir()
    (hidden / "jax.py").write_text("raise ModuleNotFoundError('hidden', name='jax')\n")
    output = directory / "results"
    options = ["--tiny", "--rounds", "1", "--seconds", "0.001", "--output", str(output)]
    options += ["--only", "steady,growing", "--workloads", "chain32,logreg,rosen,call"]
    options += ["--peers", "numtape,ideal,jax,autograd,numpy"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(hidden)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert output.with_suffix(".json").exists(), done.stderr
    return done.returncode, json.loads(output.with_suffix(".json").read_text()), done.stdout


@pytest.fixture
def suite(monkeypatch):
    """The suite's modules, which no installed package holds."""
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import report, sections, workloads

    return sections, report, workloads


def present():
    return [name for name in LABELS if name != "autograd" or importlib.util.find_spec("autograd")]


def test_peers_agree(tiny):
    code, data, text = tiny
    assert code == 0
    assert data["tiny"] and "tiny data" in text
    for workload in ("chain32", "logreg", "rosen"):
        for name in present():
            cell = data["steady"][workload][name]
            assert cell["agrees"] and cell["error"] <= 1e-4, (workload, name, cell)
            assert cell["seconds"] > 0
            assert f"| {LABELS[name]}" in text
    assert data["steady"]["call"]["numpy"]["agrees"]
    assert "skipped" in data["steady"]["rosen"]["numpy"], "NumPy alone has no gradients"


def test_a_missing_peer_is_skipped_by_name(tiny):
    _, data, text = tiny
    assert data["missing"]["jax"] == "no module named jax"
    assert "Skipped: JAX (no module named jax)" in text
    assert not [workload for workload, cells in data["steady"].items() if "jax" in cells]
    assert "jax" not in data["versions"]


def test_growing_lengths_are_traced_once(tiny):
    _, data, _ = tiny
    ways = data["growing"]["peers"]
    for name in set(present()) - {"autograd"}:
        assert ways[name][""]["traces"] == 1
        assert ways[name][""]["lengths"] == data["growing"]["lengths"]
    for name in present():
        assert ways[name][""]["error"] < 1e-12


def test_results_name_no_directory(tiny):
    _, data, text = tiny
    for directory in (str(ROOT), str(Path.home()), sys.prefix):
        assert directory not in text
        assert directory not in json.dumps(data)


def test_disagreement_is_seen(suite, tmp_path):
    sections, report, workloads = suite
    value, gradient = np.array(2.0), np.array([1.0, -4.0])
    results = {
        "numtape": (value, gradient),
        "ideal": (value, gradient * (1 + 1e-9)),
        "jax": (value, gradient + 1e-4),
        "torch": (value,),
    }
    for name, arrays in results.items():
        np.savez(tmp_path / f"{name}.npz", *arrays)
    cells = {name: {"seconds": 1.0} for name in results}
    sections.disagreements(workloads.WORKLOADS["rosen"], tmp_path, cells)
    assert {name: cell["agrees"] for name, cell in cells.items()} == {
        "numtape": True,
        "ideal": True,
        "jax": False,
        "torch": False,
    }
    assert cells["jax"]["error"] == pytest.approx(1e-4 / 4)
    text = report.steady({"steady": {"rosen": cells}, "names": list(results), "notes": {}}, calls=True)
    assert text.count("differs by") == 1 and "other shapes" in text


def test_programs_take_another_librarys_module(suite):
    *_, workloads = suite

    class Doubling:
        exp = staticmethod(lambda x: 2 * x)

    assert workloads.program("exponential", np=Doubling)(3) == 6
    assert workloads.program("exponential")(0.0) == 1


def test_environment_of_the_workers(suite, monkeypatch, tmp_path):
    """numtape's own settings get through; a choice of matrix products for another processor does not."""
    from benchmarks import driver

    monkeypatch.setenv("NUMTAPE_BACKEND", "numba")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    env = driver.environment(str(tmp_path))
    assert env["NUMTAPE_BACKEND"] == "numba"
    assert env["OMP_NUM_THREADS"] == "1"
    assert "OPENBLAS_CORETYPE" not in env
    assert env["NUMTAPE_CACHE_DIR"].startswith(str(tmp_path))


def test_a_worker_that_is_late_is_ended(suite, tmp_path):
    from benchmarks import driver

    process = driver.Process("numpy", sys.executable, str(tmp_path))
    try:
        assert "versions" in process.ask("load")
        assert process.ask("prepare", workload="nonsense", tiny=True)["failed"] == "KeyError: 'nonsense'"
        assert "cpu" in process.ask("prepare", workload="call", tiny=True)
        assert process.ask("sample", 0.2, seconds=60)["failed"] == "more than 0.2 s"
        assert not process.alive()
        assert "ended" in process.ask("drop")["failed"]
    finally:
        process.close()
