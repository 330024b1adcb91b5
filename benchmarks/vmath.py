"""The vector math's largest errors and times per element, as the table in docs/vector-math.md.

Run it with ``python benchmarks/vmath.py`` (needs mpmath, some minutes); ``--write`` puts the table into the document.
Errors: many random points per region are judged in extended precision where the platform has it, and the worst of them
and all hard points by mpmath. Times: CPU time per element, one core, 100,000 elements, the least of many repeats, in
turns with NumPy (SciPy for erf and the sigmoid); the loop is one that LLVM vectorised.
"""

import argparse
import sys
import time
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
from scipy import special

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from vmath_cases import ALL, BINARY, DTYPE, UNARY, Loops, draw, errors, machine, optimise, points  # noqa: E402

from numtape.compiler.backends.llvm.vmath import FUNCTIONS, module_text  # noqa: E402

DOCUMENT = ROOT / "docs" / "vector-math.md"
MARKS = "<!-- begin: benchmarks/vmath.py -->", "<!-- end -->"
WIDTH = {"f64": 8, "f32": 16}
ELEMENTS = 100_000
WORST = 50  # candidates of each region that mpmath judges
TIMED = {
    "log": (0.01, 10), "log2": (0.01, 10), "log10": (0.01, 10), "log1p": (-0.9, 10),
    "arcsin": (-1, 1), "arccos": (-1, 1), "arccosh": (1, 10), "arctanh": (-1, 1),
    "pow": (0.01, 5),
}  # fmt: skip
PEERS = {"pow": np.power, "erf": special.erf, "sigmoid": special.expit}


def peer(name):
    return PEERS.get(name) or getattr(np, name)


def extended(name, dtype):
    """A function that is clearly more precise than the dtype, or None."""
    if name == "erf":
        return special.erf if dtype == "f32" else None
    if name == "sigmoid":
        return lambda x: 1 / (1 + np.exp(-x))
    return peer(name)


def candidates(name, dtype, operands, results):
    """Indices of the results that are furthest off by extended precision."""
    wider = np.longdouble if np.finfo(np.longdouble).nmant >= 63 else np.float64
    reference = extended(name, dtype)
    if reference is None or (wider is np.float64 and dtype == "f64"):
        return np.arange(min(len(results), 20_000))
    with np.errstate(all="ignore"):
        precise = reference(*(o.astype(wider if name != "erf" else np.float64) for o in operands))
        nearest = precise.astype(DTYPE[dtype])
        off = np.abs(results.astype(precise.dtype) - precise) / np.spacing(np.abs(nearest)).astype(precise.dtype)
    off[~np.isfinite(off)] = 0
    return np.argsort(off)[-WORST:]


def largest_error(loops, name, dtype, count, rng):
    run = loops(name, dtype, WIDTH[dtype])
    operands = points(name, dtype, 100, rng)
    found = [errors(name, dtype, operands, run(*operands))]
    unary = FUNCTIONS[name].arity == 1
    for region in UNARY[name] if unary else BINARY[name]:
        operands = tuple(draw(part, count, dtype, rng) for part in ((region,) if unary else region))
        results = run(*operands)
        chosen = candidates(name, dtype, operands, results)
        found.append(errors(name, dtype, [o[chosen] for o in operands], results[chosen]))
    return np.nanmax(np.concatenate(found))


def least_times(runs, repeats=40):
    """The least CPU time per element of each run, in ns; they take turns."""
    best = [float("inf")] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = time.process_time_ns()
            run()
            best[i] = min(best[i], time.process_time_ns() - start)
    return [b / ELEMENTS for b in best]


def times(loops, name, dtype, rng):
    low, high = TIMED.get(name, (-5, 5))
    operands = [rng.uniform(low, high, ELEMENTS).astype(DTYPE[dtype]) for _ in range(FUNCTIONS[name].arity)]
    if name == "pow":
        operands[1] = rng.uniform(-5, 5, ELEMENTS).astype(DTYPE[dtype])
    out, run, other = np.empty_like(operands[0]), loops(name, dtype, WIDTH[dtype]), peer(name)
    return least_times([lambda: run(*operands, out=out), lambda: other(*operands, out=out)])


def compile_time():
    """CPU time in ms from text to object code of all functions, at one width each."""
    target, best = machine(), float("inf")
    for _ in range(3):
        start = time.process_time()
        lanes = {dtype: [n] for dtype, n in WIDTH.items()}
        size = len(target.emit_object(optimise(module_text(ALL, lanes, "external"), target)))
        best = min(best, time.process_time() - start)
    return 1e3 * best, size / 1024


def table(count):
    rng = np.random.default_rng(0)
    loops = Loops(ALL, {dtype: [n] for dtype, n in WIDTH.items()})
    widths = WIDTH["f64"], WIDTH["f32"]
    yield "| | f64: max ulp | ns, {} lanes | NumPy ns | f32: max ulp | ns, {} lanes | NumPy ns |".format(*widths)
    yield "|---|---|---|---|---|---|---|"
    for name in FUNCTIONS:
        cells = [name]
        for dtype in WIDTH:
            error = largest_error(loops, name, dtype, count, rng)
            ours, theirs = times(loops, name, dtype, rng)
            cells += [f"{error:.2f}", f"{ours:.2f}", f"{theirs:.1f}"]
        yield f"| {' | '.join(cells)} |"
    huge = np.exp2(rng.uniform(31, 1000, ELEMENTS))
    run, out = loops("sin", "f64", WIDTH["f64"]), np.empty_like(huge)
    ours, theirs = least_times([lambda: run(huge, out=out), lambda: np.sin(huge, out=out)], 10)
    milliseconds, kilobytes = compile_time()
    yield ""
    yield (
        f"Processor {llvm.get_host_cpu_name()}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}, NumPy "
        f"{np.__version__}; {count:,} random points per region. sin of arguments beyond 2^30: {ours:.0f} ns (NumPy "
        f"{theirs:.0f}). All functions at one width each compile in {milliseconds:.0f} ms to {kilobytes:.0f} KB."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="random points per region")
    parser.add_argument("--write", action="store_true", help=f"put the table into {DOCUMENT.name}")
    arguments = parser.parse_args()
    lines = []
    for line in table(arguments.points):
        print(line, flush=True)
        lines.append(line)
    if arguments.write:
        head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(MARKS[0])
        _, _, tail = rest.partition(MARKS[1])
        DOCUMENT.write_text("\n".join([head + MARKS[0], *lines, MARKS[1] + tail]), encoding="utf-8")


if __name__ == "__main__":
    main()
