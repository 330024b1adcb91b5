"""Random graphs: a hypothesis strategy of small programs over symbolic sizes, and inputs to run them on.

Every op of a graph fits its arguments by construction. Nodes know whether their value is exact, that is, the same to
the last bit whoever computes it: only exact values meet ops with steps (floor, comparisons, sorting), where a
difference in the last bit would become a difference of 1.
"""

import numpy as np
from hypothesis import strategies as st
from random_turns import SMOOTH_TURNS, TURNS, M, N, Strict

from numtape.compiler.simplify import prune
from numtape.tracer.dims import Dim
from numtape.tracer.errors import NumtapeError
from numtape.tracer.graph import Builder, Expr, Graph
from numtape.tracer.types import SHORT, ArrayType, broadcast

INPUTS = {
    "a": ("f64", (N, M)), "b": ("f64", (M,)), "c": ("f64", (N, 1)), "d": ("i64", (N,)), "e": ("f32", (M, 3)),
    "f": ("bool", (N, M)), "g": ("f64", ()), "h": ("f64", (2, 3)),
}  # fmt: skip


class Sample:
    """A graph with inputs for it."""

    def __init__(self, graph: Graph, inputs: list):
        self.graph, self.inputs = graph, inputs

    def __repr__(self):
        inputs = ", ".join(f"{n}={np.asarray(v).tolist()}" for n, v in zip(self.graph.names, self.inputs, strict=True))
        return f"{self.graph}\n{inputs}"


class Maker:
    """Grows a graph, one drawn op after another."""

    def __init__(self, draw, smooth=False):
        self.draw, self.smooth = draw, smooth
        self.builder = Builder("sample", Strict())
        self.nodes: list[Expr] = []
        self.exact: dict[int, bool] = {}

    def pick(self, items):
        return self.draw(st.sampled_from(items))

    def put(self, node, *sources, exact=True):
        if node.index not in self.exact:
            self.exact[node.index] = exact and all(self.exact.get(s.index, True) for s in sources)
            self.nodes.append(node)
        return node

    def some(self, kinds="f", rank=0, exact=False):
        """A node of these kinds of dtype and at least this rank, the late ones more often; None where there is none."""
        fit = [n for n in self.nodes if n.dtype.kind in kinds and n.rank >= rank and (self.exact[n.index] or not exact)]
        return self.pick(fit[-self.pick((3, 100)) :]) if fit else None

    def partner(self, x, kinds="f"):
        """A node that broadcasts with x."""
        fit = []
        for node in self.nodes:
            if node.dtype.kind in kinds:
                try:
                    broadcast(Strict(), x.shape, node.shape)
                except NumtapeError:
                    continue
                fit.append(node)
        return self.pick(fit)

    def axis(self, x):
        return self.draw(st.integers(0, x.rank - 1))

    def grow(self):
        """Add an op; None where its turn finds nothing that fits."""
        return self.pick(SMOOTH_TURNS if self.smooth else TURNS)(self)


@st.composite
def samples(draw, smooth=False, most=10, everything=False):
    """A graph and inputs. `smooth`: float64 and differentiable everywhere. `everything`: each node is an output."""
    m = Maker(draw, smooth)
    m.counts = []
    for name, (dtype, shape) in INPUTS.items():
        if smooth and dtype != "f64":
            continue
        long = next(np.dtype(k) for k, v in SHORT.items() if v == dtype)
        m.put(m.builder.input(name, ArrayType(long, shape)))
    first = len(m.nodes)
    for _ in range(draw(st.integers(1, most))):
        m.grow()
    grown = m.nodes[first:] or m.nodes[:1]
    outputs = grown if everything else [grown[-1], *draw(st.lists(st.sampled_from(grown), max_size=2, unique=True))]
    graph = prune(m.builder.build(outputs))  # a dead node that raises would raise in the interpreter alone
    return Sample(graph, inputs_for(draw, graph))


def inputs_for(draw, graph):
    """Inputs of lengths 0 to 5: halves of small integers, and random numbers."""
    sizes = {"a.0": draw(st.integers(0, 5)), "a.1": draw(st.integers(0, 5))}
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    halves = draw(st.booleans())
    out = []
    for i in graph.inputs:
        type_ = graph.type(i)
        shape = tuple(sizes[str(s)] if isinstance(s, Dim) else s for s in type_.shape)
        values = rng.integers(-4, 5, shape) / 2 if halves else rng.normal(size=shape)
        if type_.dtype.kind == "i":
            values = rng.integers(-3, 9, shape)
        out.append(np.asarray(values > 0 if type_.dtype.kind == "b" else values).astype(type_.dtype)[()])
    return out
