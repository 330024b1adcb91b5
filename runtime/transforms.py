"""`grad` and its kin: each turns a recording's graph into another, and composes with itself, with `jit` and tapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler import transform
from ..compiler.gradient import moved_guards, start
from ..compiler.gradient import value_and_grad as value_and_grad_graph
from ..tracer.errors import GradError, layout
from ..tracer.graph import Graph, copy_into
from ..tracer.plain import replace
from ..tracer.scalar import Scalar
from ..tracer.tensor import Tensor
from ..tracer.values import emit, lift
from .cache import Plan
from .gradient_tape import GradientTape
from .jit import Function, run_body
from .recording import Out, Recording
from .signature import flatten, unflatten


class Derivative(Function):
    """A transform that differentiates by some of the positional arguments."""

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        inner = function if isinstance(function, Function) else None
        if inner is not None:
            for name in ("static", "max_entries", "on_retrace", "backend"):
                settings.setdefault(name, getattr(inner, f"_{name}"))
        super().__init__(function, **settings)

    @property
    def argnums(self) -> tuple[int, ...]:
        given = self._options[0]
        return (given,) if isinstance(given, int) else tuple(given)

    @property
    def single(self) -> bool:
        return isinstance(self._options[0], int)

    def _wrt(self, recording: Recording) -> tuple[list[int], list[tuple[Any, int]]]:
        """Graph inputs to differentiate by, and for each argument its tree and number of leaves."""
        args, _ = unflatten(recording.tree, list(range(len(recording.specs))))
        position = {s.index: k for k, s in enumerate(recording.sources) if s.kind == "leaf"}
        wanted: list[int] = []
        shapes: list[tuple[Any, int]] = []
        for number in self._checked(len(args)):
            leaves, tree = flatten(args[number])
            for leaf in leaves:
                spec = recording.specs[leaf]
                if not spec.dynamic or (spec.kind != "float" and (spec.kind == "int" or spec.detail.kind != "f")):
                    text = f"{self.kind} by `{recording.names[leaf]}`, which is {spec}: it has no derivatives"
                    raise GradError(layout(text, fix="Pass a float, e.g. x.astype(float); or choose other argnums."))
                wanted.append(position[leaf])
            shapes.append((tree, len(leaves)))
        return wanted, shapes

    def _checked(self, count: int) -> list[int]:
        out = []
        for number in self.argnums:
            index = number + count if number < 0 else number
            if not 0 <= index < count:
                text = f"{self.kind}: argnums {number} is out of range"
                raise ValueError(layout(text, expected=f"below {count} positional arguments"))
            out.append(index)
        return out

    def _trees(self, shapes: Sequence[tuple[Any, int]], leaves: Sequence[Any]) -> Any:
        """Results in the structure of the arguments."""
        parts, start = [], 0
        for tree, count in shapes:
            parts.append(unflatten(tree, [as_scalar(x) for x in leaves[start : start + count]]))
            start += count
        return parts[0] if self.single else tuple(parts)

    # -- inside a recording ----------------------------------------------------------------------------------------

    def _taped(self, args: tuple[Any, ...], kwargs: dict[str, Any], persistent: bool = False) -> Any:
        """Run the function on a tape that watches its differentiated arguments."""
        given = list(args)
        sources: list[Any] = []
        trees: list[tuple[Any, int]] = []
        for number in self._checked(len(given)):
            leaves, tree = flatten(given[number])
            fresh = [fresh_source(leaf, self.kind) for leaf in leaves]
            given[number] = unflatten(tree, fresh)
            sources += fresh
            trees.append((tree, len(leaves)))
        tape, result = run_taped(self._function, tuple(given), kwargs, sources, persistent)
        return tape, sources, trees, result


def run_taped(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    sources: list[Any],
    persistent: bool = False,
) -> tuple[GradientTape, Any]:
    """Run a function on a tape of its own that watches `sources`."""
    tape = GradientTape(persistent=persistent, watch_accessed_variables=False)
    with tape:
        for source in sources:
            tape.watch_source(source)
        return tape, run_body(function, args, kwargs)


def fresh_source(leaf: Any, kind: str) -> Any:
    """A copy of an argument, so that derivatives by it are not confused with those by its other uses."""
    value = lift(leaf)
    if value.dtype.kind != "f":
        text = f"{kind} by a value of {value.dtype}: it has no derivatives"
        raise GradError(layout(text, fix="Pass a float, e.g. x.astype(float)."))
    return emit("copy", leaf)


def as_scalar(item: Any) -> Any:
    """A derivative by a Python float as a NumPy scalar."""
    return np.float64(item) if type(item) is float else item


class ValueAndGrad(Derivative):
    kind = "value_and_grad"
    gradient_only = False

    def _derive(self, recording: Recording) -> Plan:
        wrt, shapes = self._wrt(recording)
        has_aux = self._options[1]
        _check_single_output(recording, has_aux, self.kind)
        graph = value_and_grad_graph(recording.graph, wrt)
        count = len(recording.graph.outputs)

        def assemble(outs: Sequence[Any]) -> Any:
            return self._arrange(recording.result(outs), self._trees(shapes, outs[count:]))

        return Plan(recording, graph, assemble)

    def _arrange(self, result: Any, gradients: Any) -> Any:
        has_aux = self._options[1]
        if not self.gradient_only:
            return result, gradients
        return (gradients, result[1]) if has_aux else gradients

    def _direct(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._binder.bind(args, kwargs)
        tape, sources, trees, result = self._taped(args, kwargs)
        target = result[0] if self._options[1] else result
        _check_scalar(target, self.kind, self._label)
        if isinstance(target, Tensor | Scalar):
            target = target if isinstance(target, Tensor) else Tensor(target._read())
            gradients = tape.gradient(target, sources, unconnected_gradients="zero")
        else:
            gradients = [np.zeros_like(s) for s in sources]
        return self._arrange(result, self._trees(trees, gradients))


class Grad(ValueAndGrad):
    kind = "grad"
    gradient_only = True


def _check_single_output(recording: Recording, has_aux: bool, kind: str) -> None:
    leaves = recording.out_leaves
    result = unflatten(recording.out_tree, list(range(len(leaves))))
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):
        raise GradError(
            layout(f"{kind} with has_aux=True", expected="(value, aux) as the result", got=str(type(result).__name__))
        )
    value = result[0] if has_aux else result
    if type(value) is not int or not isinstance(leaves[value], Out) or leaves[value].index != 0:
        got = "a tree of values" if type(value) is not int else repr(leaves[value])
        fix = "Return one scalar that is computed from the arguments; further results go into aux, with has_aux=True."
        raise GradError(
            layout(f"{kind} of {recording.graph.name}", expected="one floating scalar as the result", got=got, fix=fix)
        )


def _check_scalar(target: Any, kind: str, name: str) -> None:
    value = lift(target) if not isinstance(target, tuple | list | dict) else None
    if value is None or value.sizes or value.dtype.kind != "f":
        got = "a tree of values" if value is None else str(value.type)
        fix = "Reduce it first (np.sum, np.mean), or ask for vjp or jacobian."
        raise GradError(layout(f"{kind} of {name}", expected="one floating scalar as the result", got=got, fix=fix))


class Jacobian(Derivative):
    kind = "jacobian"

    def _derive(self, recording: Recording) -> Plan:
        wrt, shapes = self._wrt(recording)
        if len(recording.out_leaves) != 1 or not isinstance(recording.out_leaves[0], Out):
            raise GradError(layout(f"{self.kind} of {recording.graph.name}", expected="one array as the result"))
        graph = self._transform(recording.graph, wrt)
        count = len(graph.outputs) - len(wrt)

        def assemble(outs: Sequence[Any]) -> Any:
            return self._trees(shapes, outs[count:])

        return Plan(recording, graph, assemble)

    def _transform(self, graph: Graph, wrt: list[int]) -> Graph:
        # only the result is differentiated; what the body assigns and writes stays among the outputs
        jacobian = transform.jacobian(replace(graph, outputs=graph.outputs[:1]), wrt, mode=self._options[1])
        builder, inputs = start(graph)
        kept, found = copy_into(builder, graph, inputs), copy_into(builder, jacobian, inputs)
        outputs = [*(kept[o] for o in graph.outputs), *(found[o] for o in jacobian.outputs)]
        return builder.build(outputs, moved_guards(graph.guards, [e.index for e in kept]))

    def _direct(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = self._binder.bind(args, kwargs)
        tape, sources, trees, result = self._taped(args, kwargs)
        target = result if isinstance(result, Tensor) else Tensor(lift(result))
        found = tape.jacobian(target, sources, unconnected_gradients="zero")
        return self._trees(trees, found)


def grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """The gradient of a scalar function, compiled.

    Parameters
    ----------
    f : callable
        Plain NumPy code or a compiled function; returns one floating scalar (with `has_aux`, ``(scalar, aux)``).
    argnums : int or tuple of int
        Positional arguments to differentiate by; each may be a tree. A tuple gives a tuple of gradients.
    has_aux : bool
        Whether `f` returns further results, which are handed through.

    Returns
    -------
    Function
        ``g(*args) -> gradient`` (or ``(gradient, aux)``): of the shape and dtype of the argument.

    Raises
    ------
    GradError
        The result is not a floating scalar, an argument is not floating, or an op has no derivative.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> nt.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    return Grad(f, options=(_argnums(argnums), bool(has_aux)))


def value_and_grad(f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False) -> Function:
    """Value and gradient in one compiled function; parameters and errors as for :func:`grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> value, g = nt.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), g
    (5.0, array([2., 4.]))
    """
    return ValueAndGrad(f, options=(_argnums(argnums), bool(has_aux)))


def jacobian(f: Callable[..., Any], argnums: int | Sequence[int] = 0, mode: str = "auto") -> Function:
    """All derivatives of an array-valued function: shape ``result.shape + argument.shape``.

    Parameters
    ----------
    f : callable
        Returns one array.
    argnums : int or tuple of int
    mode : {"auto", "forward", "reverse"}
        Column by column or row by row; the results agree to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> nt.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ValueError(f"mode must be 'auto', 'forward' or 'reverse', not {mode!r}")
    return Jacobian(f, options=(_argnums(argnums), mode))


def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Function:
    """Second derivatives of a scalar function: shape ``argument.shape + argument.shape``.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> nt.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return Jacobian(Grad(f, options=(_argnums(argnums), False)), options=(_argnums(argnums), "auto"))


def _argnums(given: int | Sequence[int]) -> int | tuple[int, ...]:
    if isinstance(given, bool) or not isinstance(given, int | list | tuple):
        raise TypeError(f"argnums must be an int or a tuple of ints, not {type(given).__name__}")
    return given if isinstance(given, int) else tuple(given)
