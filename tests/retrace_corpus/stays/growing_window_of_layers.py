"""Predictions of a model of layers on a growing window, while it learns."""

import numpy as np

import numtape as nt


class Dense:
    def __init__(self, inner, outer, activation=None):
        self.w = nt.Variable(np.linspace(-0.5, 0.5, inner * outer).reshape(inner, outer))
        self.b = nt.Variable(np.zeros(outer))
        self.activation = activation

    def __call__(self, x):
        y = x @ self.w + self.b
        return y if self.activation is None else self.activation(y)


class Model:
    def __init__(self):
        self.layers = [Dense(2, 4, np.tanh), Dense(4, 1)]

    @nt.jit
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


x, model = np.sin(np.arange(20.0)).reshape(2, 5, 2), Model()
first, last = model.layers
for i in range(x.shape[1]):
    part = x[:, : i + 1, :]
    want = np.tanh(part @ first.w.numpy() + first.b.numpy()) @ last.w.numpy() + last.b.numpy()
    np.testing.assert_allclose(model(part), want)
    first.w.assign_add(np.full((2, 4), 0.1))
