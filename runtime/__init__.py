"""Compiled functions: signatures, entries, transforms, diagnostics and the command line."""
