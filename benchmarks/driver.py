"""Starts the workers and talks to them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import peers

ROOT = Path(__file__).resolve().parents[1]
Answer = dict[str, Any]

# one thread each, and as little chatter as they allow
FIXED = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "VECLIB_MAXIMUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "CUDA_VISIBLE_DEVICES": "",
}
# would choose matrix products for another processor than this one
# the last would have every process compile numtape's own Python files anew, while installed libraries have theirs
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_VERBOSE", "MKL_DEBUG_CPU_TYPE", "PYTHONDONTWRITEBYTECODE")


def environment(cache: str) -> dict[str, str]:
    """That of a worker: everything that a library keeps on disk goes below the directory `cache`."""
    own = {k: v for k, v in os.environ.items() if k not in UNSET}
    flags = f"{own.get('PYTENSOR_FLAGS', '')},base_compiledir={cache}/pytensor,blas__warn=False".strip(",")
    return {
        **own,
        **FIXED,
        "NUMTAPE_CACHE_DIR": f"{cache}/numtape",
        "NUMBA_CACHE_DIR": f"{cache}/numba",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/torch",
        "JAX_COMPILATION_CACHE_DIR": f"{cache}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "PYTENSOR_FLAGS": flags,
    }


def pin(core: int | None) -> int | None:
    """Keep this process, and so all that it starts, on one core: the one given, or the last; None if that can't be."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    chosen = max(os.sched_getaffinity(0)) if core is None else core
    os.sched_setaffinity(0, {chosen})
    return chosen


class Process:
    """One worker. After a failed or late answer it is gone; `ask` then says so."""

    def __init__(self, name: str, python: str, cache: str) -> None:
        self.started = time.monotonic()
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            cwd=ROOT,
            env=environment(cache),
        )

    def ask(self, do: str, patience: float = 600, **arguments: Any) -> Answer:
        assert self.process.stdin is not None and self.process.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.process.kill()

        timer = threading.Timer(patience, stop)
        timer.start()
        try:
            print(json.dumps({"do": do, **arguments}), file=self.process.stdin, flush=True)
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            answer: Answer = json.loads(line)
            return answer
        code = self.process.wait()
        return (
            {"failed": f"more than {patience:g} s"} if late.is_set() else {"failed": f"its process ended with {code}"}
        )

    def alive(self) -> bool:
        return self.process.poll() is None

    def errors(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        if self.alive():
            self.process.stdin.close()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.log.close()


@dataclass
class Team:
    """The peers of a run, what is known of them, and who is missing."""

    names: list[str]
    pythons: dict[str, str]
    cache: str
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    growing_ways: dict[str, list[str]] = field(default_factory=dict)
    verbose: bool = False

    def start(self, name: str, cache: str = "") -> tuple[Process, Answer]:
        process = Process(name, self.pythons.get(name, sys.executable), cache or f"{self.cache}/{name}")
        loaded = process.ask("load")
        if "versions" in loaded:
            self.versions[name] = loaded["versions"]
            self.notes[name] = loaded["note"]
            self.growing_ways[name] = loaded["growing_ways"]
        elif "missing" in loaded:
            self.missing[name] = f"no module named {loaded['missing']}"
        else:
            self.missing[name] = loaded.get("failed", "")
        return process, loaded

    def close(self, process: Process) -> None:
        if self.verbose:
            sys.stderr.write(process.errors())
        process.close()

    def present(self) -> list[str]:
        return [n for n in self.names if n not in self.missing]

    def everything(self) -> list[str]:
        """Those that are measured on more than single calls."""
        return [n for n in self.present() if not peers.ENTRIES[n].only_calls]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
