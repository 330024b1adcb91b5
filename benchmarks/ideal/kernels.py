"""Value and gradient of each workload in as few passes over memory as it takes, results in buffers that are given."""

from __future__ import annotations

import functools
import math

import numpy as np
from numba import njit

from .vecmath import cos, erf, exp, log, log1p, sin, tanh

# sums in any order; no `fast`, which would also reorder what must not be
kernel = functools.partial(njit, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", cache=True)


@kernel
def chain(x, y, z, one, gx, gy, gz):
    total = one - one
    for i in range(x.size):
        e, s, zz = exp(-x[i] * x[i]), sin(y[i]), z[i] * z[i]
        t = tanh(e * s + log1p(zz))
        d = one - t * t
        total += t
        gx[i] = -(x[i] + x[i]) * e * s * d
        gy[i] = d * e * cos(y[i])
        gz[i] = d * (z[i] + z[i]) / (one + zz)
    return total


@kernel
def weighted_squares(x, y, c, gx, gy):
    total = 0.0
    for i in range(x.size):
        r = 1.5 * x[i] - 0.7 * y[i] - c[i]
        total += r * r
        gx[i] = 3.0 * r
        gy[i] = -1.4 * r
    return total


@kernel
def call_prices(spot, volatility, strike, years, by_spot, by_volatility):
    total = 0.0
    for i in range(spot.size):
        root = math.sqrt(years[i])
        deviation = volatility[i] * root
        d = (log(spot[i] / strike[i]) + (0.05 + 0.5 * volatility[i] * volatility[i]) * years[i]) / deviation
        inside = 0.5 * (1.0 + erf(d * 0.7071067811865476))
        below = 0.5 * (1.0 + erf((d - deviation) * 0.7071067811865476))
        total += spot[i] * inside - strike[i] * exp(-0.05 * years[i]) * below
        by_spot[i] = inside
        by_volatility[i] = spot[i] * root * 0.3989422804014327 * exp(-0.5 * d * d)
    return total


@kernel
def logistic(w, b, X, y, gw):
    """One pass over X, sixteen rows at a time: their products, then exp of all, then their part of the gradient."""
    rows, columns = X.shape
    q = np.empty(16)
    total = gb = 0.0
    gw[:] = 0.0
    for start in range(0, rows, 16):
        count = min(16, rows - start)
        for i in range(count):
            z = 0.0
            for j in range(columns):
                z += X[start + i, j] * w[j]
            q[i] = z + b
        for i in range(count):
            z = q[i]
            e = exp(-abs(z))
            total += log1p(e) + max(z, 0.0) - y[start + i] * z
            q[i] = (1.0 if z > 0 else e) / (1.0 + e) - y[start + i]
            gb += q[i]
        for i in range(0, count - 3, 4):
            for j in range(columns):
                r = start + i
                gw[j] += (X[r, j] * q[i] + X[r + 1, j] * q[i + 1]) + (X[r + 2, j] * q[i + 2] + X[r + 3, j] * q[i + 3])
        for i in range(count - count % 4, count):
            for j in range(columns):
                gw[j] += X[start + i, j] * q[i]
    for j in range(columns):
        total += 0.005 * rows * w[j] * w[j]
        gw[j] = gw[j] / rows + 0.01 * w[j]
    return total / rows, gb / rows


@njit(fastmath={"nnan", "nsz", "reassoc"}, error_model="numpy", cache=True)
def largest(row):
    best = row[0]
    for x in row:
        best = x if x > best else best
    return best


@kernel
def cross_entropy(scores, labels, one, g):
    rows, columns = scores.shape
    loss, share = one - one, one / scores.dtype.type(rows)
    for i in range(rows):
        top, total = largest(scores[i]), one - one
        for j in range(columns):
            e = exp(scores[i, j] - top)
            g[i, j] = e
            total += e
        loss += (log(total) + top - scores[i, labels[i]]) * share
        scale = share / total
        for j in range(columns):
            g[i, j] *= scale
        g[i, labels[i]] -= share
    return loss


@kernel
def add_and_rectify(h, b):
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            v = h[i, j] + b[j]
            h[i, j] = v if v > 0 else v - v


@kernel
def back_through(g, h, gb):
    """The gradient before the rectifier, and its sum over the batch."""
    gb[:] = g[0] - g[0]
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            v = g[i, j] if h[i, j] > 0 else g[i, j] - g[i, j]
            g[i, j] = v
            gb[j] += v


@kernel
def rosenbrock(x, g):
    total = 0.0
    g[:] = 0.0
    for i in range(x.size - 1):
        rise, run = x[i + 1] - x[i] * x[i], 1.0 - x[i]
        total += 100.0 * rise * rise + run * run
        g[i] -= 400.0 * rise * x[i] + 2.0 * run
        g[i + 1] += 200.0 * rise
    return total


@njit(cache=True)
def damped(x):
    s, c, e = math.sin(x), math.cos(x), math.exp(-x)
    return s * e, (c - s) * e


@kernel
def exponential(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@kernel
def moving_average(y, g):
    n = y.size
    total = before = last = 0.0
    g[:] = 0.0
    for i in range(n):
        mean = (y[i] + last + before) / 3.0
        before, last = last, y[i]
        total += mean * mean
        part = 2.0 / (3.0 * n) * mean
        g[i] += part
        if i > 0:
            g[i - 1] += part
        if i > 1:
            g[i - 2] += part
    return total / n


@kernel
def triad(a, b, c):
    for i in range(a.size):
        a[i] = b[i] + 3.0 * c[i]
