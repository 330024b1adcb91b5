"""What is measured: for each workload its program, its data and what it is differentiated with respect to."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Array = np.ndarray
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Workload:
    """`make(rng, n)` is the data, `wrt` the arguments to differentiate (none: the value alone), `n` the size."""

    name: str
    what: str
    program: str
    make: Callable[[np.random.Generator, int], tuple[Any, ...]]
    wrt: tuple[int, ...]
    n: int
    tiny: int
    file: str = "programs"
    tolerance: float = 1e-6
    call: bool = False  # small data: what a call costs, in microseconds

    def data(self, tiny: bool = False) -> tuple[Any, ...]:
        return self.make(np.random.default_rng(7), self.tiny if tiny else self.n)


def program(name: str, file: str = "programs", **names: Any) -> Callable[..., Any]:
    """The function of that name, in a copy of its file where e.g. `np` is another library's module."""
    spec = importlib.util.spec_from_file_location(f"benchmarks.{file}", HERE / f"{file}.py")
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for key, value in names.items():
        if hasattr(module, key):
            setattr(module, key, value)
    return getattr(module, name)


def normals(count: int, dtype: str = "f8") -> Callable[[np.random.Generator, int], tuple[Array, ...]]:
    return lambda rng, n: tuple(rng.standard_normal(n, dtype) for _ in range(count))


def options(rng: np.random.Generator, n: int) -> tuple[Array, ...]:
    ranges = (80, 120), (0.1, 0.5), (80, 120), (0.1, 2)  # spot, volatility, strike, years
    return tuple(rng.uniform(low, high, n) for low, high in ranges)


def classes(rng: np.random.Generator, n: int) -> tuple[Any, ...]:
    w, X = 0.1 * rng.standard_normal(100), rng.standard_normal((n, 100))
    return w, np.array(0.1), X, (rng.random(n) < 0.5) * 1.0


def scores(rng: np.random.Generator, n: int) -> tuple[Array, ...]:
    return rng.standard_normal((n, 1000)), rng.integers(0, 1000, n)


def network(rng: np.random.Generator, n: int) -> tuple[Array, ...]:
    sizes = (784, 256, 128, 10)
    weights = []
    for rows, columns in itertools.pairwise(sizes):
        weights += [rng.standard_normal((rows, columns), "f4") * np.float32(rows**-0.5), np.zeros(columns, "f4")]
    return *weights, rng.standard_normal((n, 784), "f4"), rng.integers(0, 10, n)


def one_number(rng: np.random.Generator, n: int) -> tuple[Array]:
    return (np.array(0.5),)


TEN = 10
TABLE = (
    Workload("chain64", "Σ tanh(exp(-x²)·sin y + log1p z²), n = 1e6", "chain", normals(3), (0, 1, 2), 10**6, 1000),
    Workload("chain32", "the same in float32", "chain", normals(3, "f4"), (0, 1, 2), 10**6, 1000, tolerance=1e-4),
    Workload("membound", "Σ (a·x + b·y - c)², n = 1e7", "weighted_squares", normals(3), (0, 1), 10**7, 1000),
    Workload("bs", "Black-Scholes prices, n = 1e6", "call_prices", options, (0, 1), 10**6, 1000, "programs_scipy"),
    Workload("logreg", "logistic loss + L2, 20,000 × 100", "logistic", classes, (0, 1), 20_000, 50),
    Workload("smce", "softmax cross-entropy, 4,096 × 1,000", "cross_entropy", scores, (0,), 4096, 16),
    Workload("smce-lse", "the same with logsumexp", "cross_entropy", scores, (0,), 4096, 16, "programs_scipy"),
    Workload(
        "mlp", "784-256-128-10, batch 256, float32", "perceptron", network, tuple(range(6)), 256, 8, tolerance=1e-4
    ),
    Workload("rosen", "Rosenbrock, 10 numbers", "rosenbrock", normals(1), (0,), TEN, TEN, call=True),
    Workload("scalar", "sin(x)·exp(-x), 0-d", "damped", one_number, (0,), 1, 1, call=True),
    Workload("call", "exp of 10 numbers, the value alone", "exponential", normals(1), (), TEN, TEN, call=True),
)
WORKLOADS = {w.name: w for w in TABLE}
