"""Derivatives where they are hard: at ties, zeros, infinities and masked sides, and where digits cancel."""

import mpmath
import numpy as np
import pytest
from rows import EDGES, derivatives, grad, gradients, graph_of, pairing, run, trace

from numtape.compiler.forward import jvp
from numtape.compiler.gradient import vjp
from numtape.tracer.evaluate import evaluate
from numtape.tracer.ops import OPS
from numtape.tracer.ops import words as w
from numtape.tracer.types import FLOAT64, ArrayType, type_of

INF, NAN, PI = np.inf, np.nan, np.pi


def clip(x, low, high):
    return w.minimum(w.maximum(x, low), high)


def twice(x):
    """Two copies of one number, as an array."""
    return w.concatenate([w.expand_dims(x, (0,)), w.expand_dims(x, (0,))], 0)


def weighted(x, weights):
    return x * x.builder.const(np.array(weights))


def norm(x):
    return w.sqrt(w.sum_(x * x))


# function, where, gradient of the sum of its elements
GRADIENTS = {
    "maximum: a tie": (lambda x: w.maximum(x, 2.0), [1.0, 2.0, 3.0], [0, 0.5, 1]),
    "minimum: a tie": (lambda x: w.minimum(2.0, x), [1.0, 2.0, 3.0], [1, 0.5, 0]),
    "maximum: zeros of both signs tie": (lambda x: w.maximum(x, 0.0), [-0.0, 0.0], [0.5, 0.5]),
    "maximum: infinities tie": (lambda x: w.maximum(x, INF), [INF, 1.0], [0.5, 0]),
    "clip at its bounds": (lambda x: clip(x, 0.0, 1.0), [-1.0, 0.0, 0.5, 1.0, 2.0], [0, 0.5, 1, 0.5, 0]),
    "clip to itself": (lambda x: clip(x, 0.0, x), [0.5, 2.0], [1, 1]),
    "absolute at 0": (w.absolute, [-2.0, -0.0, 0.0, 3.0], [-1, 0, 0, 1]),
    "copysign at 0": (lambda x: w.copysign(x, -1.0), [-2.0, 0.0, 2.0], [1, 0, -1]),
    "max: ties": (w.max_, [1.0, 3.0, 3.0], [0, 0.5, 0.5]),
    "max: all equal": (w.max_, [2.0, 2.0, 2.0, 2.0], [0.25] * 4),
    "min: infinite ties": (w.min_, [-INF, 0.0, -INF], [0.5, 0, 0.5]),
    "max: a tie in one row": (lambda x: w.max_(x, (1,)), [[1.0, 1.0], [1.0, 2.0]], [[0.5, 0.5], [0, 1]]),
    "max over copies of one value": (lambda x: w.max_(twice(x)), 2.0, 1),
    "where: a log masked": (lambda x: w.where(x > 0, w.log(x), 0.0), [0.0, 2.0, -1.0], [0, 0.5, 0]),
    "where: a nan in the side not taken": (lambda x: w.where(x >= 0, x, w.sqrt(-x)), [1.0, 0.0], [1, 1]),
    "where: log2 masked": (lambda x: w.where(x > 2, w.log2(x), 2 * x), [0.0, 2.0, 3.0], [2, 2, 1 / (3 * np.log(2))]),
    "where: a quotient masked": (lambda x: w.where(x.equals(0.0), 1.0, w.sin(x) / x), [0.0], [0]),
    "sqrt of what is cut off": (lambda x: w.sqrt(w.maximum(x, 0.0)), [-1.0, 4.0], [0, 0.25]),
    "x**0": (lambda x: x**0.0, [0.0, 2.0, INF], [0, 0, 0]),
    "x**0, an integer": (lambda x: x**0, [0.0, -2.0], [0, 0]),
    "x**1": (lambda x: x**1.0, [0.0, -3.0], [1, 1]),
    "x**2": (lambda x: x**2, [0.0, -3.0], [0, -6]),
    "x**1.5": (lambda x: x**1.5, [0.0, 4.0], [0, 3]),
    "x**-1": (lambda x: x**-1, [2.0, -2.0], [-0.25, -0.25]),
    "a negative base": (lambda x: x**3.0, [-2.0], [12]),
    "0**y": (lambda y: w.power(0.0, y), [2.0, 1.0, 0.0], [0, 0, 0]),
    "inf**y": (lambda y: w.power(INF, y), [-1.0], [0]),
    "a power of 2": (lambda y: w.power(2, y), [0.0, 3.0], [np.log(2), 8 * np.log(2)]),
    "logaddexp of equals": (lambda x: w.logaddexp(x, 2.0), [2.0], [0.5]),
    "logaddexp far apart": (lambda x: w.logaddexp(x, 0.0), [1000.0, -1000.0], [1, 0]),
    "logaddexp at infinity": (lambda x: w.logaddexp(x, -INF), [-INF, 3.0], [0.5, 1]),
    "logaddexp2 at infinity": (lambda x: w.logaddexp2(x, INF), [INF, 3.0, -INF], [0.5, 0, 0]),
    "tanh far out": (w.tanh, [400.0, -400.0], [0, 0]),
    "sigmoid far out": (w.sigmoid, [1000.0, -1000.0], [0, 0]),
    "sinc at 0": (w.sinc, [0.0], [0]),
    "sinc near 0": (w.sinc, [1e-6], [-3.2898681336932059e-6]),
    "hypot at 0": (lambda x: w.hypot(x, 0.0), [0.0, -3.0], [0, -1]),
    "hypot of tiny and huge": (lambda x: w.hypot(x, 4 / 3 * x), [3e-200, 3e200], [5 / 3, 5 / 3]),
    "arctan2 of tiny numbers": (lambda x: w.arctan2(x, 1e-200), [1e-200], [5e199]),
    "floor(x)*x": (lambda x: w.floor(x) * x, [2.5], [2]),
    "remainder": (lambda x: w.remainder(x, 3.0), [7.5, -7.5], [1, 1]),
    "remainder by its divisor": (lambda y: w.remainder(7.5, y), [3.0], [-2]),
    "remainder of a negative": (lambda y: w.remainder(-7.5, y), [3.0], [3]),
    "fmod of a negative": (lambda y: w.fmod(-7.5, y), [3.0], [2]),
    "remainder: a quotient that rounds up": (lambda y: w.remainder(1.0, y), [0.1], [-9]),
    "norm squared at 0": (lambda x: norm(x) ** 2, [0.0, 0.0], [0, 0]),
    "stop_gradient": (lambda x: x * w.stop_gradient(x), [3.0], [3]),
    "through a Python number": (lambda x: w.weaken(x, "f") * x, 3.0, 6),
    "through a Python integer": (lambda x: w.weaken(x, "i") * x, 3.5, 3),
    "through an integer": (lambda x: x * w.astype(w.astype(x, "i64"), "f64"), [2.5], [2]),
    "prod with a zero": (w.prod, [0.0, 2.0, 3.0], [6, 0, 0]),
    "prod with two zeros": (w.prod, [0.0, 2.0, 0.0], [0, 0, 0]),
    "cumprod with a zero": (lambda x: w.cumprod(x, 0), [0.0, 2.0, 3.0], [9, 0, 0]),
    "cumprod with two zeros": (lambda x: w.cumprod(x, 0), [2.0, 0.0, 0.0, 3.0], [1, 2, 0, 0]),
    "sort": (lambda x: weighted(w.sort(x, 0), [1.0, 10.0, 100.0]), [3.0, 1.0, 2.0], [100, 1, 10]),
    "max of nothing masked": (lambda x: w.where(x < 0, w.log(w.max_(x)), 0.0), [0.0, 0.0], [0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients(case):
    function, x, want = GRADIENTS[case]
    np.testing.assert_allclose(grad(function, np.array(x)[()]), want, rtol=1e-14, atol=1e-15)


# function of one number, where, its derivatives of order 1, 2, ...
ORDERS = {
    "exp(-x**2)": (lambda x: w.exp(-(x**2)), 0.0, [0, -2, 0, 12]),
    "log(x)**2": (lambda x: w.log(x) ** 2, 1.0, [0, 2, -6, 22]),
    "log(x)*log(x)": (lambda x: w.log(x) * w.log(x), 1.0, [0, 2, -6, 22]),
    "sqrt(x)**4, away from 0": (lambda x: w.sqrt(x) ** 4, 2.0, [4, 2, 0, 0]),
    "x**3": (lambda x: x**3, 0.0, [0, 0, 6, 0]),
    "x**4 by a float": (lambda x: x**4.0, 0.0, [0, 0, 0, 24]),
    "sinc": (w.sinc, 0.0, [0, -(PI**2) / 3, 0, PI**4 / 5]),
    "tanh": (w.tanh, 0.0, [1, 0, -2, 0]),
    "sigmoid": (w.sigmoid, 0.0, [0.25, 0, -0.125, 0]),
    "logaddexp of equals": (lambda x: w.logaddexp(x, 1.0), 1.0, [0.5, 0.25, 0, -0.125]),
    "a masked log": (lambda x: w.where(x > 0, w.log(x), 3 * x), 0.0, [3, 0, 0, 0]),
    "a masked log, squared": (lambda x: w.where(x > 2, w.log2(x), 2 * x) ** 2, 0.0, [0, 8, 0, 0]),
    "a masked entropy": (lambda x: w.exp(w.where(x > 0, x * w.log(x), 0.0) + x), 0.0, [1, 1, 1, 1]),
    "a masked root": (lambda x: w.exp(w.where(x > 0, w.sqrt(x) / x, x)), 0.0, [1, 1, 1, 1]),
    "a masked power": (lambda x: w.exp(w.where(x > 0, x**x, x)), 0.0, [1, 1, 1, 1]),
    "a masked entropy, its argument made safe": (
        lambda x: w.where(x > 0, x, 1.0) * w.log(w.where(x > 0, x, 1.0)) + x**2, 0.0, [0, 2, 0, 0]
    ),
    "absolute value of a square": (lambda x: w.absolute(x**2), 0.0, [0, 0, 0, 0]),
    "prod": (lambda x: w.prod(twice(x)), 0.0, [0, 2, 0]),
    "cumprod": (lambda x: w.sum_(w.cumprod(twice(x), 0)), 0.0, [1, 2, 0]),
    "max over copies": (lambda x: w.max_(twice(x * x)), 3.0, [6, 2, 0]),
    "clip inside": (lambda x: clip(x * x, 0.0, 9.0), 2.0, [4, 2, 0, 0]),
    "remainder": (lambda x: w.remainder(x * x, 3.0), 2.0, [4, 2, 0, 0]),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERS)
def test_higher_orders(case):
    function, x, want = ORDERS[case]
    np.testing.assert_allclose(derivatives(function, x, len(want)), want, rtol=1e-13, atol=1e-13)


def test_power_at_the_exponent_0():
    """d2(a**b)/da db = a**(b-1) * (1 + b*log(a)), which at b = 0 is 1/a."""
    first = vjp(trace(w.power, [ArrayType(FLOAT64)] * 2), [0, 1])
    mixed = vjp(first, [1], outputs=[1])
    for a, b, want in (
        (2.0, 0.0, (0, np.log(2), 0.5)),
        (0.0, 2.0, (0, 0, 0)),
        (0.5, 1.0, (1, -np.log(2) / 2, 1 - np.log(2))),
    ):
        _, by_a, by_b, both = evaluate(mixed, [a, b, 1.0, 1.0])
        np.testing.assert_allclose((by_a, by_b, both), want, rtol=1e-14)


def test_a_power_by_both_arguments():
    a, b = np.array([0.0, 2.0]), np.array([1.0, 1.0])
    by_a, by_b = gradients(w.power, [a, b])
    np.testing.assert_allclose(by_a, [1, 1])
    np.testing.assert_allclose(by_b, [0, 2 * np.log(2)])


def test_both_sides_of_a_tie():
    for function in (w.maximum, w.minimum):
        a, b = gradients(function, [np.array([1.0, 2.0]), np.array([2.0, 2.0])])
        np.testing.assert_array_equal(a + b, [1, 1])
        assert (a[1], b[1]) == (0.5, 0.5)


def test_no_masked_side_enters_forward_mode():
    """The tangent of the log is infinite at 0; the side that isn't taken must not bring 0 * inf."""
    x = np.array([0.0, 2.0])
    for function, want in (
        (lambda x: w.where(x > 0, w.log(x), 5 * x), [5, 0.5]),
        (lambda x: w.maximum(w.log(x), x), [1, 1]),
        (lambda x: clip(1 / x, 0.0, 1.0), [0, -0.25]),
    ):
        graph = trace(function, [type_of(x)])
        with np.errstate(all="ignore"):
            tangent = evaluate(jvp(graph, [0]), [x, np.ones(2)])[-1]
        np.testing.assert_array_equal(tangent, want)


def test_a_zero_cotangent_stays_zero():
    """In every op whose partial derivative may be infinite."""
    points = {"arccosh": 1.0, "arctanh": 1.0, "arcsin": 1.0, "arccos": -1.0, "exp": INF, "log1p": -1.0}
    for name in (
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "cbrt",
        "reciprocal",
        "arcsin",
        "arccos",
        "arctanh",
        "arccosh",
        "exp",
    ):
        x = np.array([points.get(name, 0.0)])
        (found,) = gradients(graph_of(name, [type_of(x)]), [x], [np.zeros(1)])
        assert found == 0, name
    for name in ("divide", "power", "multiply", "arctan2", "fmod", "remainder"):
        values = [np.array([INF]), np.array([0.0])]
        found = gradients(graph_of(name, [type_of(v) for v in values]), values, [np.zeros(1)])
        np.testing.assert_array_equal(found, 0, name)


TIES = np.array([[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, 2.0, 2.0], [-1.0, 0.0, -0.0, 0.0]])


KINKED = ("max", "min", "prod", "cumprod", "sort", "maximum", "minimum", "absolute", "hypot")


@pytest.mark.parametrize("name", KINKED)
def test_forward_and_reverse_agree_at_ties(name):
    """``<Jv, u> == <v, J'u>``, where differences could not tell."""
    rng = np.random.default_rng(0)
    row = OPS[name]
    values = [TIES, TIES[::-1].copy()][: len(row.domain)]
    params = {} if row.elementwise else {"axes": (1,)} if name in ("max", "min", "prod") else {"axis": 1}
    graph = graph_of(name, [type_of(v) for v in values], **params)
    (out,) = evaluate(graph, values)
    u, v = [rng.normal(size=out.shape)], [rng.normal(size=x.shape) for x in values]
    wrt = list(graph.inputs)
    tangent = evaluate(jvp(graph, wrt), [*values, *v])[1:]
    np.testing.assert_allclose(pairing(tangent, u), pairing(gradients(graph, values, u), v), rtol=1e-12)
    assert np.isfinite(tangent[0]).all()


# -- digits -----------------------------------------------------------------------------------------------------------


def _logaddexp(x):
    return mpmath.log(mpmath.exp(x) + mpmath.exp(1.5))


FUNCTIONS = {
    "expm1": (w.expm1, mpmath.expm1, (1e-12, -1e-3, 0.4, -3.0, -45.0)),
    "log1p": (w.log1p, mpmath.log1p, (1e-12, -1e-3, 0.4, -0.999, 1e8)),
    "sinc": (w.sinc, mpmath.sincpi, (1e-9, 1e-6, 1e-3, 0.1, -0.3, 0.47, 0.49, 0.7, 1.0, 2.5, -7.25)),
    "logaddexp": (lambda x: w.logaddexp(x, 1.5), _logaddexp, (1.5, 1.5 + 1e-9, 30.0, -30.0)),
    "sigmoid": (w.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x)), (0.0, 1e-9, 3.0, -3.0, -40.0)),
    "erf": (w.erf, mpmath.erf, (1e-9, 0.3, -2.0)),
    "arcsin": (w.arcsin, mpmath.asin, (0.0, 0.5, -0.999999)),
    "arccosh": (w.arccosh, mpmath.acosh, (1.000001, 1.5, 30.0)),
    "arctanh": (w.arctanh, mpmath.atanh, (0.0, -0.3, 0.999999)),
    "cbrt": (w.cbrt, mpmath.cbrt, (0.001, 8.0)),
    "power": (lambda x: x**2.5, lambda x: x ** mpmath.mpf(2.5), (1e-3, 3.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_keep_their_digits(name):
    """Orders 1 to 4 against 60 digits; what cancels at the top of the range of a function costs a few digits."""
    function, exact, points = FUNCTIONS[name]
    with mpmath.workdps(60):
        for x in points:
            want = [float(t * mpmath.factorial(n)) for n, t in enumerate(mpmath.taylor(exact, x, 4))][1:]
            got = derivatives(function, x, 4)
            np.testing.assert_allclose(got, want, rtol=2e-12, atol=1e-15, err_msg=f"at {x}")


def test_sinc_of_high_order_is_finite_everywhere():
    x = np.array(EDGES[:11])
    for order in range(1, 7):
        values = run(lambda x, order=order: w.sinc(x, order), x)
        assert np.isfinite(values).all()
        assert abs(values[0]) == pytest.approx(np.pi**order / (order + 1) if order % 2 == 0 else 0)
