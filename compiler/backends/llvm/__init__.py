"""Kernels as LLVM IR, with vector math of our own, and a native entry for each compiled graph."""
