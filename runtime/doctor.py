"""What numtape finds on this machine, and whether all of it can serve."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np

from .build import chosen, unverified
from .settings import BACKENDS, settings
from .store import default_store

LIBRARIES = ("numpy", "numba", "llvmlite", "scipy", "optree", "opt_einsum")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Finding(NamedTuple):
    """One line of the report; `trouble` says what to do about it, "" where all is well."""

    topic: str
    text: str
    trouble: str = ""


def examine() -> list[Finding]:
    """All findings, in the order in which they are printed."""
    return [*_versions(), *_back_end(), *_machine(), *_store(), *_trial()]


def _versions() -> Iterator[Finding]:
    implementation = f"{platform.python_implementation()} {platform.python_version()}"
    yield Finding("numtape", f"{_version('numtape')} on {implementation}, {platform.system()} {platform.machine()}")
    yield Finding("libraries", ", ".join(f"{name} {_version(name)}" for name in LIBRARIES))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _back_end() -> Iterator[Finding]:
    try:
        wish = settings().backend
        said = "NUMTAPE_BACKEND chooses none" if wish == BACKENDS[0] else f"NUMTAPE_BACKEND={wish}"
        yield Finding("back end", f"{chosen()} ({said})")
    except ValueError as error:
        yield Finding("back end", "none", f"{error}. Without NUMTAPE_BACKEND, numtape chooses.")
    reason = unverified()
    if reason:
        yield Finding("native code", f"can't serve: {reason}", "Calls go through numba: right, but slower to start.")
    else:
        yield Finding("native code", "verified for this interpreter and this NumPy")


def _machine() -> Iterator[Finding]:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("processor", f"{_processor()}; {usable} of {os.cpu_count()} cores")
    yield Finding("BLAS", f"{_blas_of_numpy()}; {_blas_of_kernels()}")
    limits = [f"{name}={os.environ[name]}" for name in THREADS if os.environ.get(name)]
    limited = ", ".join(limits) or "no limit in the environment"
    yield Finding("threads", f"kernels run on the thread that calls; those of BLAS: {limited}")


def _processor() -> str:
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return platform.processor() or "unknown"
    has = llvm.get_host_cpu_features()
    wide = [name for name in ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve") if has.get(name)]
    return f"{llvm.get_host_cpu_name()} ({', '.join(wide) or 'no vector instructions'})"


def _blas_of_numpy() -> str:
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"NumPy has {found.get('name', 'an unknown one')} {found.get('version', '')}".strip()


def _blas_of_kernels() -> str:
    if unverified():
        return "products go through NumPy"
    from ..compiler.backends.llvm.libraries import blas

    kind, addresses = blas()
    owner = "NumPy's" if kind == "i64" else "SciPy's"
    return f"kernels call {owner}" if addresses else "kernels have none"


def _store() -> Iterator[Finding]:
    try:
        store = default_store()
    except ValueError as error:  # of the settings: told under "back end"
        yield Finding("store", f"unknown: {error}")
        return
    trouble = store.trouble()
    if trouble:
        fix = "Set NUMTAPE_CACHE_DIR to a directory that only you can write to."
        yield Finding("store", store.directory or "none", f"No code is kept: {trouble}. {fix}")
        return
    files = store.files(check=False)
    size = sum(f.size for f in files) / 1e6
    yield Finding("store", f"{store.directory}: {len(files)} files, {size:.1f} of {store.limit / 1e6:.0f} MB")


def _trial() -> Iterator[Finding]:
    """Compile and run something small, and look at the pool that its result came from."""
    from .jit import Function

    try:
        backend = chosen()
        function = Function(_small, on_retrace="ignore")
        found = function(np.arange(3.0))
    except Exception as error:  # whatever it is, it is what the user came here for
        yield Finding("trial", "compiled nothing", f"{type(error).__name__}: {error}")
        return
    if not np.array_equal(found, [1.0, 3.0, 5.0]):
        yield Finding("trial", f"2 * x + 1 of 0, 1, 2 gave {found}", "Please report this: it should be 1, 3, 5.")
        return
    origin = "loaded from the store" if function.stats.disk_hits else "compiled"
    yield Finding("trial", f"2 * x + 1 {origin} in {function.stats.compile_seconds:.2f} s, and right")
    if backend == "llvm":
        from ..compiler.backends.llvm.engine import engine

        state = engine().runtime.pool.counters()
        kept = f"{state['bytes'] / 1e6:.1f} of {state['limit'] / 1e6:.0f} MB in {state['blocks']} blocks"
        rest = ", ".join(f"{name} {state[name]}" for name in ("hits", "misses", "evicted", "bypassed"))
        yield Finding("pool", f"{kept}; {rest}")


def _small(x: Any) -> Any:
    return 2 * x + 1
