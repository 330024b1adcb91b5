"""numtape through its public face: the programs unchanged, NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numtape as nt
from numtape.runtime.build import chosen

from . import Function, Peer


class Numtape(Peer):
    packages = ("numtape", "numpy", "numba", "llvmlite")

    @property
    def note(self) -> str:  # type: ignore[override]
        return f"back end {chosen()}"

    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        return nt.value_and_grad(f, argnums=wrt) if wrt else nt.jit(f)

    def growing(self, way: str) -> tuple[Function, Callable[[], int]]:
        step = nt.value_and_grad(self.program("moving_average"), argnums=(0,))
        return step, lambda: step.stats.traces
