"""From a call to its signature: tree, dtypes, ranks and static values; never shapes, never the values of numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import inspect
import threading
import types
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import optree

from ..tracer.dims import WHOLE
from ..tracer.errors import DtypeError, layout
from ..tracer.tensor import Tensor
from ..tracer.types import SHORT
from ..tracer.values import check_dtype
from ..tracer.variable import Variable
from .identity import Code, Same

_NAMESPACE = "numtape"


class Spec(NamedTuple):
    """What a leaf contributes to the signature: ("array", dtype, rank), ("int",), ("float",), ("static", value)."""

    kind: str
    detail: Any = None
    rank: int = 0

    def __str__(self) -> str:
        if self.kind in ("array", "variable"):
            dims = ",".join(":" * self.rank)
            return f"{SHORT.get(np.dtype(self.detail).name, self.detail)}[{dims}]"
        return self.kind if self.kind in ("int", "float") else repr(self.detail)

    @property
    def dynamic(self) -> bool:
        return self.kind != "static"


class Signature(NamedTuple):
    """The key of a call: the tree of its arguments and the specs of their leaves."""

    tree: Any
    specs: tuple[Spec, ...]


INT, FLOAT = Spec("int"), Spec("float")
_BY_VALUE = (
    str, bytes, bool, type(None), type, np.dtype, enum.Enum, frozenset,
    types.BuiltinFunctionType, types.EllipsisType, np.ufunc,
)  # fmt: skip
_arrays: dict[tuple[Any, int], Spec] = {}


def spec_of(leaf: Any, path: str) -> Spec:
    """The spec of one leaf of the arguments."""
    kind = type(leaf)
    if kind is np.ndarray:
        return array_spec(leaf.dtype, leaf.ndim, path)
    if kind is float:
        return FLOAT
    if kind is int:
        return INT if leaf in WHOLE else Spec("static", ("int", leaf))
    if isinstance(leaf, Variable):
        return Spec("variable", leaf.dtype, leaf.ndim)
    if isinstance(leaf, Tensor):
        return array_spec(leaf._read().dtype, leaf.ndim, path)
    if isinstance(leaf, np.generic):
        return array_spec(leaf.dtype, 0, path)
    if isinstance(leaf, np.ndarray):
        if not isinstance(leaf, np.memmap):
            text = f"argument `{path}` is a {kind.__module__}.{kind.__name__}, not a plain array"
            raise DtypeError(layout(text, fix="Pass np.asarray(x), or the parts of it that the function needs."))
        return array_spec(leaf.dtype, leaf.ndim, path)
    if kind is complex:
        check_dtype(np.dtype(complex), f"argument `{path}`")
    if kind is bool:
        return Spec("static", ("bool", leaf))
    if isinstance(leaf, types.FunctionType | types.MethodType | functools.partial):
        return Spec("static", Code(leaf))
    if isinstance(leaf, _BY_VALUE):
        return Spec("static", leaf)
    if isinstance(leaf, set | bytearray):
        text = f"argument `{path}` is a {kind.__name__}, which can't be part of a signature"
        raise DtypeError(layout(text, fix="Pass a tuple, a list or a dict instead."))
    if _has_compiled_methods(kind):  # type: ignore[arg-type]  # a class is hashable
        # its methods are one program for all objects: what they read of one is captured, and checked at each call
        return Spec("static", ("object", kind))
    return Spec("static", Same(leaf))


@functools.lru_cache(4096)
def _has_compiled_methods(cls: type) -> bool:
    return any(hasattr(type(m), "__numtape_transform__") for c in cls.__mro__ for m in vars(c).values())


def array_spec(dtype: np.dtype[Any], rank: int, path: str) -> Spec:
    """The spec of an array; byte order does not count."""
    found = _arrays.get((dtype, rank))
    if found is None:
        check_dtype(dtype, f"argument `{path}`")
        found = _arrays[(dtype, rank)] = Spec("array", dtype.newbyteorder("="), rank)
    return found


_registered: set[type] = set()  # the dataclasses that optree knows from us
_registering = threading.Lock()


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """Leaves and structure of a tree of lists, tuples, dicts, namedtuples and dataclasses; None is a subtree."""
    while True:
        leaves, spec = optree.tree_flatten(tree, is_leaf, namespace=_NAMESPACE)
        found = {type(leaf) for leaf in leaves if dataclasses.is_dataclass(leaf) and not isinstance(leaf, type)}
        fresh = found - _registered
        if not fresh:
            return leaves, spec
        with _registering:
            for cls in fresh - _registered:
                _register(cls)
                _registered.add(cls)


def unflatten(spec: Any, leaves: list[Any]) -> Any:
    """The tree of a structure with these leaves."""
    return optree.tree_unflatten(spec, leaves)


def paths_of(tree: Any) -> list[str]:
    """The steps to each leaf: ``[0]``, ``['w']``; of a dataclass the field in brackets too."""
    flatten(tree)
    return ["".join(map(_step, p)) for p in optree.tree_paths(tree, namespace=_NAMESPACE)]


def _step(part: Any) -> str:
    return f"[{part!r}]"


def _register(cls: type) -> None:
    names = [f.name for f in dataclasses.fields(cls)]

    def apart(item: Any) -> tuple[list[Any], None, list[str]]:
        return [getattr(item, name) for name in names], None, names

    def together(_: Any, children: Any) -> Any:
        item: Any = object.__new__(cls)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(item, name, child)
        return item

    optree.register_pytree_node(cls, apart, together, namespace=_NAMESPACE)


class Marked:
    """An argument that the user marked as static: part of the signature whatever it is, and one leaf."""

    __slots__ = ("item",)

    def __init__(self, item: Any) -> None:
        self.item = item

    def spec(self) -> Spec:
        try:
            hash(self.item)
        except TypeError:
            return Spec("static", Same(self.item))
        return Spec("static", (type(self.item), self.item))


def _defaults(function: Any) -> tuple[Any, ...]:
    function = getattr(function, "__func__", function)
    keywords = getattr(function, "__kwdefaults__", None) or {}
    return (getattr(function, "__defaults__", None), *keywords, *keywords.values())


def _is_ufunc(function: Any) -> bool:
    """Whether a callable is a ufunc, or one with some arguments given."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    return isinstance(function, np.ufunc)


class Binder:
    """Puts a call's arguments in the order of the parameters, defaults filled in."""

    def __init__(self, function: Callable[..., Any], static: tuple[str | int, ...] = ()) -> None:
        self.static = frozenset(static)
        self._function, self._given = function, _defaults(function)
        self.signature: inspect.Signature | None = None
        if not _is_ufunc(function):  # theirs lists out=, where= and more, which are not arguments here
            with contextlib.suppress(TypeError, ValueError):
                self.signature = inspect.signature(function)
        parameters = [] if self.signature is None else list(self.signature.parameters.values())
        self.names = [p.name for p in parameters]
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        self.exact = len(parameters) if plain and self.signature is not None else -1
        unknown = [s for s in self.static if isinstance(s, str) and self.signature is not None and s not in self.names]
        if unknown:
            raise TypeError(f"static={unknown[0]!r}: the function has no parameter of that name")

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword-only arguments in a canonical form. Raises TypeError as the function would."""
        if not kwargs and (len(args) == self.exact or self.signature is None):
            return args, {}
        if self.signature is None:
            return args, dict(sorted(kwargs.items()))
        now = _defaults(self._function)
        if len(now) != len(self._given) or any(a is not b for a, b in zip(now, self._given, strict=True)):
            self.signature, self._given = inspect.signature(self._function), now  # defaults were given anew
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, dict(sorted(bound.kwargs.items()))

    def leaves_free(self, name: str) -> bool:
        """Whether the function itself takes no argument of that name."""
        if self.signature is None:
            return _is_ufunc(self._function)
        takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in self.signature.parameters.values())
        return name not in self.names and not takes_any

    def is_static(self, position: int) -> bool:
        """Whether the argument at a position was marked as static."""
        return position in self.static or (position < len(self.names) and self.names[position] in self.static)

    def leaf_names(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[str]:
        """A name for each leaf of the arguments, as the user would write it."""
        out: list[str] = []
        for position, arg in enumerate(args):
            out += [self.name_of(position) + path for path in paths_of(arg)]
        for name in sorted(kwargs):
            out += [name + path for path in paths_of(kwargs[name])]
        return out

    def name_of(self, position: int) -> str:
        """The name of the parameter that takes a positional argument."""
        if self.signature is not None:
            parameters = list(self.signature.parameters.values())
            if position < len(parameters) and parameters[position].kind is not inspect.Parameter.VAR_POSITIONAL:
                return parameters[position].name
            star = next((i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
            if star is not None:
                return f"{parameters[star].name}[{position - star}]"
        return f"arg{position}"
