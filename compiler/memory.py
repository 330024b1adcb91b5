"""Which nodes share memory: reshapes with their source, and writes with a base that nothing reads any more."""

from __future__ import annotations

from .kernel import Affine
from .steps import Fusion, Nest, Root
from .views import Index, Read, loops_in, write_index


class Memory:
    """Owners of memory in a fused graph."""

    def __init__(self, fusion: Fusion) -> None:
        self.fusion, self.graph = fusion, fusion.graph
        self.owners: dict[int, int] = {}
        self.in_place: set[int] = set()
        self.loads: dict[int, list[tuple[int, Read]]] = {}
        self.nests: dict[Root, int] = {}
        for number, step in enumerate(fusion.steps):
            if isinstance(step, Nest):
                self.nests.update((root, number) for root in step.roots)
        for number, loaded in enumerate(fusion.loaded):
            for read in loaded:
                self.loads.setdefault(self.owner(read.node), []).append((number, read))
        kept = {self.owner(o) for o in self.graph.outputs}
        for step in fusion.steps:
            if not isinstance(step, Nest) and step.kind == "copy" and self._may_overwrite(step.node, kept):
                base = self.owner(self.graph.nodes[step.node].args[0])
                self.in_place.add(step.node)
                self.owners[step.node] = base
                self.loads.setdefault(base, []).extend(self.loads.pop(step.node, []))

    def owner(self, node: int) -> int:
        """The node whose buffer a node lies in."""
        while True:
            if node in self.owners:
                node = self.owners[node]
            elif self.fusion.kinds[node] == "alias" and self.graph.nodes[node].op != "pick":
                node = self.graph.nodes[node].args[0]
            else:
                return node

    def _may_overwrite(self, node: int, kept: set[int]) -> bool:
        """Whether nothing reads the base of a write after it: then it is written where it stands."""
        base = self.graph.nodes[node].args[0]
        if base in kept or self.owner(base) in kept or self.graph.nodes[self.owner(base)].op in ("input", "const"):
            return False
        root = Root("write", node)
        at = self.nests[root]
        index = write_index(self.graph, node, 0, self.graph.type(self.graph.nodes[node].args[1]).shape)
        scatters = self.graph.nodes[node].op in ("scatter_set", "add_scatter")
        return all(
            number < at or (number == at and self._harmless(read, node, index, scatters))
            for number, read in self.loads.get(self.owner(base), [])
        )

    def _harmless(self, read: Read, node: int, written: Index, scatters: bool) -> bool:
        """Whether a nest may read this of the memory in which it writes at index `written`."""
        if not loops_in(read.index, read.mask):
            return True  # read before the loops begin
        if self.graph.type(read.node).shape != self.graph.type(node).shape or scatters:
            return False  # of repeated places the first write would be read by the second
        return read.index == written or any(map(_apart, read.index, written))


def _apart(a: Affine, b: Affine) -> bool:
    if a.terms or b.terms:
        return False
    distance = a.offset - b.offset
    return isinstance(distance, int) and distance != 0
