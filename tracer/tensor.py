"""The Tensor: what user code holds in place of an array. A mutable handle on immutable values.

A Tensor made by a view (slice, transpose, reshape …) knows its root and the chain of view ops from there. A write
computes the root's new content as a pure operation; every view reads through its chain when the root has moved on.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .arithmetic import install_scalar_operators
from .context import context, place
from .dims import Dim, atom
from .errors import TraceError, layout
from .op import Op
from .operators import install_operators
from .ops import OPS
from .scalar import Scalar, as_key, as_user_size
from .values import Value, apply, attempt, emit, has_traced, is_traced, lift, unrecorded

Chain = tuple[tuple[str, dict[str, Any]], ...]


class Tensor:
    """An array whose operations are recorded. It speaks NumPy's protocols, so plain NumPy code takes it.

    Made by :func:`numtape.tensor`, by operations on other Tensors, and for the arguments of a function that is
    being recorded.
    """

    __slots__ = ("__weakref__", "_chain", "_root", "_value", "_version")
    __array_priority__ = 1000.0
    __numtape_traced__ = True

    def __init__(self, value: Value, root: Tensor | None = None, chain: Chain = ()) -> None:
        self._value = value
        self._root = root
        self._chain = chain
        self._version: int = 0 if root is None else root._version

    # -- reading and writing -------------------------------------------------------------------------------------

    def _read(self) -> Value:
        root = self._root
        if root is not None and root._version != self._version:
            value = root._read()
            for name, params in self._chain:
                value = apply(OPS[name], (value,), params, place())  # type: ignore[assignment]
            self._value, self._version = value, root._version
        return self._value

    def _current(self) -> Value:
        """The content without telling a tape that it was read (only Variables tell)."""
        return self._read()

    def read(self) -> Tensor:
        """The present content as a Tensor that later writes don't reach."""
        return Tensor(self._read())

    def _replace(self, new: Any) -> None:
        """Make `new` the content of this handle, and of the root that it views."""
        value = lift(new)
        root = self._root
        if root is None:
            self._store(value)
            return
        stages = [root.read()]
        for name, params in self._chain[:-1]:
            stages.append(emit(name, stages[-1].read(), **params))
        updated: Any = Tensor(value)
        for (name, params), before in zip(reversed(self._chain), reversed(stages), strict=True):
            updated = _unview(name, params, before, updated)
        root._store(updated._read())
        self._value, self._version = value, root._version

    def _store(self, value: Value) -> None:
        self._value = value
        self._version += 1

    def __getitem__(self, key: Any) -> Any:
        from .indexing import getitem

        return attempt(getitem, self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from .indexing import getitem, setitem

        root = self if self._root is None else self._root
        if isinstance(value, Tensor) and value._root is root and value._version == root._version:
            # `y[1:] += v` has written through the view already; Python then assigns the view to itself
            view = getitem(self, key)
            if isinstance(view, Tensor) and view._root is root and view._chain == value._chain:
                return
        immutable = self.ndim == 0 and self._root is None and not isinstance(self._read().array, np.ndarray)
        if immutable and key not in ((), ...):
            raise TypeError(f"'{self.dtype}' scalar does not support item assignment")
        attempt(setitem, self, key, value)

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple([as_user_size(s) for s in self._read().sizes])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._read().dtype

    @property
    def ndim(self) -> int:
        return len(self._read().sizes)

    @property
    def size(self) -> Any:
        total: int | Dim = 1
        for part in self._read().sizes:
            total = part * total
        return as_user_size(total)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def T(self) -> Any:
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        return self

    @property
    def imag(self) -> Any:
        return np.zeros_like(self)

    @property
    def flat(self) -> Any:
        raise unrecorded("Tensor.flat", "Use x.ravel()[...] instead.")

    def view(self, *args: Any) -> Any:
        raise unrecorded("Tensor.view", "Use x.astype(...) or x.reshape(...) instead.")

    def __len__(self) -> int:
        sizes = self._read().sizes
        if not sizes:
            raise TypeError("len() of unsized object")
        return operator.index(as_user_size(sizes[0]))

    def __iter__(self) -> Iterator[Any]:
        if not self._read().sizes:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"Tensor has no attribute {name!r}")
        from .numpy_api import METHODS

        method = METHODS.get(name)
        if method is None:
            raise AttributeError(f"Tensor has no attribute {name!r}")
        return lambda *args, **kwargs: attempt(method, self, *args, **kwargs)

    # -- leaving the graph ---------------------------------------------------------------------------------------

    def numpy(self) -> Any:
        """The present content as a fresh NumPy array (0-d: a NumPy scalar)."""
        self._refuse("numpy()")
        array = self._read().array
        return array.copy() if isinstance(array, np.ndarray) else array

    def _refuse(self, what: str) -> None:
        value = self._read()
        trace = context.trace
        if trace is not None and (value.trace is trace or trace.follows(value)):
            fix = (
                "Stay with NumPy functions on the traced value, or move this line out of the recorded function.\n"
                "(float(x), int(x), math.sin(x) … work where they stand in your own code.)"
            )
            text = f"{what} of a traced value would cut it out of the graph"
            raise trace.noted(TraceError(layout(text, str(trace.loc()), fix=fix)))
        for recorder in context.recorders:
            note = getattr(recorder, "note_cut", None)
            if note is not None:
                note(value, what)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        self._refuse("np.asarray")
        return np.array(self._read().array, dtype=dtype)

    def __float__(self) -> float:
        self._refuse("float()")
        return float(self._read().array)

    def __complex__(self) -> complex:
        self._refuse("complex()")
        return complex(self._read().array)

    def __int__(self) -> int:
        if context.trace is not None and self.dtype.kind in "iu" and self.ndim == 0:
            return self.__index__()
        self._refuse("int()")
        return int(self._read().array)

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        trace = context.trace
        if trace is not None and trace.follows(self._read()):
            return operator.index(emit("integer", self, count=trace.fresh("@")))
        return int(self._read().array)

    def __bool__(self) -> bool:
        value = self._read()
        if value.array.size != 1:
            return attempt(bool, value.array)  # NumPy's own error
        trace = context.trace
        if trace is not None and trace.follows(value):
            return trace.truth(self if value.dtype.kind == "b" else emit("not_equal", self, 0))
        return bool(value.array)

    def _size(self) -> int | Dim | None:
        trace = context.trace
        if self.dtype.kind not in "iu" or self.ndim:
            raise TypeError(f"an integer is required, got {self.dtype} of shape {self.shape}")
        if trace is not None and trace.follows(self._read()):
            return emit("integer", self, count=trace.fresh("@"))._size()
        return int(self._read().array)

    def __hash__(self) -> int:
        trace = context.trace
        if trace is None or not trace.follows(self._read()):
            return id(self)
        if self.ndim:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(as_key(self))

    def __repr__(self) -> str:
        text = np.array2string(np.asarray(self._read().array), separator=", ", prefix="tensor(")
        return f"tensor({text}, dtype={self.dtype})"

    def __str__(self) -> str:
        return str(self._shown())

    def __format__(self, spec: str) -> str:
        return format(self._shown(), spec)

    def _shown(self) -> Any:
        """What is printed: an integer by value, since text of it may become a key."""
        value = self._read()
        trace = context.trace
        if value.dtype.kind in "iu" and not value.sizes and trace is not None and trace.follows(value):
            return self.__index__()
        return value.array

    def __reduce__(self) -> tuple[Any, ...]:
        return (tensor, (self.numpy(),))

    def __copy__(self) -> Tensor:
        return emit("copy", self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        return emit("copy", self)

    # -- NumPy's protocols ---------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            row = OPS.get(ufunc.__name__)
            if row is not None and row.partials is not None:
                if len(inputs) == 1 and type(self) is Tensor and context.trace is None:
                    value = self._value if self._root is None else self._read()
                    out = Value(ufunc(value.array))
                    recorders = context.recorders
                    if recorders:
                        values, outs, where = (value,), (out,), place()
                        for recorder in recorders:
                            recorder.record(row, values, _NO_PARAMS, outs, where)
                    return Tensor(out)
                return wrap_strong(apply(row, tuple([lift(a) for a in inputs]), _NO_PARAMS, place()))
        from .numpy_api.ufuncs import call_ufunc

        return attempt(call_ufunc, ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        from .numpy_api import call_function

        return call_function(function, args, kwargs)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np


_NO_PARAMS: dict[str, Any] = {}


def wrap(value: Value, row: Op | None = None, args: tuple[Any, ...] = (), params: dict[str, Any] = _NO_PARAMS) -> Any:
    """The handle for a value: a runtime scalar if it is weak, else a Tensor, linked to its base if it is a view."""
    if value.weak:
        named = row is not None and row.name == "integer" and context.trace is not None
        return Scalar(value, atom(params["count"]) if named else None)
    if row is not None and row.view and isinstance(args[0], Tensor):
        base = args[0]
        array = value.array
        if base._root is not None or base._read().sizes:
            # a reshape is a view or a copy by the layout; of one element, or of none, it is a view
            linked = row.name != "reshape" or array.size < 2 or np.may_share_memory(array, base._read().array)
            if linked:
                root = base if base._root is None else base._root
                return Tensor(value, root, (*base._chain, (row.name, params)))
    return Tensor(value)


def wrap_strong(value: Value | tuple[Value, ...]) -> Any:
    """The handle for a ufunc's result: np.sin(2.0) is a float64, not a weak Python float."""
    if type(value) is tuple:
        return tuple([wrap_strong(v) for v in value])
    assert isinstance(value, Value)
    if value.weak:
        return emit("astype", Scalar(value), dtype={"f": "f64", "i": "i64", "b": "bool"}[value.dtype.kind])
    return Tensor(value)


def _unview(name: str, params: dict[str, Any], before: Tensor, updated: Tensor) -> Any:
    """The content of a view's base after the view was given new content."""
    match name:
        case "slice":
            return emit("set_slice", before, updated, start=params["start"], step=params["step"])
        case "transpose":
            perm = params["perm"]
            return emit("transpose", updated, perm=tuple(perm.index(i) for i in range(len(perm))))
        case "expand_dims":
            return emit("squeeze", updated, axes=params["axes"])
        case "squeeze":
            return emit("expand_dims", updated, axes=params["axes"])
        case _:
            return emit("reshape", updated, shape=before._read().sizes)


def tensor(value: Any, dtype: Any = None) -> Tensor:
    """A Tensor that holds a copy of `value`.

    Parameters
    ----------
    value : array_like
        Numbers of any shape; Tensors are copied with their derivatives.
    dtype : dtype, optional
        Default: NumPy's choice for `value`.

    Raises
    ------
    DtypeError
        The dtype has no place in a graph (object, str, structured, complex).

    Examples
    --------
    >>> import numtape as nt
    >>> nt.tensor([1.0, 2.0]) * 3
    tensor([3., 6.], dtype=float64)
    """
    if is_traced(value):
        result = emit("copy", value)
        if isinstance(result, Scalar):
            result = wrap_strong(result._read())
        return result if dtype is None else result.astype(dtype)
    if isinstance(value, list | tuple) and has_traced(value):
        result = np.stack(value)
        return result if dtype is None else result.astype(dtype)  # type: ignore[return-value]
    array = np.array(value, dtype=dtype)
    fresh = Value(array if array.ndim else array[()])
    if type(value) is not np.ndarray:
        lift(value) if isinstance(value, np.ndarray) else None
    lift(fresh.array)
    trace = context.trace
    if trace is not None:
        fresh = trace.constant(fresh.array)
    return Tensor(fresh)


install_operators(Tensor)
install_scalar_operators()

constant = tensor
