"""Nested tapes and Jacobians, case by case."""

import numpy as np
import pytest
from near import near

import numtape as nt

# -- nested tapes ---------------------------------------------------------------------------------------------------


def test_ne01(run):
    def f(x):
        with nt.GradientTape() as outer:
            outer.watch(x)
            with nt.GradientTape() as inner:
                inner.watch(x)
                y = x**4
            first = inner.gradient(y, x)
        return first, outer.gradient(first, x)

    a, b = run(f, np.float64(2.0))
    near(a, 32.0), near(b, 48.0)


def test_ne02_outer_did_not_watch():
    x = nt.tensor(2.0)
    with nt.GradientTape() as outer:
        with nt.GradientTape() as inner:
            inner.watch(x)
            y = x**4
        first = inner.gradient(y, x)
    assert outer.gradient(first, x) is None


def test_ne04_hessian_vector(run):
    def f(x, v):
        with nt.GradientTape() as outer:
            outer.watch(x)
            with nt.GradientTape() as inner:
                inner.watch(x)
                y = np.sum(x**3)
            slope = np.sum(inner.gradient(y, x) * v)
        return outer.gradient(slope, x)

    near(run(f, np.array([1.0, 2, 3]), np.array([1.0, 0, -1])), [6.0, 0.0, -18.0])


def test_ne05_perturbations_are_not_confused(run):
    def f(x, y):
        with nt.GradientTape() as outer:
            outer.watch(x)
            with nt.GradientTape() as inner:
                inner.watch(y)
                z = x * y
            out = x * inner.gradient(z, y)
        return outer.gradient(out, x)

    near(run(f, np.float64(3.0), np.float64(2.0)), 6.0)
    near(nt.grad(lambda x: x * nt.grad(lambda y: x * y)(2.0))(3.0), 6.0)


def test_ne07_watching_is_per_tape():
    x, y = nt.tensor(2.0), nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with nt.GradientTape(persistent=True) as inner:
            inner.watch([x, y])
            a, b = x**3, y**2
        da, db = inner.gradient(a, x), inner.gradient(b, y)
    near(outer.gradient(da, x), 12.0)
    assert outer.gradient(db, y) is None


def test_ne08_tape_in_jit_in_tape():
    @nt.jit
    def slope(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        return tape.gradient(y, x)

    x = nt.tensor(2.0)
    with nt.GradientTape() as outer:
        outer.watch(x)
        first = slope(x)
    near(first, 12.0), near(outer.gradient(first, x), 12.0)


def test_ne10_four_derivatives():
    def f(x):
        return np.exp(-(x**2))

    for order, want in zip(range(1, 5), [0.0, -2.0, 0.0, 12.0], strict=True):
        f = nt.grad(f)
        got = f(0.0)
        assert not np.isnan(got)
        near(got, want, 1e-9)
        assert order


# -- Jacobians ------------------------------------------------------------------------------------------------------


def test_ja01_to_ja05(run):
    def diagonal(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x**2
        return tape.jacobian(y, x)

    def vector(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = np.stack([x, x**2, x**3])
        return tape.jacobian(y, x)

    def rectangular(x, w):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x @ w
        return tape.jacobian(y, x)

    def scalar(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = np.sum(x * x)
        return tape.jacobian(y, x)

    near(run(diagonal, np.array([1.0, 2, 3])), np.diag([2.0, 4, 6]))
    near(run(vector, np.float64(2.0)), [1.0, 4.0, 12.0])
    w = np.arange(12.0).reshape(3, 4)
    got = run(rectangular, np.ones((2, 3)), w)
    near(got, np.einsum("ab,jc->acbj", np.eye(2), w))
    near(run(scalar, np.ones((2, 3))), 2 * np.ones((2, 3)))


def test_ja07_hessian():
    x = nt.tensor([1.0, 2.0])
    with nt.GradientTape() as outer:
        outer.watch(x)
        with nt.GradientTape() as inner:
            inner.watch(x)
            y = x[0] ** 2 * x[1]
        g = inner.gradient(y, x)
    near(outer.jacobian(g, x), [[4.0, 2.0], [2.0, 0.0]])


def test_ja08_unconnected():
    x, z = nt.tensor([1.0, 2.0]), nt.tensor([1.0, 2.0, 3.0])
    with nt.GradientTape(persistent=True) as tape:
        tape.watch([x, z])
        y = x * x
    assert tape.jacobian(y, z) is None
    near(tape.jacobian(y, z, unconnected_gradients="zero"), np.zeros((2, 3)))


def test_bj01_bj02_bj04():
    x, w = nt.tensor([[1.0, 2.0], [3.0, 4.0]]), np.array([2.0, 3.0])
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2 * w
        with_ones = np.sum(x)
        row = x[0]
    near(tape.batch_jacobian(y, x), [[[4.0, 0], [0, 12.0]], [[12.0, 0], [0, 24.0]]])
    with pytest.raises(ValueError, match="rank"):
        tape.batch_jacobian(row, x)
    with pytest.raises(ValueError, match="rank"):
        tape.batch_jacobian(with_ones, x)
    empty = nt.tensor(np.ones((1, 0)))
    with nt.GradientTape() as tape:
        tape.watch(empty)
        y = empty * 2
    assert tape.batch_jacobian(y, empty).shape == (1, 0, 0)


def test_bj05_independent_target_keeps_float64():
    x, z = nt.tensor(np.ones((2, 1))), nt.tensor(np.ones((2, 3)))
    with nt.GradientTape() as tape:
        tape.watch([x, z])
        y = z * 2
    assert tape.batch_jacobian(y, x, unconnected_gradients="zero").dtype == np.float64


def test_coupled_rows_are_not_summed():
    x = nt.tensor([[1.0], [2.0]])
    with nt.GradientTape() as tape:
        tape.watch(x)
        y = x * np.sum(x)
    near(tape.batch_jacobian(y, x), [[[4.0]], [[5.0]]])


def test_bj07_inside_the_block():
    x = nt.tensor([1.0, 2.0])
    with nt.GradientTape() as tape:
        tape.watch(x)
        near(tape.jacobian(x * x, x), np.diag([2.0, 4.0]))
