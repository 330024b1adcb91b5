"""Jacobians, Hessians and Hessian-vector products as graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ..tracer.dims import Dim, atom
from ..tracer.errors import GradError, layout
from ..tracer.graph import Builder, Expr, Graph, Node, copy_into, substitute_sizes, verify
from ..tracer.ops import words as w
from ..tracer.plain import replace
from ..tracer.types import INT64, ArrayType
from .forward import jvp
from .gradient import cast_to, check_wrt, fresh, moved_guards, results_of, start, value_and_grad, vjp
from .inline import Sizes, names_in

Mode = Literal["auto", "forward", "reverse"]


def jacobian(graph: Graph, wrt: Sequence[int], mode: Mode = "auto") -> Graph:
    """The graph of all derivatives of every output by every input in `wrt`.

    Outputs: for each output of `graph`, for each input in `wrt`, an array of shape ``output.shape + input.shape`` and
    the input's dtype. Reverse mode runs the backward pass once per entry of the output, forward mode once per entry
    of the inputs; "auto" takes what is less, and reverse where sizes don't tell. The runs are one `map`.
    """
    check_wrt(graph, wrt)
    for out in graph.outputs:
        if not graph.type(out).inexact:
            loc = graph.loc(out)
            raise GradError(
                layout(
                    f"the Jacobian of {graph.name} does not exist",
                    str(loc) if loc.line else "",
                    "results of a floating dtype",
                    str(graph.type(out)).removeprefix("~"),
                ),
                type=graph.type(out),
                loc=loc,
            )
    if mode == "auto":
        mode = "forward" if _is_wide(graph, wrt) else "reverse"
    builder, inputs = start(graph)
    exprs = copy_into(builder, graph, inputs)
    by_source = [_columns(builder, inputs, graph, source) for source in wrt] if mode == "forward" else []
    found = []
    for k, out in enumerate(graph.outputs):
        row = [column[k] for column in by_source] if by_source else _rows(builder, inputs, graph, k, wrt)
        for source, derivative in zip(wrt, row, strict=True):
            shape = (*graph.type(out).shape, *graph.type(source).shape)
            found.append(cast_to(w.reshape(derivative, shape), graph.type(source)))
    return verify(builder.build(found, moved_guards(graph.guards, [e.index for e in exprs])))


def hessian(graph: Graph, wrt: Sequence[int], mode: Mode = "forward") -> Graph:
    """The graph of all second derivatives of a scalar function: for each pair (i, j) of inputs in `wrt`, rows first.

    Each has the shape ``i.shape + j.shape``. Forward mode over the gradient needs no second backward pass.
    """
    return jacobian(gradients(graph, wrt), wrt, mode)


def hvp(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The graph of a scalar function's Hessian times a vector, without the Hessian.

    Inputs: those of `graph`, then one vector for each input in `wrt`, named ``t_<name>``. Outputs: one product for
    each input in `wrt`.
    """
    pushed = jvp(gradients(graph, wrt), wrt)
    return replace(pushed, outputs=pushed.outputs[len(wrt) :])


def gradients(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The graph of the gradients of a scalar function, without its value."""
    whole = value_and_grad(graph, wrt)
    return replace(whole, outputs=whole.outputs[len(graph.outputs) :])


def _is_wide(graph: Graph, wrt: Sequence[int]) -> bool:
    """Whether there are more entries of outputs than of inputs."""
    columns = sum((w.count(graph.type(i).shape) for i in wrt), 0)
    rows = sum((w.count(graph.type(o).shape) for o in graph.outputs), 0)
    if isinstance(columns, int):
        # a few columns against a length that isn't known yet
        return columns < rows if isinstance(rows, int) else columns <= 4
    return False


def _rows(builder: Builder, inputs: list[Expr], graph: Graph, k: int, wrt: Sequence[int]) -> list[Expr]:
    """Derivatives of output `k`, each of shape (entries of the output, *input.shape)."""
    pulled = vjp(graph, wrt, outputs=[k])
    type_ = graph.type(graph.outputs[k])
    return over_rows(builder, pulled, [*inputs, basis(builder, type_)], pulled.outputs[len(graph.outputs) :])


def _columns(builder: Builder, inputs: list[Expr], graph: Graph, source: int) -> list[Expr]:
    """Derivatives by one input of every output, each of shape output.shape + (entries of the input,)."""
    pushed = jvp(graph, [source])
    stacked = over_rows(
        builder, pushed, [*inputs, basis(builder, graph.type(source))], pushed.outputs[len(graph.outputs) :]
    )
    return [w.transpose(s, (*range(1, s.rank), 0)) for s in stacked] if graph.type(source).rank else stacked


def basis(builder: Builder, type_: ArrayType) -> Expr:
    """All unit vectors of a type, stacked on a new first axis; of a scalar type the number 1."""
    if not type_.rank:
        return builder.const(1.0, like=type_)
    total = w.count(type_.shape)
    which = w.iota(builder, total)
    eye = w.equal(w.expand_dims(which, (1,)), w.expand_dims(which, (0,)))
    return w.reshape(w.astype(eye, type_.dtype), (total, *type_.shape))


def over_rows(builder: Builder, graph: Graph, inputs: Sequence[Expr], outputs: Sequence[int]) -> list[Expr]:
    """Outputs of a graph for each row of its last input, stacked.

    The nodes that don't depend on the last input are written into `builder` once; the others become the body of a
    `map`. A last input that has no axis more than the graph's own stands for itself.
    """
    moving = len(graph.names) - 1
    rows = inputs[moving]
    if rows.rank == graph.type(moving).rank:
        exprs = copy_into(builder, graph, inputs)
        return [exprs[out] for out in outputs]
    turning = [False] * len(graph.nodes)
    turning[moving] = True
    exprs = [*inputs]
    for index in range(len(graph.names), len(graph.nodes)):
        args = graph.nodes[index].args
        turning[index] = any(turning[a] for a in args)
        exprs.append(rows if turning[index] else builder.copy(graph, index, [exprs[a].index for a in args]))
    stacked: list[Expr] = []
    if results := [out for out in outputs if turning[out]]:
        body, residuals = _body(graph, moving, turning, results)
        operands = [exprs[r] if isinstance(r, int) else w.iota(builder, r) for r in residuals]
        mapped = (True, *(False for _ in residuals))
        stacked = results_of(builder.op("map", rows, *operands, body=body, mapped=mapped))
    rest = iter(stacked)
    return [next(rest) if turning[o] else w.broadcast_to(exprs[o], (rows.shape[0], *exprs[o].shape)) for o in outputs]


def _body(graph: Graph, moving: int, turning: Sequence[bool], outputs: Sequence[int]) -> tuple[Graph, list[int | Dim]]:
    """The turning nodes that `outputs` need as a graph, and which values of `graph` its inputs after the first are.

    Sizes inside are those of its own inputs, since a map knows no others; so an input may be there for its size alone.
    """
    needed = set(outputs)
    for index in range(max(outputs), -1, -1):
        if index in needed and turning[index]:
            needed.update(graph.nodes[index].args)
    inside = [i for i in sorted(needed) if i >= len(graph.names) and (turning[i] or not graph.nodes[i].args)]
    residuals: list[int | Dim] = [*sorted(needed - {moving}.union(inside))]
    builder = Builder(f"{graph.name}_row")
    taken = set(graph.names)
    labels = [graph.names[moving]]
    types = [graph.type(moving)]
    for residual in residuals:
        assert isinstance(residual, int)
        labels.append(graph.names[residual] if residual < len(graph.names) else fresh(f"r{len(labels)}", taken))
        types.append(graph.type(residual))
    inner: Sizes = {}
    for label, type_ in zip(labels, types, strict=True):
        _bind(inner, label, type_)
    stand_ins = [Node("input", (), (), type_) for type_ in types]
    for name in sorted(names_in([*stand_ins, *(graph.nodes[i] for i in inside)]) - inner.keys() - set(labels)):
        owner = name.rpartition(".")[0]
        if owner in graph.names and owner not in labels:
            residual = graph.names.index(owner)
            label, type_ = owner, graph.type(residual)
        else:
            residual, label, type_ = atom(name), fresh("n", taken), ArrayType(INT64, (atom(name),))
        residuals.append(residual)
        labels.append(label)
        types.append(type_)
        _bind(inner, label, type_)
    made = {
        index: builder.input(label, substitute_sizes(type_, inner))
        for index, label, type_ in zip([moving, *residuals], labels, types, strict=True)
    }
    for index in inside:
        node = graph.nodes[index]
        builder.loc = graph.loc(index)
        params, type_ = substitute_sizes(node.params, inner), substitute_sizes(node.type, inner)
        made[index] = builder.raw(node.op, tuple(made[a].index for a in node.args), params, type_)
    return verify(builder.build([made[out] for out in outputs])), residuals


def _bind(sizes: Sizes, label: str, type_: ArrayType) -> None:
    """Name sizes after the axes of an input that has them."""
    for axis, size in enumerate(type_.shape):
        if isinstance(size, Dim) and len(size.terms) == 1:
            (name, *more), factor = size.terms[0]
            if isinstance(name, str) and not more and factor == 1:
                sizes.setdefault(name, atom(f"{label}.{axis}"))
