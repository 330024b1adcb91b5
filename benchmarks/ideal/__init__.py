"""Kernels written by hand for each workload: about what one core can do, to measure everything else against."""
