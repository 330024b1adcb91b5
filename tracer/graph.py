"""The graph: a tuple of frozen nodes in topological order, its guards, and the builder that writes one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .dims import Dim, names, substitute
from .op import Op, Output
from .ops import OPS
from .plain import dataclass, field
from .types import BOOL, FLOAT64, INT64, TRUST, ArrayType, Facts

Params = tuple[tuple[str, Hashable], ...]


class Loc(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


NOWHERE = Loc("", 0)


@dataclass(frozen=True, slots=True)
class Const:
    """A constant by its bits, so that 0.0 and -0.0 differ and nan equals itself."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of(value: Any) -> Const:
        array = np.asarray(value)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        return Const(array.dtype.name, array.shape, array.tobytes())

    def array(self) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.data, dtype=self.dtype).reshape(self.shape)


@lru_cache(4096)
def _literal(kind: str, text: str, dtype: np.dtype[Any] | None) -> tuple[Params, ArrayType]:
    """The node parts of a Python number, by its repr: -0.0 and 0.0 are equal keys otherwise."""
    type_ = (
        ArrayType({"bool": BOOL, "int": INT64, "float": FLOAT64}[kind], (), True) if dtype is None else ArrayType(dtype)
    )
    value = text == "True" if kind == "bool" else int(text) if kind == "int" else float(text)
    return (("value", Const.of(np.asarray(value, dtype=type_.dtype))),), type_


@dataclass(frozen=True, slots=True)
class Node:
    """One operation: its name, the indices of earlier nodes, static parameters, and the type of its result."""

    op: str
    args: tuple[int, ...]
    params: Params
    type: Output

    def param(self, name: str) -> Any:
        return dict(self.params)[name]


class Why:
    """Reasons of guards that reports tell apart."""

    FORCED = "Python needs the number itself"
    EQUAL = "these sizes are equal"
    STRETCHES = "a size is 1 and stretches"


@dataclass(frozen=True, slots=True)
class Guard:
    """What the recording assumed: ``subject relation 0`` has this `outcome`, or the truth of a node has.

    `subject` is a size (relation "==", "<", ">=" …) or the index of a node (relation "is"); `at` counts the nodes
    that come before the guard in program order.
    """

    subject: Dim | int
    relation: str
    outcome: bool
    at: int
    loc: Loc = field(default=NOWHERE, compare=False)
    why: str = field(default="", compare=False)


@dataclass(frozen=True)
class Graph:
    """A function as data. Inputs are its first nodes; `names` are theirs; `locs` run parallel to `nodes`."""

    name: str
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...]
    guards: tuple[Guard, ...] = ()
    locs: tuple[Loc, ...] = field(default=(), compare=False)

    def __hash__(self) -> int:
        try:
            return self.__dict__["_hash"]  # type: ignore[no-any-return]
        except KeyError:
            value = hash((self.name, self.nodes, self.outputs, self.names, self.guards))
            self.__dict__["_hash"] = value
            return value

    def __getstate__(self) -> dict[str, Any]:
        # a stored hash would be wrong elsewhere: strings hash differently in each process
        return {k: v for k, v in self.__dict__.items() if k != "_hash"}

    @property
    def inputs(self) -> range:
        return range(len(self.names))

    def type(self, index: int) -> ArrayType:
        type_ = self.nodes[index].type
        assert isinstance(type_, ArrayType), f"%{index} has several results"
        return type_

    def loc(self, index: int) -> Loc:
        return self.locs[index] if self.locs else NOWHERE

    def __str__(self) -> str:
        from .show import show

        return show(self)


class Expr:
    """A node under construction: what derivative rules and passes compute with."""

    __slots__ = ("builder", "index")

    def __init__(self, builder: Builder, index: int) -> None:
        self.builder, self.index = builder, index

    @property
    def type(self) -> ArrayType:
        type_ = self.builder.nodes[self.index].type
        assert isinstance(type_, ArrayType)
        return type_

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    @property
    def rank(self) -> int:
        return len(self.type.shape)

    def op(self, name: str, *others: Expr | float, **params: Hashable) -> Expr:
        return self.builder.op(name, self, *others, **params)

    def _reflected(self, name: str, other: Expr | float) -> Expr:
        return self.builder.op(name, other, self)

    def __add__(self, other: Expr | float) -> Expr:
        return self.op("add", other)

    def __radd__(self, other: float) -> Expr:
        return self._reflected("add", other)

    def __sub__(self, other: Expr | float) -> Expr:
        return self.op("subtract", other)

    def __rsub__(self, other: float) -> Expr:
        return self._reflected("subtract", other)

    def __mul__(self, other: Expr | float) -> Expr:
        return self.op("multiply", other)

    def __rmul__(self, other: float) -> Expr:
        return self._reflected("multiply", other)

    def __truediv__(self, other: Expr | float) -> Expr:
        return self.op("divide", other)

    def __rtruediv__(self, other: float) -> Expr:
        return self._reflected("divide", other)

    def __pow__(self, other: Expr | float) -> Expr:
        return self.op("power", other)

    def __neg__(self) -> Expr:
        return self.op("negative")

    def __lt__(self, other: Expr | float) -> Expr:
        return self.op("less", other)

    def __le__(self, other: Expr | float) -> Expr:
        return self.op("less_equal", other)

    def __gt__(self, other: Expr | float) -> Expr:
        return self.op("greater", other)

    def __ge__(self, other: Expr | float) -> Expr:
        return self.op("greater_equal", other)

    def equals(self, other: Expr | float) -> Expr:
        return self.op("equal", other)

    def __repr__(self) -> str:
        return f"%{self.index}: {self.builder.nodes[self.index].type}"


class Builder:
    """Writes a graph node by node. Equal nodes are one node, so whatever goes through it is free of repetition."""

    def __init__(self, name: str, facts: Facts = TRUST) -> None:
        self.name = name
        self.facts = facts
        self.nodes: list[Node] = []
        self.locs: list[Loc] = []
        self.names: list[str] = []
        self.loc = NOWHERE
        self._memo: dict[tuple[Any, ...], int] = {}

    def input(self, name: str, type_: ArrayType) -> Expr:
        assert len(self.names) == len(self.nodes), "inputs come first"
        self.names.append(name)
        return self._append(Node("input", (), (("name", name),), type_))

    def const(self, value: Any, like: ArrayType | None = None) -> Expr:
        """A constant: a Python number stays weak, an array keeps its dtype; `like` gives a dtype to a number."""
        kind = type(value)
        if kind is float or kind is int or kind is bool:
            params, type_ = _literal(kind.__name__, repr(value), None if like is None else like.dtype)
            return self.raw("const", (), params, type_)
        array = np.asarray(value)
        return self.raw("const", (), (("value", Const.of(array)),), ArrayType(array.dtype, array.shape))

    def size(self, size: int | Dim) -> Expr:
        """The number that a size stands for, as a weak integer."""
        return self.const(size) if isinstance(size, int) else self.op("size", size=size)

    def op(self, name: str, *args: Expr | float, **params: Hashable) -> Expr:
        """Append an op; its type follows from its row."""
        row: Op = OPS[name]
        exprs = [a if isinstance(a, Expr) else self.const(a) for a in args]
        indices = tuple(e.index for e in exprs)
        ordered = tuple(sorted(params.items()))
        key = (name, indices, ordered)
        found = self._memo.get(key)
        if found is not None:
            return Expr(self, found)
        types: Any = tuple(
            [self.nodes[i].type for i in indices]
        )  # several results have a tuple: only `pick` takes them
        return self._append(Node(name, indices, ordered, row.infer(self.facts, types, params)), key)

    def raw(self, name: str, args: tuple[int, ...], params: Params, type_: Output) -> Expr:
        """Append a node whose type is known already."""
        key = (name, args, params, type_) if name == "const" else (name, args, params)
        found = self._memo.get(key)
        return Expr(self, found) if found is not None else self._append(Node(name, args, params, type_), key)

    def _append(self, node: Node, key: tuple[Any, ...] | None = None) -> Expr:
        self.nodes.append(node)
        self.locs.append(self.loc)
        index = len(self.nodes) - 1
        if key is not None:
            self._memo[key] = index
        return Expr(self, index)

    def copy(self, graph: Graph, index: int, args: Sequence[int]) -> Expr:
        """Append a node of another graph on arguments of this one."""
        node = graph.nodes[index]
        self.loc = graph.loc(index)
        return self.raw(node.op, tuple(args), node.params, node.type)

    def build(self, outputs: Iterable[Expr], guards: Sequence[Guard] = ()) -> Graph:
        return Graph(
            self.name,
            tuple(self.nodes),
            tuple(o.index for o in outputs),
            tuple(self.names),
            tuple(guards),
            tuple(self.locs),
        )


def copy_into(builder: Builder, graph: Graph, inputs: Sequence[Expr]) -> list[Expr]:
    """Copy the nodes of a graph on given inputs; returns an Expr for every node of the graph."""
    out = list(inputs)
    for index in range(len(graph.names), len(graph.nodes)):
        node = graph.nodes[index]
        out.append(builder.copy(graph, index, [out[a].index for a in node.args]))
    return out


def live_nodes(graph: Graph, roots: Iterable[int] | None = None) -> list[bool]:
    """For each node whether `roots` (default: the outputs and the guarded nodes) depend on it."""
    if roots is None:
        roots = [*graph.outputs, *(g.subject for g in graph.guards if isinstance(g.subject, int))]
        bound = {n for g in graph.guards if isinstance(g.subject, Dim) for n in names(g.subject)}
    else:
        bound = set()
    live = [False] * len(graph.nodes)
    for root in roots:
        live[root] = True
    for index in range(len(graph.nodes) - 1, -1, -1):
        node = graph.nodes[index]
        binds = node.op in BINDING and node.param("count") in bound
        if live[index] or binds:
            live[index] = True
            for arg in node.args:
                live[arg] = True
            bound |= _size_names(node)
    return live


BINDING = ("nonzero", "integer")  # ops that name a size while the call runs: counts are "#1", other integers "@1"


def _size_names(node: Node) -> set[str]:
    """Names of run-time sizes that a node's type or params mention."""
    found: set[str] = set()

    def visit(item: Any) -> None:
        if isinstance(item, Dim):
            found.update(n for n in names(item) if n[0] in "#@")
        elif isinstance(item, ArrayType):
            for size in item.shape:
                visit(size)
        elif isinstance(item, tuple):
            for part in item:
                visit(part)

    visit(node.type)
    visit(node.params)
    return found


def substitute_sizes(item: Any, values: Mapping[Any, int | Dim]) -> Any:
    """A type, parameter or tuple of them with named sizes replaced."""
    if not values:
        return item
    if isinstance(item, Dim):
        return substitute(item, values)
    if isinstance(item, ArrayType):
        return ArrayType(item.dtype, tuple(substitute(s, values) for s in item.shape), item.weak)
    if isinstance(item, tuple) and not hasattr(item, "_fields"):
        return tuple(substitute_sizes(part, values) for part in item)
    return item


def verify(graph: Graph) -> Graph:
    """Check that a graph is well formed; returns it. Raises AssertionError that names the node."""
    known = len(graph.names)
    assert len(graph.locs) in (0, len(graph.nodes)), f"{graph.name}: locs don't run parallel to nodes"
    for index, node in enumerate(graph.nodes):
        where = f"{graph.name}: %{index} = {node.op}"
        assert (node.op == "input") == (index < known), f"{where}: inputs must come first"
        assert node.op in OPS, f"{where}: unknown op"
        assert all(0 <= a < index for a in node.args), f"{where}: argument is not an earlier node"
        assert list(node.params) == sorted(node.params), f"{where}: params are not sorted"
        if node.op in ("input", "const"):
            continue
        types = tuple(graph.type(a) if node.op != "pick" else graph.nodes[a].type for a in node.args)
        try:
            inferred = OPS[node.op].infer(TRUST, types, dict(node.params))  # type: ignore[arg-type]
        except (TypeError, ValueError, IndexError) as error:
            raise AssertionError(f"{where}: its row refuses it: {error}") from error
        assert _agree(inferred, node.type), f"{where}: type {node.type}, its row says {inferred}"
    assert len(set(graph.names)) == known, f"{graph.name}: two inputs have one name"
    for guard in graph.guards:
        assert 0 <= guard.at <= len(graph.nodes), f"{graph.name}: guard at {guard.at}"
        assert isinstance(guard.subject, Dim) or 0 <= guard.subject < guard.at, (
            f"{graph.name}: guard of %{guard.subject}"
        )
    for out in graph.outputs:
        assert 0 <= out < len(graph.nodes), f"{graph.name}: output %{out} does not exist"
    return graph


def _agree(a: Output, b: Output) -> bool:
    if isinstance(a, tuple) or isinstance(b, tuple):
        return isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b) and all(map(_agree, a, b))
    if a.dtype != b.dtype or a.rank != b.rank:
        return False
    return all(p == q or isinstance(p, Dim) or isinstance(q, Dim) for p, q in zip(a.shape, b.shape, strict=True))
