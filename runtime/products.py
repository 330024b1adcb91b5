"""`vjp`, `jvp` and `hvp`: products with the Jacobian and the Hessian, without forming them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tracer.context import context
from ..tracer.errors import GradError, ShapeError, layout
from ..tracer.scalar import Scalar
from ..tracer.tensor import Tensor
from ..tracer.types import FLOAT64, SHORT
from ..tracer.values import Value, emit, is_traced, lift, number, sizes
from .gradient_tape import zeros
from .jit import Function
from .recording import Recording, record
from .serving import serving
from .signature import Binder, Signature, flatten, unflatten
from .transforms import Derivative, Grad, as_scalar, fresh_source, run_taped


class Product(Derivative):
    """A transform that takes the arguments of the function as one tuple, and a second tuple beside it.

    It is recorded as what it does on a tape, forward and backward together.
    """

    def __init__(self, function: Callable[..., Any], **settings: Any) -> None:
        super().__init__(function, **settings)
        self._binder = Binder(self._direct)
        self._static = ()

    def _record(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str], signature: Signature
    ) -> Recording:
        return record(self._function, args, kwargs, names, signature.specs, self._label, run=self._direct)

    def _direct(self, primals: Any, others: Any) -> Any:
        raise NotImplementedError


def _fresh(primals: Any, kind: str) -> tuple[tuple[Any, ...], list[Any], Any]:
    """Copies of the primals that a tape can watch, each or None as a source, and their structure."""
    leaves, tree = flatten(primals)
    handles: list[Any] = []
    sources: list[Any] = []
    for leaf in leaves:
        floating = _floating(leaf)
        handles.append(fresh_source(leaf, kind) if floating else leaf)
        sources.append(handles[-1] if floating else None)
    return tuple(unflatten(tree, handles)), sources, tree


def _floating(leaf: Any) -> bool:
    if isinstance(leaf, float | Tensor | Scalar | np.ndarray | np.generic):
        return lift(leaf).dtype.kind == "f"
    return False


class PullBack(Product):
    """(primals, cotangents) -> one gradient for each primal."""

    kind = "vjp"

    def _direct(self, primals: Any, others: Any) -> Any:
        return self.taped(primals, persistent=False)[1](others)

    def taped(self, primals: Any, persistent: bool) -> tuple[Any, Callable[[Any], Any]]:
        """The result, and what pulls a cotangent back through the one run that gave it."""
        args, sources, tree = _fresh(primals, self.kind)
        live = [s for s in sources if s is not None]
        tape, result = run_taped(self._function, args, {}, live, persistent)
        outs, out_tree = flatten(result)
        leaves, _ = flatten(primals)

        def pull(cotangent: Any) -> Any:
            weights = self.weights(out_tree, cotangent)
            pairs = [(_tensor(o), w) for o, w in zip(outs, weights, strict=True) if is_traced(o)]
            found = tape.gradient([o for o, _ in pairs], live, [w for _, w in pairs], unconnected_gradients="zero")
            gradients = iter(found)
            out = [
                next(gradients) if s is not None else zeros(sizes(p), FLOAT64)
                for s, p in zip(sources, leaves, strict=True)
            ]
            return unflatten(tree, out)

        return result, pull

    def weights(self, out_tree: Any, cotangent: Any) -> list[Any]:
        """The leaves of a cotangent, which must have the structure of the result."""
        weights, weight_tree = flatten(cotangent)
        if weight_tree != out_tree:
            text = f"vjp of {self._label}: the cotangent does not have the structure of the result"
            raise GradError(layout(text, expected=str(out_tree), got=str(weight_tree)))
        return weights

    def pinned(self, primals: tuple[Any, ...], result: Any) -> Callable[[Any], Any]:
        """The compiled pullback at these primals, and at what the function captures now."""
        outs, out_tree = flatten(result)
        args = (primals, unflatten(out_tree, [np.ones_like(o)[()] if _floating(o) else o for o in outs]))
        entry, leaves = serving(self, args, {})
        run = entry.pinned(self._function, leaves)

        def pull(cotangent: Any) -> Any:
            weights = [_cast(w, o) for w, o in zip(self.weights(out_tree, cotangent), outs, strict=True)]
            self._counts.calls += 1
            self._counts.hits += 1
            return run(flatten(((primals, unflatten(out_tree, weights)), {}))[0])

        return pull


def _cast(weight: Any, out: Any) -> Any:
    """A cotangent in its result's dtype; the shapes must agree."""
    if not _floating(out):
        return out
    if np.shape(weight) != np.shape(out):
        text = "a cotangent does not have its result's shape"
        raise ShapeError(layout(text, expected=str(np.shape(out)), got=str(np.shape(weight))))
    return np.asarray(weight, dtype=np.asarray(out).dtype)[()]


class PushForward(Product):
    """(primals, tangents) -> (result, tangent of the result)."""

    kind = "jvp"

    def _direct(self, primals: Any, others: Any) -> Any:
        args, sources, tree = _fresh(primals, self.kind)
        tangents, tangent_tree = flatten(others)
        if tangent_tree != tree:
            text = f"jvp of {self._label}: the tangents do not have the structure of the primals"
            raise GradError(layout(text, expected=str(tree), got=str(tangent_tree)))
        live = [(s, _like(t, s)) for s, t in zip(sources, tangents, strict=True) if s is not None]
        tape, result = run_taped(self._function, args, {}, [s for s, _ in live])
        outs, out_tree = flatten(result)
        traced = [k for k, o in enumerate(outs) if is_traced(o)]
        found = tape.push_forward([outs[k]._read() for k in traced], [s for s, _ in live], [t for _, t in live])
        pushed: list[Any] = [
            np.zeros(np.shape(o)) if isinstance(o, float | np.ndarray | np.generic) else 0.0 for o in outs
        ]
        for k, tangent in zip(traced, found, strict=True):
            pushed[k] = tangent if tangent is not None else emit("multiply", outs[k], 0.0)
        return result, unflatten(out_tree, pushed)


def _tensor(item: Any) -> Tensor:
    return item if isinstance(item, Tensor) else Tensor(item._read())


def _like(tangent: Any, source: Any) -> Value:
    """A tangent in its primal's dtype; the shapes must agree."""
    value, wanted = lift(tangent), source._read()
    shape, need = [number(s) for s in value.sizes], [number(s) for s in wanted.sizes]
    if shape != need:
        raise ShapeError(
            layout("a tangent does not have its primal's shape", expected=str(tuple(need)), got=str(tuple(shape)))
        )
    if wanted.weak and not value.weak:
        return emit("weaken", tangent, kind="f")._read()
    if value.dtype != wanted.dtype or (value.weak and not wanted.weak):
        return emit("astype", tangent, dtype=SHORT[wanted.dtype.name])._read()
    return value


class HessianProduct(Product):
    """(x, v) -> H v, where H is the Hessian by the first argument."""

    kind = "hvp"

    def _direct(self, primals: Any, others: Any) -> Any:
        inner = PushForward(Grad(self._function, options=(0, False)))
        return inner._direct((primals,), (others,))[1]


class Vjp:
    """What ``vjp(f)`` returns: called with primals, it gives the result and the function that pulls back."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._forward = function if isinstance(function, Function) else Function(function)
        self._pull = PullBack(function)

    @property
    def _compiled(self) -> tuple[Function, ...]:
        return self._forward, self._pull

    def __call__(self, *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
        if context.trace is not None or context.recorders or any(map(is_traced, flatten(primals)[0])):
            result, pull = self._pull.taped(primals, persistent=True)
            return result, lambda cotangent: tuple(pull(cotangent))
        kept = tuple(unflatten(*reversed(_copied(primals))))
        args, kwargs = self._forward._binder.bind(kept, {})
        if serving(self._forward, args, kwargs)[0].recording.effects:
            text = f"vjp of {self._forward._label}: it assigns a Variable or writes into an array"
            fix = "Return the new value instead, or use value_and_grad, which runs once."
            raise GradError(layout(text, fix=fix))
        result = self._forward(*primals)
        compiled = self._pull.pinned(kept, result)
        return result, lambda cotangent: tuple(map(_scalars, compiled(cotangent)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._pull, name)


def _scalars(tree: Any) -> Any:
    leaves, spec = flatten(tree)
    return unflatten(spec, [as_scalar(x) for x in leaves])


def _copied(primals: Any) -> tuple[list[Any], Any]:
    # later writes into the caller's arrays must not change what is pulled back
    leaves, tree = flatten(primals)
    return [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves], tree


class Jvp:
    """What ``jvp(f)`` returns: called with primals and tangents, it gives the result and its tangent."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._push = PushForward(function)

    @property
    def _compiled(self) -> tuple[Function, ...]:
        return (self._push,)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        return self._push(tuple(primals), tuple(tangents))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._push, name)


def vjp(f: Callable[..., Any], *primals: Any) -> Any:
    """Products of a cotangent with the Jacobian, compiled.

    ``vjp(f, *primals)`` returns ``(result, pullback)``, where ``pullback(cotangent)`` gives a tuple with one gradient
    for each primal. ``vjp(f)`` returns a function of the primals that does the same.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> y, pullback = nt.vjp(lambda x: x**2, np.array([1.0, 2.0]))
    >>> pullback(np.array([1.0, 10.0]))
    (array([ 2., 40.]),)
    """
    found = Vjp(f)
    return found(*primals) if primals else found


def jvp(f: Callable[..., Any], primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None) -> Any:
    """Products of the Jacobian with a tangent, compiled.

    ``jvp(f, primals, tangents)`` returns ``(result, tangent of the result)``; ``jvp(f)`` returns a function of the two.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> nt.jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 10.0]),))
    (array([1., 4.]), array([ 2., 40.]))
    """
    found = Jvp(f)
    if primals is None:
        return found
    if tangents is None:
        raise TypeError("jvp takes primals and tangents, two tuples of the same structure")
    return found(primals, tangents)


def hvp(f: Callable[..., Any]) -> Function:
    """Products of the Hessian with a vector: ``hvp(f)(x, v)`` has the shape of `x`; the Hessian is never formed.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> nt.hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    return HessianProduct(f)
