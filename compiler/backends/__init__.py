"""What takes kernels to machine code. A back end is a function from a graph to a compiled graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def backend_named(name: str) -> Callable[..., Any]:
    """The back end of that name. Raises ValueError that lists the names."""
    if name == "numba":
        from .numba import compile_numba

        return compile_numba
    if name == "llvm":
        from .llvm.compiled import compile_llvm

        return compile_llvm
    if name == "interpreter":
        from .interpreter import Interpreted

        return Interpreted
    raise ValueError(f"no back end {name!r}: there are 'llvm', 'numba' and 'interpreter'")
