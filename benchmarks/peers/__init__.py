"""What is measured: numtape and its peers. Each module here holds one class, which says how its library does things."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..workloads import Workload, program

Function = Callable[..., Any]
Result = tuple[Any, tuple[Any, ...]]  # a value and its gradients


class Entry(NamedTuple):
    label: str
    module: str
    peer: str  # the class
    only_calls: bool = False  # measured for what a call costs alone


# the first is what the ratios are taken to
ENTRIES = {
    "numtape": Entry("numtape", "with_numtape", "Numtape"),
    "ideal": Entry("by hand (numba)", "by_hand", "ByHand"),
    "jax": Entry("JAX", "with_jax", "Jax"),
    "jax-numpy": Entry("JAX, NumPy in and out", "with_jax", "JaxOnNumPy", only_calls=True),
    "torch": Entry("torch.compile", "with_torch", "Torch"),
    "tensorflow": Entry("TensorFlow", "with_tensorflow", "TensorFlow"),
    "tensorflow-xla": Entry("TensorFlow, XLA", "with_tensorflow", "WithXLA"),
    "pytensor": Entry("PyTensor", "with_pytensor", "PyTensor"),
    "autograd": Entry("autograd", "with_autograd", "Autograd"),
    "numpy": Entry("NumPy", "with_numpy", "Plain", only_calls=True),
}
NOTHING_TO_SKIP = ("numtape", "ideal", "numpy")  # their packages are numtape's own dependencies


class NotMeasured(Exception):
    """This peer has no such measurement, and why."""


class Peer:
    """A library. `names` is what it puts in place of the names in programs.py, `np` first of all."""

    packages: tuple[str, ...] = ()
    names: dict[str, Any] = {}  # noqa: RUF012
    note = ""
    growing_ways: tuple[str, ...] = ("",)  # options that matter where lengths change, each measured

    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        """A compiled function of native arguments like `args`: value and gradients, or the value where wrt is ()."""
        raise NotImplementedError

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        """The data as the library's own arrays."""
        return data

    def bind(self, workload: Workload, data: tuple[Any, ...]) -> Callable[[], Any]:
        """A call without arguments that is finished when it returns."""
        args = self.native(data)
        f = self.differentiate(self.program(workload.program, workload.file), workload.wrt, args)
        return lambda: f(*args)

    def program(self, name: str, file: str = "programs") -> Function:
        return program(name, file, **self.names)

    def arrays(self, result: Any) -> list[np.ndarray]:
        """[value, gradients…] in NumPy."""
        value, gradients = result if isinstance(result, tuple) else (result, ())
        return [np.asarray(a) for a in (value, *gradients)]

    def growing(self, way: str) -> tuple[Function, Callable[[], int]]:
        """The gradient of the moving average as a function of an array, and the traces so far."""
        f, traces = counted(self.program("moving_average"))
        return self.differentiate(f, (0,), self.native((np.ones(1),))), traces

    def versions(self) -> dict[str, str]:
        return {name: importlib.metadata.version(name) for name in self.packages}


def counted(f: Function) -> tuple[Function, Callable[[], int]]:
    """`f`, and how often its Python code has run: once for each trace where it is compiled."""
    runs = 0

    def counting(*args: Any) -> Any:
        nonlocal runs
        runs += 1
        return f(*args)

    return counting, lambda: runs


def load(name: str) -> Peer:
    """The peer; ImportError where its library is not installed."""
    entry = ENTRIES[name]
    peer: Peer = getattr(importlib.import_module(f"{__name__}.{entry.module}"), entry.peer)()
    return peer
