"""torch.compile over the programs, with torch's functions under NumPy's names; gradients in the faster of two ways."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch._dynamo.utils import counters
from torch.nn import functional
from torch.utils import _pytree as pytree

from ..workloads import Workload
from . import Function, Peer

torch.set_num_threads(1)

NAMES = SimpleNamespace(
    **{name: getattr(torch, name) for name in ("exp", "log", "log1p", "sin", "tanh", "sqrt", "sum", "mean", "arange")},
    max=torch.amax,
    dot=torch.matmul,
    maximum=lambda x, low: torch.clamp_min(x, low),
    logaddexp=lambda zero, x: functional.softplus(x),  # the only use in the programs
    concatenate=torch.cat,
    zeros=lambda n: torch.zeros(n, dtype=torch.float64),
)


class Torch(Peer):
    packages = ("torch",)
    growing_ways = ("dynamic=None", "dynamic=True")
    names = {"np": NAMES, "erf": torch.erf, "logsumexp": lambda x, axis: torch.logsumexp(x, axis)}  # noqa: RUF012

    def differentiate(
        self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...], dynamic: bool | None = None
    ) -> Function:
        if not wrt:
            return torch.compile(f, dynamic=dynamic)
        compiled = torch.compile(torch.func.grad_and_value(f, argnums=wrt), dynamic=dynamic)

        def call(*args: Any) -> Any:
            gradients, value = compiled(*args)
            return value, gradients

        return call

    def bind(self, workload: Workload, data: tuple[Any, ...]) -> Callable[[], Any]:
        """Gradients inside of what is compiled take half as long for large data, and twice as long for small."""
        if not (workload.call and workload.wrt):
            return super().bind(workload, data)
        args = self.native(data)
        watched = [args[i].requires_grad_() for i in workload.wrt]
        compiled = torch.compile(self.program(workload.program, workload.file))

        def call() -> Any:
            value = compiled(*args)
            return value, torch.autograd.grad(value, watched)

        return call

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(torch.from_numpy(np.array(x)) for x in data)

    def arrays(self, result: Any) -> list[np.ndarray]:
        return super().arrays(pytree.tree_map(torch.Tensor.detach, result))

    def growing(self, way: str) -> tuple[Function, Callable[[], int]]:
        dynamic = {"dynamic=None": None, "dynamic=True": True}[way]
        step = self.differentiate(self.program("moving_average"), (0,), (), dynamic)
        return step, lambda: counters["stats"]["unique_graphs"]
