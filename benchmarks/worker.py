"""The process that one peer is measured in: it reads commands from stdin, a line of JSON each, and answers likewise.

Its first argument is the peer's name. Whatever a library prints goes to stderr.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

try:
    import resource
except ImportError:  # Windows: compilers that a library starts are not counted
    resource = None

from . import peers
from .workloads import WORKLOADS

TRIAD = 10**7


def cpu() -> float:
    """CPU seconds of this process and of the compilers it has started and waited for."""
    if resource is None:
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def status(field: str) -> int:
    """A field of this process's memory, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(f"{field}:"))


class Worker:
    """The peer and what it is set to run."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.call: Callable[[], Any] | None = None

    def load(self) -> dict[str, Any]:
        start = cpu()
        self.peer = peers.load(self.name)
        took = cpu() - start
        return {
            "versions": self.peer.versions(),
            "note": self.peer.note,
            "growing_ways": self.peer.growing_ways,
            "import_cpu": took,
        }

    def prepare(self, workload: str, tiny: bool, save: str = "") -> dict[str, Any]:
        """Bind the workload and call it once; the result goes to the file `save`."""
        w = WORKLOADS[workload]
        cpu_before, wall_before = cpu(), time.monotonic()
        data = w.data(tiny)
        cpu_data, wall_data = cpu() - cpu_before, time.monotonic() - wall_before
        self.call = self.peer.bind(w, data)
        result = self.call()
        times = {"cpu": cpu() - cpu_data, "finished": time.monotonic() - wall_data}  # since the process began
        if save:
            np.savez(save, *self.peer.arrays(result))
        return times

    def triad(self, tiny: bool) -> dict[str, Any]:
        from .ideal import kernels

        a, b, c = (np.full(1000 if tiny else TRIAD, x) for x in (0.0, 1.0, 2.0))
        self.call = lambda: kernels.triad(a, b, c)
        self.call()
        return {"bytes": 4 * a.nbytes}  # two reads, one write, and the read that comes before a write

    def sample(self, seconds: float) -> dict[str, Any]:
        """The least CPU time of a call, for as long as that."""
        call = self.call
        assert call is not None, "prepare comes first"
        start = time.process_time()
        call()
        count = int(0.002 / max(time.process_time() - start, 1e-7))  # the clock is read every 2 ms at most
        least, end = float("inf"), time.perf_counter() + seconds
        while least == float("inf") or time.perf_counter() < end:
            start = time.process_time()
            call()
            for _ in range(count):
                call()
            least = min(least, (time.process_time() - start) / (count + 1))
        return {"seconds": least}

    def drop(self) -> dict[str, Any]:
        self.call = None
        gc.collect()
        return {}

    def growing(self, way: str, lengths: int, limit: float) -> dict[str, Any]:
        """All lengths in turn, twice. Past the limit the first pass is broken off."""
        y = np.random.default_rng(1).standard_normal(lengths)
        step, traces = self.peer.growing(way)
        done, (start, wall) = 0, (cpu(), time.perf_counter())
        while done < lengths and time.perf_counter() - wall < limit:
            done += 1
            result = step(*self.peer.native((y[:done].copy(),)))
        out = {"first": cpu() - start, "lengths": done, "traces": traces()}
        if done == lengths:
            before = time.process_time()
            for n in range(1, lengths + 1):
                result = step(*self.peer.native((y[:n].copy(),)))
            out["second"] = time.process_time() - before
        means = np.convolve(y[:done], np.ones(3) / 3)[:done]
        out["error"] = abs(float(self.peer.arrays(result)[0]) / float(np.mean(means**2)) - 1)
        return out

    def memory(self, workload: str, tiny: bool) -> dict[str, Any]:
        """The peak while results are held, beyond what the process takes after a call on a few numbers."""
        w = WORKLOADS[workload]
        small = self.peer.bind(w, w.data(tiny=True))
        small()
        base = status("VmRSS")
        data = w.data(tiny)
        needed = sum(x.nbytes for x in data) + sum(data[i].nbytes for i in w.wrt)
        call = self.peer.bind(w, data)
        del data
        call()
        gc.collect()
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak is what there is now
        for _ in range(3):
            result = call()
            self.peer.arrays(result)
            del result
        return {"peak": status("VmHWM") - base, "needed": needed}

    def chain_of(self, ops: int) -> dict[str, Any]:
        """The first value and gradient of a long chain of elementwise operations."""
        x = self.peer.native((np.linspace(0.1, 1, 100),))
        f = partial(self.peer.program("long_chain"), ops=ops)
        if self.name == "torch":
            x[0].requires_grad_()
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 20 * ops))
        start = cpu()
        step = self.peer.differentiate(f, (0,), x)
        step(*x)
        first = cpu() - start
        start = cpu()
        step(*x)
        return {"first": first, "again": cpu() - start}


def answer(worker: Worker, command: dict[str, Any]) -> dict[str, Any]:
    try:
        return getattr(worker, command.pop("do"))(**command)  # type: ignore[no-any-return]
    except ModuleNotFoundError as error:
        return {"missing": error.name or str(error)}
    except peers.NotMeasured as reason:
        return {"skipped": str(reason)}
    except Exception as error:
        traceback.print_exc()
        text = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0]
        return {"failed": re.sub(r"(/[\w.+-]+){2,}", "…", text)[:150]}  # no paths of this machine


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(answer(worker, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
