"""Lambdas, closures, partials and bound methods that are made anew at each call, as arguments."""

from functools import partial

import numpy as np

import numtape as nt


class Layer:
    def __init__(self, w):
        self.w = w

    def forward(self, x):
        return x * self.w


def scaled(k):
    return lambda x: x * k


@nt.jit
def of_function(x, f):
    return f(x) + 1


@nt.jit
def of_partial(x, f):
    return f(x) + 1


@nt.jit
def of_method(x, f):
    return f(x) + 1


for k in range(1, 5):
    x = np.ones(k)
    np.testing.assert_array_equal(of_function(x, scaled(x * k)), x * k + 1)
    np.testing.assert_array_equal(of_partial(x, partial(np.multiply, 0.5 * k)), x * 0.5 * k + 1)
    np.testing.assert_array_equal(of_method(x, Layer(x * k).forward), x * k + 1)
