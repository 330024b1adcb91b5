"""Tensors, tapes and graphs: what a NumPy program does, written down."""
