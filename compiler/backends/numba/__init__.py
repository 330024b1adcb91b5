"""Kernels as readable Python source, compiled by numba."""

from .compiled import compile_numba

__all__ = ["compile_numba"]
