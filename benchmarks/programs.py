"""The workloads as plain NumPy functions. Other array libraries run the same text with their own module for `np`."""

import numpy as np


def picked(scores, labels):
    return scores[np.arange(scores.shape[0]), labels]


def chain(x, y, z):
    return np.sum(np.tanh(np.exp(-x * x) * np.sin(y) + np.log1p(z * z)))


def weighted_squares(x, y, c):
    return np.sum((1.5 * x - 0.7 * y - c) ** 2)


def logistic(w, b, X, y):
    z = np.dot(X, w) + b
    return np.mean(np.logaddexp(0.0, z) - y * z) + 0.005 * np.sum(w * w)


def cross_entropy(scores, labels):
    largest = np.max(scores, axis=1, keepdims=True)
    total = np.sum(np.exp(scores - largest), axis=1)
    return np.mean(np.log(total) + largest[:, 0] - picked(scores, labels))


def perceptron(w1, b1, w2, b2, w3, b3, x, labels):
    h = np.maximum(x @ w1 + b1, 0.0)
    h = np.maximum(h @ w2 + b2, 0.0)
    return cross_entropy(h @ w3 + b3, labels)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def damped(x):
    return np.sin(x) * np.exp(-x)


def exponential(x):
    return np.exp(x)


def moving_average(y):
    padded = np.concatenate([np.zeros(2), y])
    means = (padded[2:] + padded[1:-1] + padded[:-2]) / 3.0
    return np.mean(means**2)


def long_chain(x, ops):
    """The sum of `x` after that many elementwise operations in a row."""
    for i in range(ops):
        match i % 4:
            case 0:
                x = np.sin(x)
            case 1:
                x = x * 0.9
            case 2:
                x = x + 0.1
            case _:
                x = np.tanh(x)
    return np.sum(x)
