"""What fusion cuts a graph into: nests with their roots, other steps, and the kinds of nodes."""

from __future__ import annotations

from ..tracer.graph import Graph, Node
from ..tracer.op import Output
from ..tracer.plain import dataclass, field
from .kernel import Size
from .lower import lower
from .views import Read, identity, inlinable, space_of

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")
SCANS = ("cumsum", "cumprod", "linrec")
WRITES = ("set_slice", "add_slice", "scatter_set", "scatter_add", "add_scatter", "concatenate")
CALLS = ("matmul", "sort", "argsort", "map", "nonzero")
PLAIN = ("source", "reduce", "scan", "write", "call", "alias", "bind")
TEMPLATES = {*REDUCTIONS, *SCANS, *WRITES, *CALLS, "reshape", "pick", "integer", "input", "const"}
LARGEST = 4  # parts of a concatenation that are chosen from element by element; more are copied one by one


@dataclass(frozen=True, slots=True)
class Root:
    """Something that a nest leaves behind. `kind`: store, reduce, scan, write (part `part` of a node), init."""

    kind: str
    node: int
    part: int = 0


@dataclass(slots=True)
class Nest:
    """Loops over one iteration space, and what they leave behind."""

    space: tuple[Size, ...]
    segment: int
    roots: list[Root] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Step:
    """What is no nest. `kind`: call (a library's, for `node`), copy (the base of a write), bind, guard (its number)."""

    kind: str
    node: int


@dataclass(slots=True)
class Fusion:
    """A graph cut into steps. `evaluated` and `loaded` list what each nest computes and reads, in order of nodes."""

    graph: Graph
    stored: set[int]
    steps: list[Nest | Step]
    evaluated: list[list[Read]]
    loaded: list[list[Read]]
    demands: dict[Root, list[Read]]
    binders: dict[str, int]  # the nodes that find sizes at run time
    kinds: list[str]


def category(graph: Graph, index: int) -> str:
    """How a node comes about when nobody asks for it to be stored."""
    node = graph.nodes[index]
    if node.op in ("input", "const"):
        return "source"
    if node.op == "concatenate" and len(node.args) > LARGEST:
        return "write"
    if inlinable(graph, node):
        return "inline"
    for kind, ops in (("reduce", REDUCTIONS), ("scan", SCANS), ("write", WRITES), ("call", CALLS)):
        if node.op in ops:
            return kind
    return "bind" if node.op == "integer" else "alias"  # reshape and pick


def is_turned(graph: Graph, index: int) -> bool:
    """Whether a node is the transpose of a matrix."""
    node = graph.nodes[index]
    return node.op == "transpose" and node.param("perm") == (1, 0)


def is_supported(graph: Graph) -> bool:
    """Whether every op of a lowered graph has a template here, those in mapped bodies included."""
    return all(is_known(graph, n) for n in graph.nodes)


def is_known(graph: Graph, node: Node) -> bool:
    """Whether a node of a lowered graph has a template, and the body that it maps as well."""
    if node.op == "map":
        body = node.param("body")
        return not has_strange_dtype(body) and is_supported(lower(body))
    return node.op in TEMPLATES or inlinable(graph, node)


class Placed:
    """A graph whose nodes have kinds, and some of which are stored."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.kinds = [category(graph, i) for i in range(len(graph.nodes))]
        self.stored: set[int] = set()

    def is_plain(self, index: int) -> bool:
        """Whether a node lies in memory."""
        return index in self.stored or self.kinds[index] in PLAIN

    def written(self, index: int) -> list[tuple[int, ...]]:
        """For each part of a write, its value and its indices."""
        node = self.graph.nodes[index]
        match node.op:
            case "concatenate":
                return [(arg,) for arg in node.args]
            case "set_slice" | "add_slice":
                return [(node.args[1],)]
            case "scatter_set" | "add_scatter":
                return [node.args[1:]]
            case _:
                return [node.args]

    def space(self, root: Root) -> tuple[Size, ...]:
        node = self.graph.nodes[root.node]
        match root.kind:
            case "reduce":
                return space_of(self.graph.type(node.args[0]).shape)
            case "write":
                return space_of(self.graph.type(self.written(root.node)[root.part][0]).shape)
            case _:
                return space_of(self.graph.type(root.node).shape)

    def demands(self, root: Root) -> list[Read]:
        """What a root evaluates in its nest."""
        node = self.graph.nodes[root.node]
        match root.kind:
            case "reduce":
                arg = node.args[0]
                return [Read(arg, identity(self.graph.type(arg).shape), ())]
            case "init":
                return [Read(node.args[0], identity(self.graph.type(root.node).shape), ())]
            case "write":
                value, *indices = self.written(root.node)[root.part]
                here = identity(self.graph.type(value).shape)
                if not indices:
                    return [Read(value, here, ())]
                at, depth = node.param("at"), self.graph.type(indices[0]).rank
                return [Read(value, here, ()), *(Read(i, here[at : at + depth], ()) for i in indices)]
            case _:
                return [Read(root.node, identity(self.graph.type(root.node).shape), ())]


def is_strange(type_: Output) -> bool:
    """Whether a type holds float16 or complex numbers, which no back end computes with."""
    types = type_ if isinstance(type_, tuple) else (type_,)
    return any(t.dtype.kind == "c" or t.dtype.name == "float16" for t in types)


def has_strange_dtype(graph: Graph) -> bool:
    """Whether a graph holds float16 or complex numbers."""
    return any(is_strange(node.type) for node in graph.nodes)
