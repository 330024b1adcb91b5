"""Small programs on Exprs with inputs to try them on, shared by the tests of derivatives and passes."""

import numpy as np
from rows import trace

from numtape.compiler.gradient import results_of
from numtape.tracer.dims import atom
from numtape.tracer.evaluate import evaluate
from numtape.tracer.ops import words as w
from numtape.tracer.plain import replace
from numtape.tracer.types import FLOAT64, ArrayType, type_of

N, M = atom("a.0"), atom("a.1")
RNG = np.random.default_rng(7)


def normal(*shape):
    return RNG.normal(size=shape)[()] if shape else np.float64(RNG.normal())


def positive(*shape):
    return RNG.uniform(0.5, 2.0, shape)


def softmax(a):
    e = w.exp(a - w.spread(w.max_(a, (1,)), (1,), a.shape))
    return e / w.spread(w.sum_(e, (1,)), (1,), a.shape)


def logistic(a, b, c):
    z = w.reshape(w.matmul(a, w.expand_dims(b, (1,))), (a.shape[0],))
    return w.sum_(w.log1p(w.exp(-w.absolute(z))) + w.maximum(z, 0.0) - c * z) / w.size(a.builder, a.shape[0])


def scaled_rows(a, b):
    def body(row, scale):
        return w.tanh(row * scale) * w.sum_(row)

    inner = trace(body, [ArrayType(FLOAT64, (N,))] * 2)
    return a.op("map", b, body=inner, mapped=(True, False))


def called_twice(a, b):
    inner = trace(lambda a, b: (w.sin(a) * b, w.sum_(a * a)), [a.type, b.type])
    wave, norm = results_of(a.op("call", b, graph=inner))
    again, other = results_of(wave.op("call", b, graph=inner))
    return again * norm + other


# name: a function of Exprs and its inputs
PROGRAMS = {
    "polynomial": (lambda a: a * a * a - 2 * a + a**2, (normal(4),)),
    "quotient": (lambda a, b: w.exp(a) / (1 + b * b), (normal(3), normal(3))),
    "row_and_column": (lambda a, b: w.sin(a * b) + a, (normal(4, 1), normal(1, 3))),
    "scalar_times_matrix": (lambda a, b: w.tanh(a * b), (normal(), normal(2, 3))),
    "missing_axes": (lambda a, b: a * b + b, (normal(3), normal(2, 1, 3))),
    "power": (lambda a, b: a**b, (positive(3), normal(3))),
    "weak_scalar": (lambda a, b: w.sum_(a * b) * b, (normal(3), 1.7)),
    "softmax": (softmax, (normal(3, 4),)),
    "logistic": (logistic, (normal(5, 3), normal(3), positive(5))),
    "matrix_products": (lambda a, b: w.matmul(w.tanh(w.matmul(a, b)), b), (normal(3, 3), normal(3, 3))),
    "batched_product": (lambda a, b: w.matmul(a, b), (normal(2, 3, 4), normal(4, 2))),
    "sums": (lambda a: w.sum_(a * a, (0, 2)) * w.sum_(a), (normal(2, 3, 2),)),
    "product_with_zeros": (lambda a: w.prod(a, (1,)), (np.array([[0.0, 2, 3], [0, 2, 0], [1, 2, 3]]),)),
    "scans": (lambda a: w.cumprod(w.cumsum(a, 0) + 1.5, 0), (normal(5) * 0.1,)),
    "cumprod_with_zeros": (lambda a: w.cumprod(a, 0), (np.array([2.0, 0, 0, 3]),)),
    "recurrence": (lambda a, b: w.linrec(a, b, 0), (normal(5), normal(5))),
    "extremes": (lambda a: w.max_(a, (0,)) * w.min_(a, (0,)), (normal(4, 3),)),
    "sort": (lambda a: w.sort(a, 0) * w.iota(a.builder, a.shape[0]), (normal(5),)),
    "where": (lambda a, b: w.where(a > b, a * a, w.sin(b)), (normal(6), normal(6))),
    "maximum": (lambda a, b: w.maximum(a, b) * w.minimum(a, 0.1), (normal(6), normal(6))),
    "shapes": (
        lambda a: w.transpose(w.reshape(a, (a.shape[1], a.shape[0], 1)), (2, 0, 1)) * w.sum_(a, (1,)),
        (normal(3, 2),),
    ),
    "backward_slice": (lambda a: w.flip(a, 0) * w.slice_axis(a, 0, 0, a.shape[0]), (normal(5),)),
    "joined": (lambda a, b: w.square(w.concatenate((a, b, a), 0)), (normal(2), normal(3))),
    "overwritten": (lambda a, b: w.square(w.set_slice(a * a, w.sin(b), (1,), (2,))), (normal(5), normal(2))),
    "mapped": (scaled_rows, (normal(3, 2), normal(2))),
    "called": (called_twice, (normal(3), normal(3))),
    "cast_down": (lambda a: w.astype(w.astype(a * 1.5, "f32"), "f64") * a, (np.array([0.5, 2.0]),)),
}  # fmt: skip
COARSE = ("cast_down",)  # float32 inside is too coarse for differences


def program(name):
    function, values = PROGRAMS[name]
    types = []
    for letter, value in zip("abcd", values, strict=False):
        shape = [1 if size == 1 else atom(f"{letter}.{axis}") for axis, size in enumerate(np.shape(value))]
        types.append(replace(type_of(value), shape=tuple(shape)))
    return trace(function, types), values


def compute(graph, *inputs):
    with np.errstate(all="ignore"):
        return evaluate(graph, inputs)


def like(value):
    return RNG.normal() if isinstance(value, float) and not isinstance(value, np.generic) else normal(*np.shape(value))


def moved(values, tangents, t):
    return [v + t * d for v, d in zip(values, tangents, strict=True)]
