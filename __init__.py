"""Compiled values and gradients of plain NumPy functions, cached by dtype and rank, never by shape.

What costs an import is loaded when it is first asked for: numba and SciPy are not loaded by ``import numtape``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .runtime.gradient_tape import GradientTape
from .runtime.jit import jit
from .runtime.limits import max_traces, no_retrace
from .runtime.products import hvp, jvp, vjp
from .runtime.transforms import grad, hessian, jacobian, value_and_grad
from .tracer.errors import (
    CaptureError,
    DtypeError,
    GradError,
    NumtapeError,
    RetraceError,
    RetraceWarning,
    ShapeError,
    TapeError,
    TraceError,
)
from .tracer.stop import stop_gradient
from .tracer.tensor import Tensor, tensor
from .tracer.variable import Variable

if TYPE_CHECKING:
    from .tracer.numpy_api import logsumexp

__version__ = "0.1.0"

constant = tensor

__all__ = [
    "CaptureError", "DtypeError", "GradError", "GradientTape", "NumtapeError", "RetraceError", "RetraceWarning",
    "ShapeError", "TapeError", "Tensor", "TraceError", "Variable", "constant", "grad", "hessian", "hvp", "jacobian",
    "jit", "jvp", "logsumexp", "max_traces", "no_retrace", "stop_gradient", "tensor", "value_and_grad", "vjp",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "logsumexp":
        from .tracer import numpy_api

        return numpy_api.logsumexp
    raise AttributeError(f"module 'numtape' has no attribute {name!r}")
