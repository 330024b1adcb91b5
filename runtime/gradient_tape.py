"""TensorFlow's gradient tape: what it recorded becomes a graph, whose backward pass is compiled once it comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from ..compiler.forward import jvp
from ..compiler.transform import basis, over_rows
from ..tracer.context import context, loc_of
from ..tracer.errors import ShapeError, TapeError, layout
from ..tracer.graph import Builder
from ..tracer.replay import replay
from ..tracer.scalar import Scalar
from ..tracer.tape import Tape, leaves
from ..tracer.tensor import Tensor
from ..tracer.types import SHORT
from ..tracer.values import Value, emit, facts, lift, number
from .structures import remember, run_compiled
from .tape_graph import backward_graph, cut_out, shifted

_MODES = ("none", "zero")


class GradientTape(Tape):
    """Record operations to differentiate them afterwards, as TensorFlow's class of this name does.

    Parameters
    ----------
    persistent : bool
        Whether gradients can be taken more than once.
    watch_accessed_variables : bool
        Whether trainable Variables are watched as soon as they are read.

    Examples
    --------
    >>> import numtape as nt
    >>> x = nt.tensor(3.0)
    >>> with nt.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> float(tape.gradient(y, x))
    6.0
    """

    def gradient(
        self, target: Any, sources: Any, output_gradients: Any = None, unconnected_gradients: str = "none"
    ) -> Any:
        """Derivatives of the sum of all entries of `target` by each source.

        Parameters
        ----------
        target : Tensor or tree of Tensors
        sources : Tensor, Variable or tree of them
        output_gradients : like `target`, optional
            A weight for each entry of the target; default 1.
        unconnected_gradients : {"none", "zero"}
            What stands for a source that the target does not depend on.

        Returns
        -------
        Tensors in the structure of `sources`, each of its source's shape and dtype, or None.

        Raises
        ------
        TapeError
            The tape is not persistent and has given its gradient already.
        ShapeError
            An output gradient does not have its target's shape.
        """
        mode = _check_mode(unconnected_gradients)
        targets, groups, spec = self._prepare(target, sources)
        weights = _weights(output_gradients, target, targets)
        try:
            found = self._pull_back(targets, groups, weights)
        finally:
            if not self._persistent:
                self._finish()
        flat = leaves(sources)
        return optree.tree_unflatten(spec, [_present(g, s, mode) for g, s in zip(found, flat, strict=True)])

    def jacobian(self, target: Any, sources: Any, unconnected_gradients: str = "none") -> Any:
        """All derivatives of every entry of `target`: results have the shape ``target.shape + source.shape``.

        Parameters and errors as for :meth:`gradient`; `target` is one Tensor.
        """
        mode = _check_mode(unconnected_gradients)
        targets, groups, spec = self._prepare(target, sources)
        if len(targets) != 1:
            raise TapeError("jacobian takes one target; take it for each, on a persistent tape")
        try:
            found = self._jacobians(targets[0], groups)
        finally:
            if not self._persistent:
                self._finish()
        flat = leaves(sources)
        out = [_present(g, s, mode, targets[0].sizes) for g, s in zip(found, flat, strict=True)]
        return optree.tree_unflatten(spec, out)

    def batch_jacobian(self, target: Any, source: Any, unconnected_gradients: str = "none") -> Any:
        """The Jacobian of each row of `target` by the same row of `source`: shape ``(b, *target[0], *source[0])``.

        Rows may depend on each other; the blocks off the diagonal are left out, not added in.

        Raises
        ------
        ShapeError
            Target or source has rank below 2, or their first sizes differ.
        TapeError
            Target or source is no Tensor, or the tape has given its gradient already.
        """
        mode = _check_mode(unconnected_gradients)
        _check_ends([target], [source])
        for what, item in (("target", target), ("source", source)):
            if item.ndim < 2:
                text = f"batch_jacobian needs a batch axis and at least one more: the {what} has rank {item.ndim}"
                raise ShapeError(layout(text, expected="rank 2 or more", got=f"shape {item.shape}"))
        rows, source_rows = target._read().sizes, source._read().sizes
        if facts().same(rows[0], source_rows[0]) is None:
            text = "batch_jacobian: target and source differ in their first size"
            raise ShapeError(layout(text, expected=str(target.shape[0]), got=str(source.shape[0])))
        targets, groups, _ = self._prepare(target, source)
        try:
            found = self._jacobians(targets[0], groups)[0]
        finally:
            if not self._persistent:
                self._finish()
        if found is None:
            if mode == "none":
                return None
            return zeros((*rows, *source_rows[1:]), source.dtype)
        which = emit("iota", size=rows[0], dtype="i64")
        return emit("gather", found, which, which, axes=(0, len(rows)), at=0)

    def why_none(self, target: Any, source: Any) -> str:
        """Say why the gradient of `target` by `source` is None: where the path was cut, on which line."""
        return explain_none(self, target, source)

    # -- the work ------------------------------------------------------------------------------------------------

    def _prepare(self, target: Any, sources: Any) -> tuple[list[Value], list[list[Value]], Any]:
        flat = leaves(sources)
        _check_ends(leaves(target), flat)
        targets = [leaf._current() for leaf in leaves(target)]
        self._consume(targets)
        spec = optree.tree_structure(sources, none_is_leaf=True)
        if not self._persistent and self._active:
            self._detach()  # the one gradient is not recorded on its own tape
        return targets, [self._source_values(s) for s in flat], spec

    def _pull_back(
        self, targets: list[Value], groups: list[list[Value]], weights: list[Value | None]
    ) -> list[Tensor | None]:
        part, ends, starts = cut_out(self, targets, groups)
        wanted = [k for k, group in enumerate(starts) if group]
        if not ends or not wanted:
            return [None] * len(groups)
        seeds = [weights[k] for k in ends]
        given = [s for s in seeds if s is not None]
        key = (
            tuple(part.nodes), tuple(ends.values()), tuple(map(tuple, starts)), tuple([s is not None for s in seeds]),
        )  # fmt: skip
        entry = remember(key, lambda: backward_graph(part, list(ends.values()), starts, seeds))
        inputs = [*part.inputs, *given]
        outs = run_compiled(entry, inputs)
        if outs is None:
            # forward nodes stand in the same order in both, behind the inputs
            known = {shifted(i, len(part.inputs), len(given)): v for i, v in part.values.items()}
            outs = replay(entry.graph, inputs, known)
        results: list[Tensor | None] = [None] * len(groups)
        for k, out in zip(entry.present, outs, strict=True):
            results[k] = _strong(out)
        return results

    def _jacobians(self, target: Value, groups: list[list[Value]]) -> list[Any]:
        part, ends, starts = cut_out(self, [target], groups)
        if not ends or not any(starts):
            return [None] * len(groups)
        seed = Value(np.zeros([number(s) for s in target.sizes], dtype=target.dtype), target.sizes)
        present, pulled = backward_graph(part, list(ends.values()), starts, [seed])
        builder = Builder("tape")
        inputs = [builder.input(name, pulled.type(i)) for i, name in enumerate(pulled.names[:-1])]
        rows = over_rows(builder, pulled, [*inputs, basis(builder, pulled.type(len(inputs)))], pulled.outputs)
        results: list[Any] = [None] * len(groups)
        for k, out in zip(present, replay(builder.build(rows), part.inputs), strict=True):
            results[k] = emit("reshape", _strong(out), shape=(*target.sizes, *groups[k][0].sizes))
        return results

    def push_forward(self, targets: list[Value], sources: list[Any], tangents: list[Value]) -> list[Tensor | None]:
        """Tangents of the targets for given tangents of the sources; None where a target does not depend on them."""
        groups = [self._source_values(s) for s in sources]
        part, ends, starts = cut_out(self, targets, groups)
        results: list[Tensor | None] = [None] * len(targets)
        live = [k for k, group in enumerate(starts) if group]
        if not ends or not live:
            return results
        graph = part.builder.build([part.exprs[e] for e in ends.values()])
        wrt = [part.exprs[starts[k][0]].index for k in live]
        pushed = jvp(graph, wrt)
        known = {shifted(i, len(part.inputs), len(live)): v for i, v in part.values.items()}
        outs = replay(pushed, [*part.inputs, *[tangents[k] for k in live]], known)[len(ends) :]
        for k, out in zip(ends, outs, strict=True):
            results[k] = _strong(out)
        return results


def _check_ends(targets: list[Any], sources: list[Any]) -> None:
    for leaf in targets:
        if not isinstance(leaf, Tensor):
            raise TapeError(f"a target must be a Tensor, not {type(leaf).__name__}: nothing of it is recorded")
    for leaf in sources:
        if not isinstance(leaf, Tensor | Scalar):
            raise TapeError(f"a source must be a Tensor or a Variable, not {type(leaf).__name__}")


def _check_mode(mode: str) -> str:
    if mode not in _MODES:
        raise ValueError(f"unconnected_gradients must be 'none' or 'zero', not {mode!r}")
    return mode


def _weights(given: Any, target: Any, targets: list[Value]) -> list[Value | None]:
    if given is None:
        return [None] * len(targets)
    flat = [given] if isinstance(target, Tensor) else leaves(given)
    if len(flat) != len(targets):
        raise ShapeError(
            layout("output_gradients don't match the targets", expected=str(len(targets)), got=str(len(flat)))
        )
    out: list[Value | None] = []
    for weight, value in zip(flat, targets, strict=True):
        if weight is None:
            out.append(None)
            continue
        item = lift(weight) if not isinstance(weight, list) else lift(np.asarray(weight))
        if item.weak or item.dtype != value.dtype or tuple(item.sizes) != tuple(value.sizes):
            shape = np.shape(item.array)
            wanted = tuple([number(s) for s in value.sizes])
            if shape != wanted:
                text = "an output gradient does not have its target's shape"
                raise ShapeError(layout(text, expected=str(wanted), got=str(shape)))
            source = Tensor(item) if not item.weak else weight
            item = emit("astype", source, dtype=SHORT[value.dtype.name])._read()
        out.append(item)
    return out


def _present(found: Any, source: Tensor, mode: str, target: tuple[Any, ...] = ()) -> Any:
    if found is not None:
        return found
    if mode == "none":
        return None
    value = source._current()
    return zeros((*target, *value.sizes), value.dtype)


def zeros(shape: tuple[Any, ...], dtype: np.dtype[Any]) -> Any:
    zero = Value(dtype.type(0))
    if context.trace is not None:
        zero = context.trace.constant(zero.array)
    return emit("broadcast_to", Tensor(zero), shape=shape) if shape else Tensor(zero)


def _strong(value: Value) -> Tensor:
    return Tensor(Value(np.float64(value.array))) if value.weak and value.trace is None else Tensor(value)


def explain_none(tape: Tape, target: Any, source: Any) -> str:
    """The sentence of :meth:`GradientTape.why_none`."""
    # a tape that has given its gradient still knows what was watched and cut, though not the records
    known = tape._known if tape._consumed is None else tape._consumed
    value = target._current()
    sources = tape._source_values(source)
    if source.dtype.kind != "f":
        return f"The source is {source.dtype}: derivatives exist for floating-point numbers. Make it a float."
    if not any(v in known for v in sources):
        return "The source was not watched by this tape, or only after it was used. Call tape.watch(source) first."
    cut = tape._cuts.get(value)
    if cut is not None:
        return f"The path was cut by {cut.op} ({loc_of(cut.place)}): no derivative passes through it."
    if value not in known:
        if tape._left is not None:
            where = loc_of(tape._left.place)
            return f"A watched value left the tape through {tape._left.op} ({where}) and came back as a plain number."
        return (
            "The target was not recorded on this tape: it was computed outside of it, or while recording was stopped."
        )
    if tape._consumed is not None:
        return (
            "Both were recorded. Whether a path joins them went with the records when the tape gave its gradient:\n"
            "make it persistent to ask it afterwards."
        )
    _, ends, starts = cut_out(tape, [value], [sources])
    if ends and starts[0]:
        return "The gradient is not None: the target depends on the source."
    return "The target was recorded, but it does not depend on this source."
