"""Run array code three ways: by NumPy, on Tensors, and as a recording that is evaluated for other sizes too."""

import numpy as np

from numtape.compiler.gradient import value_and_grad
from numtape.tracer.dims import atom
from numtape.tracer.evaluate import GuardFailed, evaluate
from numtape.tracer.graph import verify
from numtape.tracer.record import Trace, recording
from numtape.tracer.scalar import Scalar
from numtape.tracer.tensor import Tensor, tensor
from numtape.tracer.values import lift

LETTERS = "abcdefgh"


def leaves(result):
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def record(f, *inputs, weights=False):
    """The graph of `f`; with `weights` that of a smooth scalar made of all its floating results."""
    trace = Trace("f")
    with recording(trace), np.errstate(all="ignore"):
        handles = []
        for letter, item in zip(LETTERS, inputs, strict=False):
            value = trace.input(letter, item)
            handles.append(Scalar(value, atom(letter) if type(item) is int else None) if value.weak else Tensor(value))
        made = leaves(f(*handles))
        outputs = [lift(smooth(made))] if weights else [lift(m) for m in made]
    graph = trace.finish(outputs)
    return verify(graph)


def smooth(parts):
    """A scalar in which each element of each floating part counts differently."""
    total = 0.0
    for part in parts:
        if hasattr(part, "dtype") and part.dtype.kind == "f":
            total = total + np.sum(np.sin(part * 1.3 + 0.4))
    return total


def plain(f, inputs):
    """NumPy's results, or the error that it raises. The inputs are copied: `f` may write into them."""
    with np.errstate(all="ignore"):
        try:
            return [np.asarray(leaf) for leaf in leaves(f(*map(copied, inputs)))]
        except Exception as error:
            return error


def copied(item):
    return item.copy() if isinstance(item, np.ndarray) else item


def assert_same(got, want, rtol=1e-12):
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        g = np.asarray(g)
        assert g.shape == w.shape, f"shape {g.shape} instead of {w.shape}"
        assert g.dtype == w.dtype, f"dtype {g.dtype} instead of {w.dtype}"
        loose = {"float16": 2e-3, "float32": 2e-6}.get(w.dtype.name, rtol)
        np.testing.assert_allclose(g, w, rtol=loose, atol=loose if w.dtype.kind == "f" else 0)


def eager(f, inputs):
    with np.errstate(all="ignore"):
        handles = [tensor(i) if isinstance(i, np.ndarray | np.generic) else i for i in inputs]
        return [leaf.numpy() if isinstance(leaf, Tensor) else leaf for leaf in leaves(f(*handles))]


def check_eager(f, *inputs):
    """Values, dtypes and shapes on Tensors are NumPy's; so is the kind of error."""
    want = plain(f, inputs)
    if isinstance(want, Exception):
        try:
            got = eager(f, inputs)
        except Exception as error:
            # which of several faults is met first may differ
            assert isinstance(error, ValueError | TypeError | IndexError | ArithmeticError), error
            return
        raise AssertionError(f"NumPy raises {want!r}, the Tensors gave {got}")
    assert_same(eager(f, inputs), want)


def check_recorded(f, *samples):
    """A recording made on one sample is right for all others, or its guards say that it isn't; returns how many."""
    graphs = []
    for inputs in samples:
        want = plain(f, inputs)
        for graph in graphs:
            try:
                with np.errstate(all="ignore"):
                    got = evaluate(graph, inputs)
            except GuardFailed:
                continue
            except Exception as error:
                assert isinstance(want, Exception), f"evaluating raised {error!r}"
                break
            assert not isinstance(want, Exception), f"NumPy raises {want!r}, the recording gave {got}"
            assert_same(got, want)
            break
        else:
            try:
                graph = record(f, *inputs)
            except Exception as error:
                if not isinstance(want, Exception):
                    raise
                assert isinstance(error, ValueError | TypeError | IndexError | ArithmeticError), error
                continue
            assert not isinstance(want, Exception), f"NumPy raises {want!r}, the recording went through"
            with np.errstate(all="ignore"):
                assert_same(evaluate(graph, inputs), want)
            graphs.append(graph)
    return len(graphs)


def check_gradient(f, *inputs, h=1e-6, rtol=2e-6, atol=2e-7):
    """Gradients by each float64 input are those of central differences."""
    wrt = [n for n, i in enumerate(inputs) if getattr(i, "dtype", None) == np.float64]
    with np.errstate(all="ignore"):
        graph = record(f, *inputs, weights=True)
        found = evaluate(value_and_grad(graph, wrt), inputs)[1:]
        for position, gradient in zip(wrt, found, strict=True):
            want = np.zeros(np.shape(inputs[position]))
            for place in np.ndindex(want.shape):
                ends = []
                for sign in (1, -1):
                    moved = [np.array(i) if n == position else i for n, i in enumerate(inputs)]
                    moved[position][place] += sign * h
                    moved[position] = moved[position][()] if want.ndim == 0 else moved[position]
                    ends.append(smooth(leaves(f(*moved))))
                want[place] = (ends[0] - ends[1]) / (2 * h)
            np.testing.assert_allclose(gradient, want, rtol=rtol, atol=atol)
