"""Fusion: which nodes of a graph are stored, and which loop nest computes them.

Everything that can be is evaluated where it is read, at the index at which it is read (views.py). Stored are results,
reductions, what library calls take and give, and whatever would be computed twice and is dear: a value of several
loop nests, of several indices, or of an inner loop that outer ones repeat. Stored nodes over one iteration space
share a nest unless one needs the other complete; forward and backward parts of a gradient are no different in this.
Placing nodes tells which values are computed twice, and storing those changes the places, so both alternate until
nothing changes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from heapq import heappop, heappush
from typing import Any

from ..tracer.dims import Dim, names
from ..tracer.graph import BINDING, Graph, Node
from .cost import CHEAP, costs
from .inline import names_in
from .order import OVERWRITING, small_slice, users_of
from .steps import Fusion, Nest, Placed, Root, Step, is_turned
from .views import ZERO, Data, Index, Mask, Quotient, Read, identity, is_point, loops_in, reads, space_of


def fuse(graph: Graph) -> Fusion:
    """Cut a lowered graph into loop nests and library calls."""
    fusing = _Fusing(graph)
    fusing.settle()
    # what was stored for a reader that has since found a later value to start from
    unused = fusing.stored - fusing.needed - {read.node for loaded in fusing.loaded for read in loaded}
    if unused:
        kept = fusing.stored
        fusing.stored = kept - unused
        fusing.schedule()
        if fusing.measure():
            fusing.stored = kept
            fusing.settle()
    demands = {root: fusing.demands(root) for step in fusing.steps if isinstance(step, Nest) for root in step.roots}
    return Fusion(
        graph, fusing.stored, fusing.steps, fusing.evaluated, fusing.loaded, demands, fusing.binders, fusing.kinds
    )


class _Fusing(Placed):
    """The state of one run of `fuse`."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._show_results()
        self.binders = {n.param("count"): i for i, n in enumerate(graph.nodes) if n.op in BINDING}
        self.sizes = [self._binders_of(node) for node in graph.nodes]
        self.segments = self._segments()
        self.users = users_of(graph)
        self.needed = self._wanted()
        self.stored = set(self.needed)
        self.steps: list[Nest | Step] = []
        self.evaluated: list[list[Read]] = []
        self.loaded: list[list[Read]] = []

    def _show_results(self) -> None:
        """Results that are another shape of what lies in memory anyway are shown, not copied."""
        for out in self.graph.outputs:
            path = [out]
            while self.graph.nodes[path[-1]].op in ("expand_dims", "squeeze", "reshape"):
                path.append(self.graph.nodes[path[-1]].args[0])
            if self._rank(path[-1]) and self.kinds[path.pop()] in ("reduce", "scan", "write", "call"):
                for index in path:
                    self.kinds[index] = "alias" if self._rank(index) else self.kinds[index]

    def _binders_of(self, node: Node) -> tuple[int, ...]:
        """The nodes that find the sizes which a node mentions."""
        if not self.binders:
            return ()
        found = {self.binders[n] for n in names_in([node]) if n in self.binders}
        return tuple(sorted(found)) if node.op not in BINDING else ()

    def _segments(self) -> list[int]:
        """The number of the first guard that needs each node; nodes that none needs come last."""
        guards = self.graph.guards
        out = [len(guards)] * len(self.graph.nodes)
        for number, guard in enumerate(guards):
            if isinstance(guard.subject, int):
                todo = [guard.subject]
            else:
                todo = [self.binders[n] for n in names(guard.subject) if n in self.binders]
            while todo:
                index = todo.pop()
                if out[index] > number:
                    out[index] = number
                    todo += [*self.graph.nodes[index].args, *self.sizes[index]]
        return out

    def _wanted(self) -> set[int]:
        """The nodes that are stored whatever it costs to compute them again."""
        out = {o for o in self.graph.outputs if self._rank(o)}
        for index, node in enumerate(self.graph.nodes):
            if self.kinds[index] in ("alias", "call") and node.op != "pick":
                for arg in node.args:
                    out.add(self._matrix(arg) if node.op == "matmul" else arg)
            if node.op in OVERWRITING and self.kinds[node.args[0]] not in ("source", "inline"):
                # a row that is needed after it is overwritten is kept aside: else the whole would be copied
                rows = [u for u in self.users[node.args[0]] if small_slice(self.graph, u) and not self._point(u)]
                out |= {row for row in rows if any(user > index for user in self.users[row])}
        return {i for i in out if self.kinds[i] == "inline" and self._rank(i)}

    def _rank(self, index: int) -> int:
        type_ = self.graph.nodes[index].type
        return -1 if isinstance(type_, tuple) else type_.rank

    def _point(self, index: int) -> bool:
        """Whether a node is one number, which is computed once and stays in a scalar."""
        type_ = self.graph.nodes[index].type
        return not isinstance(type_, tuple) and is_point(type_.shape)

    def _matrix(self, arg: int) -> int:
        """What a product reads: the matrix itself where `arg` is its transpose."""
        return self.graph.nodes[arg].args[0] if is_turned(self.graph, arg) else arg

    # ------------------------------------------------------------------------------------------------ placing
    def settle(self) -> None:
        """Place nodes and store what is computed twice, until nothing is."""
        while True:
            self.schedule()
            again = self.measure()
            if not again:
                return
            self.stored |= again

    def schedule(self) -> None:
        """Give every stored node a place, in the first nest over its space that comes late enough."""
        count = len(self.graph.nodes)
        self.steps = []
        self.own, self.chain = costs(self.graph, self.kinds, self.stored)
        self.places: dict[tuple[Any, int], list[int]] = {}
        # for each node the last nest whose values it reads element by element, and the first step after all others
        self.ident, self.full = [-1] * count, [0] * count
        for segment in range(len(self.graph.guards) + 1):
            for index in range(count):
                if self.segments[index] == segment:
                    self._place(index, segment)
            if segment < len(self.graph.guards):
                self.steps.append(Step("guard", segment))

    def after(self, index: int) -> int:
        """The first step at which all of a node can be read."""
        return max(self.full[index], self.ident[index] + 1)

    def _place(self, index: int, segment: int) -> None:
        node, kind = self.graph.nodes[index], self.kinds[index]
        floor = max((self.after(b) for b in self.sizes[index]), default=0)
        match kind:
            case "source":
                return
            case "inline" | "scan":
                ident, full = self._levels(index, floor)
                if index in self.stored or kind == "scan":
                    full = ident = self._join(
                        Root("scan" if kind == "scan" else "store", index), segment, max(ident, full)
                    )
                self.ident[index], self.full[index] = ident, full
            case "reduce":
                arg = node.args[0]
                place = self._join(Root("reduce", index), segment, max(self.ident[arg], self.full[arg], floor))
                self.full[index] = place + 1
            case "write":
                self.full[index] = self._place_writes(index, node, segment, floor)
            case "alias":
                self.full[index] = max(floor, *(self.after(a) for a in node.args))
            case _:
                self.steps.append(Step("bind" if kind == "bind" else "call", index))
                self.full[index] = len(self.steps)

    def _levels(self, index: int, floor: int) -> tuple[int, int]:
        """How late the values that a node reads are there: those read element by element, and the others."""
        node = self.graph.nodes[index]
        ident, full = -1, floor
        if not node.args:
            return ident, full
        shape = self.graph.type(index).shape
        if is_point(shape):
            return ident, max(floor, *(self.after(a) for a in node.args))
        here = identity(shape)
        sources = [Read(a, identity(self.graph.type(a).shape), ()) for a in node.args]
        found = sources if self.kinds[index] == "scan" else reads(self.graph, index, here, ())
        space = space_of(shape)
        for read, plain in zip(found, sources, strict=True):
            arg = read.node
            if read == plain and space_of(self.graph.type(arg).shape) == space:
                ident, full = max(ident, self.ident[arg]), max(full, self.full[arg])
            else:
                full = max(full, self.after(arg))
        return ident, full

    def _join(self, root: Root, segment: int, earliest: int) -> int:
        space = self.space(root)
        places = self.places.setdefault((space, segment), [])
        at = bisect_left(places, earliest)
        if at == len(places):
            places.append(len(self.steps))
            self.steps.append(Nest(space, segment))
        nest = self.steps[places[at]]
        assert isinstance(nest, Nest)
        nest.roots.append(root)
        return places[at]

    def _place_writes(self, index: int, node: Node, segment: int, floor: int) -> int:
        start = floor
        if node.op in OVERWRITING:
            base = node.args[0]
            if self.is_plain(base):
                self.steps.append(Step("copy", index))
                start = len(self.steps)
            else:
                start = self._join(Root("init", index), segment, max(self.ident[base], self.full[base], floor)) + 1
        done = start
        for part, sources in enumerate(self.written(index)):
            value, *indices = sources
            earliest = max(start, self.ident[value], self.full[value], *(self.after(i) for i in indices))
            done = max(done, self._join(Root("write", index, part), segment, earliest) + 1)
        return done

    # ---------------------------------------------------------------------------------------------- measuring
    def measure(self) -> set[int]:
        """See what every nest evaluates and loads; returns the nodes that had better be stored."""
        self.evaluated, self.loaded = [], []
        self.known: set[int] = set()  # single numbers, which are computed once, where they are first needed
        self.seen: dict[int, tuple[int, Index, Mask]] = {}
        again: set[int] = set()
        for number, step in enumerate(self.steps):
            evaluated, loaded = self._sweep(number, self._demanded(step), again)
            self.evaluated.append(evaluated)
            self.loaded.append(loaded)
        last = len(self.steps)
        evaluated, loaded = self._sweep(last, [Read(o, (), ()) for o in self.graph.outputs if not self._rank(o)], again)
        self.evaluated.append(evaluated)
        self.loaded.append(loaded)
        return again

    def _demanded(self, step: Nest | Step) -> list[Read]:
        if isinstance(step, Nest):
            return [read for root in step.roots for read in self.demands(root)]
        if step.kind == "guard":
            subject = self.graph.guards[step.node].subject
            return [] if isinstance(subject, Dim) else [Read(subject, (), ())]
        node = self.graph.nodes[step.node]
        if step.kind == "bind":
            return [Read(node.args[0], (), ())]
        if step.kind == "copy":
            # elements that are read later are read before they are overwritten
            base = node.args[0]
            kept = [u for u in self.users[base] if self._point(u) and small_slice(self.graph, u) and not self.sizes[u]]
            return [Read(i, (), ()) for i in (base, *kept)]
        args = node.args
        return [Read(self._matrix(a) if node.op == "matmul" else a, (), ()) for a in args]

    def _sweep(self, number: int, demanded: Iterable[Read], again: set[int]) -> tuple[list[Read], list[Read]]:
        """Follow what is demanded down to what lies in memory, from the last node to the first."""
        step = self.steps[number] if number < len(self.steps) else None
        here = {r.node for r in step.roots if r.kind in ("store", "scan")} if isinstance(step, Nest) else set()
        waiting: dict[int, list[Read]] = {}
        heap: list[int] = []
        evaluated: list[Read] = []
        loaded: list[Read] = []

        done: set[Read] = set()

        def demand(read: Read) -> None:
            if read in done:
                return
            done.add(read)
            if read.node not in waiting:
                waiting[read.node] = []
                heappush(heap, -read.node)
            waiting[read.node].append(read)

        for read in demanded:
            demand(read)
        while heap:
            node = -heappop(heap)
            for read in waiting.pop(node):
                if self._point(node):
                    if node in self.known:
                        continue
                    self.known.add(node)
                    read = Read(node, (ZERO,) * self._rank(node), ())
                own = node in here and not read.mask and read.index == identity(self.graph.type(node).shape)
                if self.is_plain(node) and not own:
                    loaded.append(read)
                elif not own and self._twice(number, read):
                    again.add(node)
                    continue
                else:
                    evaluated.append(read)
                    for part in self._parts(read):
                        demand(part)
                for part in _indices(read):
                    demand(part)
        evaluated.reverse()
        loaded.reverse()
        return evaluated, loaded

    def _parts(self, read: Read) -> list[Read]:
        if self.kinds[read.node] == "bind":
            return []
        if self.kinds[read.node] == "scan":
            return [Read(arg, read.index, ()) for arg in self.graph.nodes[read.node].args]
        return reads(self.graph, read.node, read.index, read.mask)

    def _twice(self, number: int, read: Read) -> bool:
        """Whether a value is dear, and computed elsewhere too or again and again."""
        node = read.node
        if self._point(node) or max(self.own[node], self.chain[node]) <= CHEAP:
            return False
        key = (number, read.index, read.mask)
        if self.seen.setdefault(node, key) != key:
            return True
        loops = loops_in(read.index, read.mask)
        return loops != set(range(len(loops)))


def _indices(read: Read) -> list[Read]:
    """The integer nodes whose values an index holds."""
    out: list[Read] = []
    todo: list[Any] = [*read.index, *(c.index for c in read.mask)]
    while todo:
        item = todo.pop()
        if isinstance(item, Data):
            out.append(Read(item.node, item.index, item.mask))
        elif isinstance(item, Quotient):
            todo.append(item.index)
        elif not isinstance(item, int):
            todo += [name for name, _ in item.terms]
    return out
