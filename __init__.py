"""Compiled values and gradients of plain NumPy functions, cached by dtype and rank, never by shape.

Each name is loaded when it is first asked for, so that ``import numtape`` costs next to nothing; neither numba nor
SciPy is loaded by it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .runtime.decorator import jit
    from .runtime.gradient_tape import GradientTape
    from .runtime.hooks import on_compile, on_trace
    from .runtime.limits import max_traces, no_retrace
    from .runtime.products import hvp, jvp, vjp
    from .runtime.report import report
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
    from .tracer.numpy_api import logsumexp
    from .tracer.stop import stop_gradient
    from .tracer.tensor import Tensor, constant, tensor
    from .tracer.variable import Variable

__version__ = "0.1.0"

_HOMES = {
    "runtime.gradient_tape": ("GradientTape",),
    "runtime.decorator": ("jit",),
    "runtime.hooks": ("on_compile", "on_trace"),
    "runtime.limits": ("max_traces", "no_retrace"),
    "runtime.products": ("hvp", "jvp", "vjp"),
    "runtime.report": ("report",),
    "runtime.transforms": ("grad", "hessian", "jacobian", "value_and_grad"),
    "tracer.errors": (
        "CaptureError", "DtypeError", "GradError", "NumtapeError", "RetraceError", "RetraceWarning", "ShapeError",
        "TapeError", "TraceError",
    ),
    "tracer.numpy_api": ("logsumexp",),
    "tracer.stop": ("stop_gradient",),
    "tracer.tensor": ("Tensor", "constant", "tensor"),
    "tracer.variable": ("Variable",),
}  # fmt: skip

__all__ = [
    "CaptureError", "DtypeError", "GradError", "GradientTape", "NumtapeError", "RetraceError", "RetraceWarning",
    "ShapeError", "TapeError", "Tensor", "TraceError", "Variable", "constant", "grad", "hessian", "hvp", "jacobian",
    "jit", "jvp", "logsumexp", "max_traces", "no_retrace", "on_compile", "on_trace", "report", "stop_gradient",
    "tensor", "value_and_grad", "vjp",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f".{home}", __name__), name)
            return value
    raise AttributeError(f"module 'numtape' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
