"""Attributes of objects in lists of objects, rebound by an optimiser."""

from dataclasses import dataclass

import numpy as np

import numtape as nt


@dataclass
class Layer:
    w: np.ndarray
    b: float


class Net:
    def __init__(self):
        self.layers = [Layer(np.eye(2), 0.0), Layer(np.ones((2, 1)), 1.0)]

    def forward(self, x):
        for layer in self.layers:
            x = np.tanh(x @ layer.w + layer.b)
        return x


net = Net()
compiled = nt.jit(net.forward)
for turn in range(5):
    x = np.ones((turn, 2))
    np.testing.assert_allclose(compiled(x), net.forward(x))
    for layer in net.layers:
        layer.w = layer.w - 0.1
        layer.b += 0.1
