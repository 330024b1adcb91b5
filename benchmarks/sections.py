"""The measurements: each function asks the workers and returns a plain dict, which report.py lays out."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .driver import Process, Team, say
from .peers import ENTRIES
from .workloads import TABLE, WORKLOADS, Workload

Cells = dict[str, dict[str, Any]]


def steady(team: Team, workloads: list[str], tiny: bool, rounds: int, seconds: float, limit: float) -> dict[str, Any]:
    """The least CPU time of a call once all is compiled; in each round every peer has its turn."""
    processes: dict[str, Process] = {}
    out: dict[str, Any] = {}

    def worker(name: str) -> Process | None:
        if name in processes and not processes[name].alive():
            team.close(processes.pop(name))
        if name not in processes and name not in team.missing:
            processes[name] = team.start(name)[0]
        return None if name in team.missing else processes[name]

    for w in TABLE:
        if w.name not in workloads:
            continue
        say(f"steady: {w.name}")
        with tempfile.TemporaryDirectory() as results:
            cells: Cells = {}
            for name in team.names:
                if ENTRIES[name].only_calls and not w.call:
                    continue
                process = worker(name)
                if process is not None:
                    save = f"{results}/{name}.npz"
                    cells[name] = process.ask("prepare", limit, workload=w.name, tiny=tiny, save=save)
            disagreements(w, Path(results), cells)
            ready = [n for n, cell in cells.items() if "cpu" in cell]
            for _ in range(rounds):
                for name in ready:
                    taken = processes[name].ask("sample", limit, seconds=seconds).get("seconds", float("nan"))
                    cells[name]["seconds"] = min(cells[name].get("seconds", float("inf")), taken)
            for name in processes:
                if processes[name].alive():
                    processes[name].ask("drop")
        out[w.name] = {n: {k: v for k, v in c.items() if k not in ("cpu", "finished")} for n, c in cells.items()}
    for process in processes.values():
        team.close(process)
    return out


def disagreements(w: Workload, results: Path, cells: Cells) -> None:
    """In each cell the largest distance from the first peer's result, over that array's largest entry."""
    first: list[np.ndarray] | None = None
    for name, cell in cells.items():
        file = results / f"{name}.npz"
        if not file.exists():
            continue
        with np.load(file) as saved:
            arrays = [saved[key].astype("f8") for key in saved.files]
        first = arrays if first is None else first
        cell["shapes"] = [a.shape for a in arrays] == [a.shape for a in first]
        if cell["shapes"]:
            pairs = zip(arrays, first, strict=True)
            cell["error"] = max(float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-300)) for a, b in pairs)
        cell["agrees"] = bool(cell["shapes"] and cell["error"] <= w.tolerance)
        del cell["shapes"]


def bandwidth(team: Team, tiny: bool, rounds: int, seconds: float, steady: dict[str, Any]) -> dict[str, Any]:
    """A triad's bytes per second, and the share of it that membound reaches at the least traffic it needs."""
    process, loaded = team.start("ideal")
    if "versions" not in loaded:
        team.close(process)
        return {}
    moved = process.ask("triad", tiny=tiny)["bytes"]
    best = min(process.ask("sample", seconds=seconds)["seconds"] for _ in range(rounds))
    team.close(process)
    w = WORKLOADS["membound"]
    n = w.tiny if tiny else w.n
    needed = 8 * n * (3 + 2 * 2)  # three arrays read, two written, each write preceded by a read
    cells = {k: c["seconds"] for k, c in steady.get(w.name, {}).items() if "seconds" in c}
    rate = moved / best
    return {"triad": rate, "share": {k: needed / s / rate for k, s in cells.items()}}


def first(team: Team, workloads: list[str], tiny: bool, limit: float) -> dict[str, Any]:
    """From the start of a process to its first result: with an empty cache, then with what that one left."""
    out: dict[str, Any] = {}
    for workload in workloads:
        out[workload] = {}
        for name in team.everything():
            say(f"first call: {workload}, {name}")
            cell: dict[str, Any] = {}
            with tempfile.TemporaryDirectory() as cache:
                for when in ("cold", "warm"):
                    process, loaded = team.start(name, cache)
                    if "versions" in loaded:
                        answer = process.ask("prepare", limit, workload=workload, tiny=tiny)
                        if "cpu" in answer:
                            wall = answer["finished"] - process.started
                            answer = {"cpu": answer["cpu"], "wall": wall, "import": loaded["import_cpu"]}
                        cell[when] = answer
                    team.close(process)
            if cell:
                out[workload][name] = cell
    return out


def growing(team: Team, tiny: bool, limit: float) -> dict[str, Any]:
    """Value and gradient for many lengths, one longer than the other; each way in a process of its own."""
    lengths = 20 if tiny else 200
    out: dict[str, Any] = {"lengths": lengths, "peers": {}}
    for name in team.everything():
        out["peers"][name] = {}
        for way in team.growing_ways[name]:
            say(f"growing: {name} {way}")
            answer = alone(team, name, "growing", 3 * limit, way=way, lengths=lengths, limit=limit)
            out["peers"][name][way] = answer
    return out


def memory(team: Team, tiny: bool, limit: float) -> dict[str, Any]:
    """The peak of the memory-bound workload over its inputs and outputs."""
    out: dict[str, Any] = {}
    for name in team.everything():
        say(f"memory: {name}")
        out[name] = alone(team, name, "memory", limit, workload="membound", tiny=tiny)
    return out


def compiling(team: Team, tiny: bool, limit: float) -> dict[str, Any]:
    """First call of a chain's value and gradient by its length; past the limit longer ones are not tried."""
    sizes = (10, 100) if tiny else (10, 100, 1000, 10_000)
    out: dict[str, Any] = {"sizes": sizes, "limit": limit, "peers": {}}
    for name in team.everything():
        if name == "ideal":
            continue
        cells: Cells = {}
        for ops in sizes:
            say(f"compile time: {name}, {ops}")
            cells[str(ops)] = alone(team, name, "chain_of", limit, ops=ops)
            if "first" not in cells[str(ops)]:
                break
        out["peers"][name] = cells
    return out


def alone(team: Team, name: str, do: str, patience: float, **arguments: Any) -> dict[str, Any]:
    """One command to a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        process, loaded = team.start(name, cache)
        answer = process.ask(do, patience, **arguments) if "versions" in loaded else loaded
        team.close(process)
    return answer
