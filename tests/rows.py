"""What the tests of op rows share: graphs of a few nodes, their derivatives, samples of inputs."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np

from numtape.compiler.forward import jvp
from numtape.compiler.gradient import value_and_grad, vjp
from numtape.tracer.evaluate import evaluate
from numtape.tracer.graph import Builder, Graph
from numtape.tracer.op import Domain, Op
from numtape.tracer.plain import replace
from numtape.tracer.types import FLOAT64, ArrayType, type_of

EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 700.0, -800.0, 1e-300, 1e300, np.inf, -np.inf, np.nan)


def trace(function: Callable[..., Any], types: Sequence[ArrayType]) -> Graph:
    """The graph of a function of Exprs."""
    builder = Builder("f")
    inputs = [builder.input("abcd"[n], type_) for n, type_ in enumerate(types)]
    made = function(*inputs)
    return builder.build(made if isinstance(made, tuple) else (made,))


def graph_of(name: str, types: Sequence[ArrayType], **params: Any) -> Graph:
    """The graph of one op."""
    return trace(lambda *inputs: inputs[0].builder.op(name, *inputs, **params), types)


def run(function: Callable[..., Any], *values: Any) -> Any:
    """The value of a function of Exprs."""
    with np.errstate(all="ignore"):
        (out,) = evaluate(trace(function, [type_of(v) for v in values]), values)
    return out


def gradients(
    function: Callable[..., Any] | Graph, values: Sequence[Any], cts: Sequence[Any] | None = None
) -> list[Any]:
    """Gradients by every floating input, with cotangents of ones unless given."""
    graph = function if isinstance(function, Graph) else trace(function, [type_of(v) for v in values])
    wrt = [n for n in graph.inputs if graph.type(n).inexact]
    with np.errstate(all="ignore"):
        if cts is None:
            outs = evaluate(graph, values)
            cts = [np.ones_like(out) for out in outs if np.asarray(out).dtype.kind == "f"]
        found = evaluate(vjp(graph, wrt), [*values, *cts])
    return list(found[len(graph.outputs) :])


def grad(function: Callable[..., Any], *values: Any) -> Any:
    """The gradient by the first input of the sum of a function's elements."""
    return gradients(function, values)[0]


def derivatives(function: Callable[..., Any], x: float, order: int) -> list[float]:
    """The derivatives 1 to `order` of a function of one number."""
    graph, out = trace(function, [ArrayType(FLOAT64)]), []
    for _ in range(order):
        graph = value_and_grad(graph, [0])
        graph = replace(graph, outputs=graph.outputs[-1:])
        with np.errstate(all="ignore"):
            out.append(float(evaluate(graph, [np.float64(x)])[0]))
    return out


def draw(domain: Domain, shape: tuple[int, ...], rng: np.random.Generator, margin: float = 0.02) -> np.ndarray:
    """Values of a domain, clear of its kinks."""
    if domain.boolean:
        return rng.random(shape) < 0.5
    if domain.integer:
        return rng.integers(int(domain.low), int(domain.high) + 1, shape)
    out = rng.uniform(domain.low, domain.high, shape)
    while domain.kinks and (near := np.min(np.abs(out[..., None] - np.array(domain.kinks)), -1) < margin).any():
        out = np.where(near, rng.uniform(domain.low, domain.high, shape), out)
    return out


def sample(row: Op, shapes: Sequence[tuple[int, ...]], seed: int = 0) -> list[np.ndarray]:
    """Inputs of a row in these shapes; the last domain serves all that follow."""
    rng, domains = np.random.default_rng(seed), row.domain
    return [draw(domains[min(n, len(domains) - 1)], shape, rng)[()] for n, shape in zip(count(), shapes)]


def slope(function: Callable[[float], Any], step: float = 1e-3) -> Any:
    """The derivative at 0 by central differences, extrapolated from two steps."""
    near, far = ((function(h) - function(-h)) / (2 * h) for h in (step, 2 * step))
    return (4 * near - far) / 3


def pairing(a: Sequence[Any], b: Sequence[Any]) -> float:
    """The inner product of two lists of arrays."""
    return float(sum(np.sum(np.asarray(p, float) * q) for p, q in zip(a, b, strict=True)))


def check_derivatives(graph, values, moving):
    """First and second derivatives against differences, forward mode against both."""
    rng = np.random.default_rng(7)
    free = [n for n in moving if graph.type(n).inexact]
    steps = [rng.uniform(0.5, 1, np.shape(values[n])) * rng.choice([-1, 1], np.shape(values[n])) for n in free]

    def moved(h):
        out = list(values)
        for n, step in zip(free, steps, strict=True):
            out[n] = np.asarray(values[n] + h * step)[()]
        return out

    cts = [rng.normal(size=np.shape(out))[()] for out in evaluate(graph, values)]
    backward = vjp(graph, free)
    whole = list(evaluate(backward, [*values, *cts]))
    first = whole[len(cts) :]
    assert [g.dtype for g in first] == [graph.type(n).dtype for n in free]
    want = slope(lambda h: pairing(cts, evaluate(graph, moved(h))))
    np.testing.assert_allclose(pairing(first, steps), want, rtol=1e-7, atol=1e-9)

    tangents = evaluate(jvp(graph, free), [*values, *steps])[len(cts) :]
    np.testing.assert_allclose(pairing(tangents, cts), want, rtol=1e-7, atol=1e-9)

    weights = [rng.normal(size=np.shape(g))[()] for g in first]
    places = list(range(len(cts), len(whole)))
    second = vjp(backward, free, outputs=places)
    got = evaluate(second, [*values, *cts, *weights])[len(whole) :]
    want = slope(lambda h: pairing(weights, evaluate(backward, [*moved(h), *cts])[len(cts) :]))
    np.testing.assert_allclose(pairing(got, steps), want, rtol=1e-6, atol=1e-8)
