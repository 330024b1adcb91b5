"""Kernels as LLVM IR text, compiled by llvmlite."""
