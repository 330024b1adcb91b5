"""What recording costs per op, against autograd in the same run, and how tracing and differentiating scale.

Run it with ``python benchmarks/recording.py``. All figures are CPU time, the least of many repeats in this process,
with the garbage collector on as in use; compare ratios, not machines.
"""

import argparse
import importlib
import time

import numpy as np

import numtape as nt
from numtape.compiler.gradient import vjp
from numtape.compiler.simplify import simplify
from numtape.tracer.record import Trace, recording
from numtape.tracer.tensor import wrap

OPS = 1000
GOAL = 0.6  # of autograd's time per op


def chain(x, tanh, ops):
    """`ops` small operations in a row, four kinds in turn."""
    for _ in range(ops // 4):
        x = x * 1.01
        x = x + 0.5
        x = tanh(x)
        x = x - 0.1
    return x


def with_numpy(x):
    chain(x, np.tanh, OPS)


def with_numtape(x):
    with nt.GradientTape() as tape:
        tape.watch(x)
        chain(x, np.tanh, OPS)


def autograd_recorder():
    """Record the same chain with autograd, or None where it is not installed."""
    try:
        make_vjp = importlib.import_module("autograd").make_vjp
        tanh = importlib.import_module("autograd.numpy").tanh
    except ImportError:
        return None
    record = make_vjp(lambda x: chain(x, tanh, OPS))
    return lambda x: record(x) and None


def least(runs, repeats):
    """The least CPU time of each run; they take turns, so that a slow moment of the machine meets all of them."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def recording_cost(repeats):
    x, watched, record = np.ones(4), nt.tensor(np.ones(4)), autograd_recorder()
    runs = {"NumPy alone": lambda: with_numpy(x), "numtape": lambda: with_numtape(watched)}
    if record is not None:
        runs["autograd"] = lambda: record(x)
    print(f"a tape of {OPS} ops on 4 numbers, made and dropped; microseconds per op, least of {repeats}")
    best = least(runs, repeats)
    for name, seconds in best.items():
        print(f"  {name:12s} {seconds / OPS * 1e6:7.3f}")
    if record is None:
        print("  autograd is not installed: no ratio")
        return
    print(f"  numtape / autograd {best['numtape'] / best['autograd']:.2f}   (goal: at most {GOAL})")


def stages(ops, repeats):
    """The least CPU time of each stage from Python code to a simplified forward and backward graph."""
    best = {}

    def timed(stage, run, *args):
        start = time.process_time()
        result = run(*args)
        best[stage] = min(best.get(stage, float("inf")), time.process_time() - start)
        return result

    def record(name):
        trace = Trace(name)
        with recording(trace):
            result = chain(wrap(trace.input("x", np.ones(4))), np.tanh, ops)
            return trace.finish([result._read()])

    for repeat in range(repeats):
        # a name of its own: a graph that was differentiated before is remembered
        graph = timed("trace", record, f"chain_{ops}_{repeat}")
        assert len(graph.nodes) >= ops
        both = timed("differentiate", vjp, graph, (0,))
        timed("simplify", simplify, both)
    return best


def scaling(repeats):
    small, large = OPS, 10 * OPS
    print(f"trace, differentiate, simplify; microseconds per op, least of {repeats}")
    few, many = stages(small, repeats), stages(large, repeats)
    print(f"  {'':14s}{small:>9,d}{large:>9,d}    growth of the cost per op (1 is linear time)")
    for stage in few:
        a, b = few[stage] / small * 1e6, many[stage] / large * 1e6
        print(f"  {stage:14s}{a:9.2f}{b:9.2f}{b / a:8.2f}")
    total = sum(few.values()), sum(many.values())
    print(f"  in all, seconds{total[0]:8.3f}{total[1]:9.3f}{total[1] / total[0] / 10:8.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=200, help="of the recording; the rest is repeated less")
    repeats = parser.parse_args().repeats
    recording_cost(repeats)
    scaling(max(3, repeats // 40))


if __name__ == "__main__":
    main()
