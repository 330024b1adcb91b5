"""PyTensor in numba mode: the programs with `pytensor.tensor`, arguments not checked again in each call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt

from . import Function, Peer


class PyTensor(Peer):
    packages = ("pytensor",)
    names = {"np": pt, "erf": pt.erf, "logsumexp": pt.logsumexp}  # noqa: RUF012

    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        inputs = [pt.tensor(f"a{i}", dtype=x.dtype, shape=(None,) * x.ndim) for i, x in enumerate(args)]
        value = f(*inputs)
        outputs = [value, *pytensor.grad(value, [inputs[i] for i in wrt])] if wrt else [value]
        compiled = pytensor.function(inputs, outputs, mode="NUMBA")
        compiled.trust_input = True
        return compiled

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(np.asarray(x) for x in data)

    def arrays(self, result: Any) -> list[np.ndarray]:
        return [np.asarray(a) for a in result]
