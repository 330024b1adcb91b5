"""The kernels of ideal/kernels.py, results written into the same buffers in each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ideal import kernels as k
from ..workloads import Workload
from . import Function, NotMeasured, Peer


class ByHand(Peer):
    packages = ("numba",)

    def bind(self, workload: Workload, data: tuple[Any, ...]) -> Callable[[], Any]:
        out = tuple(np.empty_like(data[i]) for i in workload.wrt)
        match workload.name:
            case "chain64" | "chain32":
                one = data[0].dtype.type(1)
                return lambda: (k.chain(*data, one, *out), out)
            case "membound":
                return lambda: (k.weighted_squares(*data, *out), out)
            case "bs":
                return lambda: (k.call_prices(*data, *out), out)
            case "logreg":
                w, b, X, y = data[0], float(data[1]), *data[2:]
                return lambda: _logistic(w, b, X, y, out[0])
            case "smce" | "smce-lse":
                return lambda: (k.cross_entropy(*data, 1.0, *out), out)
            case "mlp":
                return _perceptron(data, out)
            case "rosen":
                return lambda: (k.rosenbrock(*data, *out), out)
            case "scalar":
                x = float(data[0])
                return lambda: _pair(k.damped(x))
            case "call":
                buffer = np.empty_like(data[0])
                return lambda: _first(buffer, k.exponential(*data, buffer))
        raise NotMeasured(f"no kernel for {workload.name}")

    def growing(self, way: str) -> tuple[Function, Callable[[], int]]:
        def step(y: np.ndarray) -> Any:
            g = np.empty_like(y)
            return k.moving_average(y, g), (g,)

        return step, lambda: len(k.moving_average.signatures)


def _pair(both: tuple[float, float]) -> Any:
    return both[0], both[1:]


def _first(buffer: np.ndarray, nothing: None) -> np.ndarray:
    return buffer


def _logistic(w: np.ndarray, b: float, X: np.ndarray, y: np.ndarray, gw: np.ndarray) -> Any:
    value, gb = k.logistic(w, b, X, y, gw)
    return value, (gw, gb)


def _perceptron(data: tuple[Any, ...], out: tuple[np.ndarray, ...]) -> Callable[[], Any]:
    """NumPy's matrix products into buffers, kernels for what is between them."""
    w1, b1, w2, b2, w3, b3, x, labels = data
    g_w1, g_b1, g_w2, g_b2, g_w3, g_b3 = out
    h1, h2, scores = (np.empty((len(x), w.shape[1]), "f4") for w in (w1, w2, w3))
    g1, g2, g3, one = np.empty_like(h1), np.empty_like(h2), np.empty_like(scores), np.float32(1)

    def call() -> Any:
        k.add_and_rectify(np.dot(x, w1, out=h1), b1)
        k.add_and_rectify(np.dot(h1, w2, out=h2), b2)
        np.add(np.dot(h2, w3, out=scores), b3, out=scores)
        value = k.cross_entropy(scores, labels, one, g3)
        np.sum(g3, axis=0, out=g_b3)
        np.dot(h2.T, g3, out=g_w3)
        k.back_through(np.dot(g3, w3.T, out=g2), h2, g_b2)
        np.dot(h1.T, g2, out=g_w2)
        k.back_through(np.dot(g2, w2.T, out=g1), h1, g_b1)
        np.dot(x.T, g1, out=g_w1)
        return value, out

    return call
