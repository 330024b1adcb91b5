"""What a call costs that finds its compiled entry: nanoseconds of CPU time, and as a ratio to np.exp in the same run.

python benchmarks/hit.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import numtape as nt

TURNS, REPEATS = 20_000, 9
x, weights = np.ones(4), np.ones(4)


class Model:
    """A function that reads its object's attributes."""

    def __init__(self) -> None:
        self.w = np.ones(4)

    @nt.jit
    def loss(self, x: Any) -> Any:
        return np.sum(self.w * x)


def least(call: Callable[[], Any]) -> float:
    """The least CPU time of a call, the loop's own taken off."""
    call(), call(), call()
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time_ns()
        for _ in range(TURNS):
            call()
        best = min(best, (time.process_time_ns() - start) / TURNS)
    return best


def main() -> None:
    """Print a line for each kind of call."""
    model, variable = Model(), nt.Variable(np.ones(4))
    forward, scaled = nt.jit(lambda x: np.exp(x)), nt.jit(lambda x, k: x * k)
    captured, both = nt.jit(lambda x: x * weights), nt.value_and_grad(lambda x: np.sum(np.sin(x) ** 2))
    read = nt.jit(lambda x: np.sum(variable * x))
    calls: dict[str, Callable[[], Any]] = {
        "one array": lambda: forward(x),
        "an array and a float": lambda: scaled(x, 2.0),
        "a captured array": lambda: captured(x),
        "value and gradient": lambda: both(x),
        "a method": lambda: model.loss(x),
        "a Variable": lambda: read(x),
    }
    empty, unit = least(lambda: None), least(lambda: np.exp(x))
    print(f"np.exp of 4 numbers: {unit - empty:.0f} ns")
    for name, call in calls.items():
        taken = least(call) - empty
        print(f"{name}: {taken:.0f} ns, {taken / (unit - empty):.2f} of np.exp")


if __name__ == "__main__":
    main()
