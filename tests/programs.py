"""Ten named programs whose kernels and source are kept in tests/golden, each with its gradient."""

import numpy as np

from numtape.compiler.gradient import value_and_grad
from numtape.compiler.simplify import simplify
from numtape.tracer.dims import atom, maximum, minimum
from numtape.tracer.graph import Builder, Guard, Loc
from numtape.tracer.ops import words as w
from numtape.tracer.types import FLOAT64, INT64, ArrayType

N, M = atom("x.0"), atom("x.1")


def start(name, **shapes):
    """A builder, and inputs of float64 (or of int64, where the name begins with "at")."""
    builder = Builder(name)
    types = {k: ArrayType(INT64 if k.startswith("at") else FLOAT64, shape) for k, shape in shapes.items()}
    return builder, [builder.input(k, type_) for k, type_ in types.items()]


def lines(builder):
    """Number the user's lines: each call of the result goes on to the next."""
    number = iter(range(1, 1000))

    def following(value):
        builder.loc = Loc("model.py", next(number))
        return value

    following(None)
    return following


def tanh_chain():
    b, (x, y, z) = start("tanh_chain", x=(N,), y=(N,), z=(N,))
    line = lines(b)
    a = line(w.exp(-(x * x)) * w.sin(y))
    c = line(w.log1p(z * z))
    return gradient(b, w.sum_(w.tanh(a + c)))


def logistic_regression():
    b, (x, y, weights) = start("logistic_regression", x=(N, M), y=(N,), w=(M,))
    z = w.squeeze(w.matmul(x, w.expand_dims(weights, (1,))), (1,))
    losses = w.log1p(w.exp(-w.absolute(z))) + w.maximum(z, 0.0) - z * y
    return gradient(b, w.sum_(losses) / b.size(N), "w")


def softmax_rows():
    b, (x,) = start("softmax_rows", x=(N, M))
    e = w.exp(x - w.spread(w.max_(x, (1,)), (1,), x.shape))
    p = e / w.spread(w.sum_(e, (1,)), (1,), x.shape)
    return gradient(b, w.sum_(p * p))


def dense_layer():
    b, (x, weights, bias) = start("dense_layer", x=(N, M), w=(M, 8), b=(8,))
    return gradient(b, w.sum_(w.square(w.tanh(w.matmul(x, weights) + bias))), "w", "b")


def moving_average():
    """The causal moving average of width 3, by slices: right for lengths 0 and 1 too."""
    b, (x,) = start("moving_average", x=(N,))
    y = x
    for k in (1, 2):
        later = w.unslice(w.slice_axis(x, 0, 0, maximum(N - k, 0)), (N,), (minimum(N, k),), (1,))
        y = y + later
    return gradient(b, w.sum_(w.square(y / 3.0)))


def row_sums():
    b, (x, y) = start("row_sums", x=(N, M), y=(M,))
    return gradient(b, w.sum_(w.square(w.sum_(x * y, (0,)))))


def running_total():
    b, (x,) = start("running_total", x=(N, M))
    return gradient(b, w.sum_(w.square(w.cumsum(x, 1))))


def embedding():
    b, (x, places) = start("embedding", x=(N, M), at=(atom("at.0"),))
    return gradient(b, w.sum_(w.square(w.gather(x, (places,), (0,), 0))), "x")


def positive_part():
    b, (x,) = start("positive_part", x=(N,))
    found = b.op("nonzero", x > 0.0, count="#0")
    return b.build([w.exp(w.gather(x, (b.op("pick", found, index=0),), (0,), 0))])


def recurrence():
    """Elements written one by one, from those before them, under a guard."""
    b, (x,) = start("recurrence", x=(N,))
    y = x * 1.0
    for k in range(1, 4):
        y = w.set_slice(y, 0.5 * w.slice_axis(y, 0, k - 1, 1) + w.slice_axis(y, 0, k, 1), (k,), (1,))
    return gradient(b, w.sum_(y * y), guards=[Guard(N - 4, ">=", True, 1, Loc("model.py", 3))])


def gradient(b, loss, *names, guards=()):
    graph = b.build([loss], guards)
    wrt = [graph.names.index(n) for n in names] or list(graph.inputs)
    return simplify(value_and_grad(graph, wrt))


PROGRAMS = {
    f.__name__: f
    for f in (
        tanh_chain, logistic_regression, softmax_rows, dense_layer, moving_average, row_sums, running_total, embedding,
        positive_part, recurrence,
    )
}  # fmt: skip


def inputs(graph, n=6, m=3):
    """Inputs for a program: `n` and `m` are the sizes of x."""
    rng = np.random.default_rng(3)
    sizes = {"x.0": n, "x.1": m, "at.0": 5}
    out = []
    for i in graph.inputs:
        shape = tuple(s if isinstance(s, int) else sizes[str(s)] for s in graph.type(i).shape)
        integers = graph.type(i).dtype.kind == "i"
        out.append(rng.integers(-n, max(n, 1), shape) if integers else rng.normal(size=shape))
    return out
