"""Captured numbers, of a module and of a closure, are bound anew."""

import numpy as np

import numtape as nt

rate = 0.5


def make():
    count = 1

    @nt.jit
    def grown(x):
        return x * count + rate

    def turn():
        nonlocal count
        count += 1
        return count

    return grown, turn


grown, turn = make()
for _ in range(5):
    count = turn()
    rate *= 0.5
    np.testing.assert_array_equal(grown(np.ones(2)), np.ones(2) * count + rate)
