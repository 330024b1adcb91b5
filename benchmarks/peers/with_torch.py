"""torch.compile over the programs, with torch's functions under NumPy's names; gradients by torch.autograd.grad."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch._dynamo.utils import counters
from torch.nn import functional

from . import Function, Peer

torch.set_num_threads(1)

NAMES = SimpleNamespace(
    **{name: getattr(torch, name) for name in "exp log log1p sin tanh sqrt sum mean arange".split()},
    max=torch.amax,
    dot=torch.matmul,
    maximum=lambda x, low: torch.clamp_min(x, low),
    logaddexp=lambda zero, x: functional.softplus(x),  # the only use in the programs
    concatenate=torch.cat,
    zeros=lambda n: torch.zeros(n, dtype=torch.float64),
)


class Torch(Peer):
    packages = ("torch",)
    names = {"np": NAMES, "erf": torch.erf, "logsumexp": lambda x, axis: torch.logsumexp(x, axis)}  # noqa: RUF012

    def differentiate(
        self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...], dynamic: bool | None = None
    ) -> Function:
        compiled = torch.compile(f, dynamic=dynamic)
        if not wrt:
            return compiled

        def call(*args: Any) -> Any:
            value = compiled(*args)
            return value, torch.autograd.grad(value, [args[i] for i in wrt])

        return call

    def bind(self, workload: Any, data: tuple[Any, ...]) -> Callable[[], Any]:
        args = self.native(data)
        for i in workload.wrt:
            args[i].requires_grad_()
        f = self.differentiate(self.program(workload.program, workload.file), workload.wrt, args)
        return lambda: f(*args)

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(torch.from_numpy(np.array(x)) for x in data)

    def arrays(self, result: Any) -> list[np.ndarray]:
        value, gradients = result if isinstance(result, tuple) else (result, ())
        return [a.detach().numpy() for a in (value, *gradients)]

    def growing(self) -> Iterator[tuple[str, Function, Callable[[], int | None]]]:
        for dynamic in (None, True):
            torch._dynamo.reset()
            counters.clear()
            step = self.differentiate(self.program("moving_average"), (0,), (), dynamic)
            # no default argument for `step` would do: the label is used up before the next turn of this loop
            yield (
                f"dynamic={dynamic}",
                lambda y, step=step: step(y.requires_grad_()),
                lambda: counters["stats"]["unique_graphs"],
            )
