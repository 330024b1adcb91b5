"""Fit a small network to the diabetes data with compiled gradients of a plain NumPy function.

442 patients, ten measurements each, and how far the disease has progressed a year later (Efron et al. 2004, as
shipped with scikit-learn). Run it with ``python examples/quickstart.py``.
"""

import time

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes

import numtape as nt

HIDDEN = 16


def predict(w, x):
    """One hidden tanh layer; all weights lie in the flat vector w, as scipy.optimize wants them."""
    inputs = x.shape[1]
    layer = w[: inputs * HIDDEN].reshape(inputs, HIDDEN)
    bias, out = w[inputs * HIDDEN : -1].reshape(2, HIDDEN)
    return np.tanh(x @ layer + bias) @ out + w[-1]


def loss(w, x, y):
    """Mean log-cosh error, quadratic for small residuals and linear for large ones, plus weight decay."""
    r = predict(w, x) - y
    return np.mean(np.logaddexp(r, -r) - np.log(2.0)) + 1e-2 * np.sum(w**2)


def finite_differences(f, w, *args, step=1e-6):
    """The gradient of f by central differences: two evaluations for each entry of w."""
    gradient = np.empty_like(w)
    for i in range(w.size):
        forward, backward = w.copy(), w.copy()
        forward[i] += step
        backward[i] -= step
        gradient[i] = (f(forward, *args) - f(backward, *args)) / (2 * step)
    return gradient


def best_time(f, *args, repeats):
    """The shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        f(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def load():
    """Standardised data in random order: the last quarter is kept for testing."""
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order] / x.std(axis=0), y[order]
    return x, (y - y.mean()) / y.std(), y.std()


def main():
    x, y, unit = load()
    train = 3 * len(y) // 4
    size = x.shape[1] * HIDDEN + 2 * HIDDEN + 1
    w = 0.1 * np.random.default_rng(1).normal(size=size)
    print(f"diabetes data: {train} patients to fit, {len(y) - train} to test, {size} weights")

    # The fit. `step` records `loss` once, then runs compiled code that returns value and gradient.
    step = nt.value_and_grad(loss)

    def objective(w):
        return step(w, x[:train], y[:train])

    iteration = 0

    def report(intermediate_result):  # SciPy goes by the argument's name
        nonlocal iteration
        if iteration % 10 == 0:
            value, gradient = objective(intermediate_result.x)
            print(f"  iteration {iteration:3d}   loss {value:.5f}   gradient norm {np.linalg.norm(gradient):.2e}")
        iteration += 1

    found = minimize(objective, w, jac=True, method="L-BFGS-B", callback=report, options={"maxiter": 60})
    error = np.sqrt(np.mean((predict(found.x, x[train:]) - y[train:]) ** 2)) * unit
    print(f"  {found.nit} iterations, loss {found.fun:.5f}, gradient norm {np.linalg.norm(found.jac):.2e}")
    print(f"  error on the test patients {error:.1f}, their standard deviation {y[train:].std() * unit:.1f}")
    cost = step.stats.trace_seconds + step.stats.compile_seconds
    print(f"  traces {step.stats.traces} in {step.stats.calls} calls; tracing and compiling took {cost:.2f} s")

    # The same gradient from the same code, uncompiled, by finite differences.
    args = found.x + 0.01, x[:train], y[:train]
    compiled, plain = step(*args)[1], finite_differences(loss, *args)
    fast = best_time(step, *args, repeats=200)
    slow = best_time(finite_differences, loss, *args, repeats=3)
    print("value and gradient, against central differences under plain NumPy:")
    print(f"  {fast * 1e3:.3f} ms against {slow * 1e3:.1f} ms: {slow / fast:.0f} times faster")
    print(f"  largest difference {np.max(np.abs(compiled - plain)):.1e}, largest entry {np.max(np.abs(plain)):.1e}")

    # Growing data: the patients arrive one by one, and each new length runs the code compiled for the first.
    score = nt.jit(loss)
    for n in range(1, len(y) + 1):
        value, gradient = step(w, x[:n], y[:n])
        w = w - 0.05 * gradient
        score(w, x[:n], y[:n])
    print(f"growing data, {len(y)} lengths, one gradient step each: loss {value:.5f}")
    print(f"  traces of the loss {score.stats.traces}, of value and gradient {step.stats.traces}")


if __name__ == "__main__":
    main()
