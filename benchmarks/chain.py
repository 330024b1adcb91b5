"""Eight arithmetic ops on 1e6 elements: value and gradient compiled, against NumPy's value alone; and growing lengths.

Run it with ``python benchmarks/chain.py``. CPU time of one process, the minimum of many repeats, printed as ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import numtape as nt


def chain(x):
    return np.sum(((x * 2 + 1) * x - 0.5) / (x + 3) * x - x * 0.25)


def moving_average(y):
    padded = np.concatenate([np.zeros(2), y])
    means = (padded[2:] + padded[1:-1] + padded[:-2]) / 3
    return np.mean(means**2)


def best(f: Callable[[], object], repeats: int = 30) -> float:
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        f()
        least = min(least, time.process_time() - start)
    return least


def main() -> None:
    x = np.random.default_rng(0).random(1_000_000)
    value, both = nt.jit(chain), nt.value_and_grad(chain)
    value(x), both(x)
    plain = best(lambda: chain(x))
    compiled = best(lambda: value(x))
    gradient = best(lambda: both(x))
    print(f"chain of 8, n = 1e6: NumPy's value {plain * 1e3:.2f} ms")
    print(f"  compiled value           {compiled * 1e3:.2f} ms, ratio {compiled / plain:.2f}")
    print(f"  compiled value, gradient {gradient * 1e3:.2f} ms, ratio {gradient / plain:.2f}")

    y = np.random.default_rng(1).normal(size=200)
    step = nt.value_and_grad(moving_average)
    start = time.process_time()
    for n in range(1, 201):
        step(y[:n])
    first = time.process_time() - start
    again = best(lambda: [step(y[:n]) for n in range(1, 201)])
    print(f"growing lengths 1..200, value and gradient: {step.stats.traces} traces, first pass {first:.2f} s CPU")
    print(f"  second pass {again * 1e3:.2f} ms, {again / 200 * 1e6:.1f} us a call")

    small = np.ones(4)
    f = nt.jit(lambda x: x * 2 + 1)
    f(small)
    call, exp = best(lambda: [f(small) for _ in range(1000)]), best(lambda: [np.exp(small) for _ in range(1000)])
    print(f"a call on 4 elements: {call * 1e3:.2f} us, ratio to np.exp {call / exp:.1f}")


if __name__ == "__main__":
    main()
