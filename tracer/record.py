"""A jit recording: one run of a Python function on its real arguments that writes a graph and its guards."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from .context import Place, context, loc_of, place, user_loc
from .dims import Atom, Dim, atom, evaluate_size, lower_bound, names, solve_for_atom, substitute
from .errors import CaptureError, TraceError, layout
from .graph import NOWHERE, Const, Graph, Guard, Loc, Node, live_nodes, substitute_sizes
from .op import Op
from .ops import OPS
from .types import FLOAT64, INT64, ArrayType
from .values import Value, apply

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Trace:
    """Writes down what one run does. It is the recorder of that run, and the one who decides about sizes.

    Inputs are the leaves of the arguments, then whatever the body captures, in order of discovery.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.places: list[Place | Loc] = []
        self.inputs: list[int] = []
        self.input_names: list[str] = []
        self.guards: list[Guard] = []
        self._guarded: set[tuple[Any, ...]] = set()
        self._memo: dict[tuple[Any, ...], int] = {}
        self._numbers: dict[str, int] = {}
        self._learned: dict[str, int | Dim] = {}
        self._bounds: dict[Atom, int] = {}
        self._fresh = 0
        self.finished = False
        self.variables: dict[int, tuple[Any, Value]] = {}
        self.variable_inputs: dict[int, int] = {}
        self.assigned: dict[int, Any] = {}
        self.made: list[Any] = []
        self.captures: Any = None
        self.adopt: Callable[[Value], Value] | None = None
        """How the owner makes an input of a value that comes from outside (a captured Tensor)."""

    # -- inputs and constants ------------------------------------------------------------------------------------

    def input(self, name: str, item: Any) -> Value:
        """A new input that holds `item` (an array, a NumPy scalar or a Python number) in this run."""
        name = self._unique(name)
        if isinstance(item, bool | int | float) and not isinstance(item, np.generic):
            type_ = ArrayType(FLOAT64 if isinstance(item, float) else INT64, (), True)
            if isinstance(item, int):
                self._numbers[name] = item
        else:
            shape = np.shape(item)
            axes = tuple(f"{name}.{axis}" for axis in range(len(shape)))
            self._numbers.update(zip(axes, shape, strict=True))
            type_ = ArrayType(item.dtype, tuple(atom(a) for a in axes))
        self.inputs.append(len(self.nodes))
        self.input_names.append(name)
        return self._made(item, type_, self._append(Node("input", (), (("name", name),), type_), user_loc()))

    def _unique(self, name: str) -> str:
        if name not in self.input_names:
            return name
        return next(f"{name}'{k}" for k in range(1, 10**9) if f"{name}'{k}" not in self.input_names)

    def constant(self, array: Any) -> Value:
        """A value that is the same at each call: a literal of the user's code."""
        type_ = ArrayType(array.dtype, array.shape)
        node = Node("const", (), (("value", Const.of(array)),), type_)
        key = ("const", node.params)
        index = self._memo.get(key)
        if index is None:
            index = self._memo[key] = self._append(node, user_loc())
        return self._made(array, type_, index)

    def follows(self, value: Value) -> bool:
        """Whether the recording knows where a value comes from."""
        return value.trace is self

    def follow(self, value: Value) -> Value:
        """The value as this recording knows it. Raises CaptureError for an array of unknown origin."""
        if value.trace is self or value.weak:
            return value
        if value.trace is not None and value.trace.finished and value.shape is not None:
            text = "a traced value of an earlier recording is used after that recording has ended"
            raise TraceError(layout(text, str(self.loc()), fix="Return it from the function instead of keeping it."))
        if self.adopt is not None and not value.borrowed:
            return self.adopt(value)
        if isinstance(value.array, np.generic):
            return self.constant(value.array)  # np.float64(2): a literal, captured scalars are inputs already
        text = f"an array of shape {np.shape(value.array)} that was made where the recording can't see"
        fix = (
            "Its numbers would be frozen into the compiled function. Pass it as an argument, or make it with NumPy\n"
            "functions in your own code."
        )
        raise CaptureError(layout(f"{text} is used here", str(self.loc()), fix=fix))

    # -- Variables: read once as an input, assigned when the entry has run ------------------------------------------

    def variable_value(self, variable: Any) -> Value:
        """The content of a Variable at this point of the run."""
        found = self.variables.get(id(variable))
        if found is None:
            label = variable.name or "variable"
            found = self.variables[id(variable)] = (variable, self.input(label, variable._value.array))
            self.variable_inputs[id(variable)] = self.inputs.index(found[1].index)
        return found[1]

    def assign(self, variable: Any, value: Value) -> None:
        """Note an assignment; it is carried out after the last guard has passed. No derivative passes through it."""
        self.variable_value(variable)
        row = OPS["stop_gradient"]
        if value.dtype.kind == "f":
            value = apply(row, (value,), {}, place())  # type: ignore[assignment]
        self.variables[id(variable)] = (variable, value)
        self.assigned[id(variable)] = variable

    def variable_made(self, variable: Any) -> None:
        """A Variable is made while recording: allowed in the first run of a function alone."""
        self.made.append(variable)

    # -- recording -----------------------------------------------------------------------------------------------

    def record(
        self, row: Op, values: tuple[Value, ...], params: Mapping[str, Any], outs: tuple[Value, ...], place: Place
    ) -> None:
        """Append the node of one operation. Equal nodes are one node."""
        if self.finished:
            raise TraceError("a finished recording was asked to record")
        args = tuple([self._index(v) for v in values])
        ordered = tuple(sorted(params.items()))
        key = (row.name, args, ordered)
        index = self._memo.get(key)
        if index is None:
            type_ = outs[0].type if len(outs) == 1 and not row.name == "nonzero" else tuple([o.type for o in outs])
            index = self._memo[key] = self._append(Node(row.name, args, ordered, type_), place)
        if isinstance(self.nodes[index].type, tuple):
            for position, out in enumerate(outs):
                type_ = out.type
                pick = ("pick", (index,), (("index", position),))
                found = self._memo.get(pick)
                if found is None:
                    found = self._memo[pick] = self._append(
                        Node("pick", (index,), (("index", position),), type_), place
                    )
                out.trace, out.index = self, found
            return
        outs[0].trace, outs[0].index = self, index

    def _index(self, value: Value) -> int:
        if value.trace is self:
            return value.index
        # a Python number of the user's code: a constant of the program
        key = ("const", Const.of(value.array), value.type)
        index = self._memo.get(key)
        if index is None:
            node = Node("const", (), (("value", Const.of(value.array)),), value.type)
            index = self._memo[key] = self._append(node, None)
        return index

    def checked(self, result: Any, type_: ArrayType, row: Op) -> Value:
        """A Value of what NumPy computed, held against what the type rule said."""
        if type_.weak:
            plain = result.item() if isinstance(result, np.ndarray | np.generic) else result
            if row.name == "integer":
                pass
            return Value(plain, (), True)
        if isinstance(result, bool | int | float):
            result = np.asarray(result, dtype=type_.dtype)[()]
        shape = tuple([self.number(s) for s in type_.shape])
        if result.shape != shape or result.dtype != type_.dtype:
            got = f"{result.dtype}{list(result.shape)}"
            raise AssertionError(f"{row.name}: the type rule says {type_} = {list(shape)}, NumPy computed {got}")
        return Value(result, type_.shape)

    def _append(self, node: Node, where: Place | Loc) -> int:
        self.nodes.append(node)
        self.places.append(where)
        return len(self.nodes) - 1

    def _made(self, array: Any, type_: ArrayType, index: int) -> Value:
        value = Value(array, type_.shape, type_.weak)
        value.trace, value.index = self, index
        return value

    def fresh(self, kind: str) -> str:
        """A new name for an integer that the call itself finds: "#" a count, "@" any other."""
        self._fresh += 1
        return f"{kind}{self._fresh}"

    def bind(self, name: str, value: int) -> None:
        """Tell the value of a fresh name in this run."""
        self._numbers[name] = value

    def loc(self) -> Loc:
        return user_loc()

    # -- sizes: every answer that depends on the inputs leaves a guard --------------------------------------------

    def number(self, size: int | Dim) -> int:
        return evaluate_size(size, self._numbers)

    def canonical(self, size: int | Dim) -> int | Dim:
        return substitute(size, self._learned)

    def bounds(self) -> dict[Atom, int]:
        return self._bounds

    def same(self, a: int | Dim, b: int | Dim) -> int | Dim | None:
        a, b = self.canonical(a), self.canonical(b)
        if a == b:
            return a
        if self.number(a) != self.number(b):
            return None
        self._require("==", a - b, True, "these sizes are equal")
        return self.canonical(a)

    def is_one(self, a: int | Dim) -> bool:
        a = self.canonical(a)
        if isinstance(a, int):
            return a == 1
        if self.number(a) != 1:
            return False
        self._require("==", a - 1, True, "a size is 1 and stretches")
        return True

    def sign(self, a: int | Dim) -> int:
        if self.less(a, 0):
            return -1
        return 1 if self.less(0, a) else 0

    def less(self, a: int | Dim, b: int | Dim) -> bool:
        return self.decide("<", a - b)

    def less_equal(self, a: int | Dim, b: int | Dim) -> bool:
        return self.decide("<=", a - b)

    def known(self, relation: str, difference: int | Dim) -> bool | None:
        """The outcome of ``difference relation 0`` where no input can change it, else None."""
        difference = self.canonical(difference)
        if isinstance(difference, int):
            return _COMPARE[relation](difference, 0)
        low, high = lower_bound(difference, self._bounds), lower_bound(-difference, self._bounds)
        match relation:
            case "<" | ">=":
                outcome = False if low is not None and low >= 0 else True if high is not None and high >= 1 else None
            case ">" | "<=":
                outcome = True if low is not None and low >= 1 else False if high is not None and high >= 0 else None
            case _:
                apart = (low is not None and low >= 1) or (high is not None and high >= 1)
                outcome = False if apart else None
        if outcome is None:
            return None
        return outcome if relation in ("<", ">", "==") else not outcome

    def decide(self, relation: str, difference: int | Dim) -> bool:
        """The outcome of a comparison of sizes in this run; guarded unless it is always so."""
        known = self.known(relation, difference)
        if known is not None:
            return known
        difference = self.canonical(difference)
        outcome = _COMPARE[relation](self.number(difference), 0)
        self._require(relation, difference, outcome, "Python asked how these sizes compare")
        return outcome

    def force(self, size: int | Dim) -> int:
        """The value of a size where Python needs a plain integer; guarded."""
        size = self.canonical(size)
        value = self.number(size)
        if isinstance(size, Dim):
            self._require("==", size - value, True, "Python needs the number itself")
        return value

    def _require(self, relation: str, difference: int | Dim, outcome: bool, why: str) -> None:
        assert isinstance(difference, Dim)
        key = (relation, difference, outcome)
        if key in self._guarded:
            return
        self._guarded.add(key)
        self.guards.append(Guard(difference, relation, outcome, len(self.nodes), user_loc(), why))
        equal = (relation, outcome) in (("==", True), ("!=", False))
        solved = solve_for_atom(difference) if equal else None
        if solved is not None:
            name, expression = solved
            self._learned = {k: substitute(v, {name: expression}) for k, v in self._learned.items()}
            self._learned[name] = expression
        elif not equal:
            self._learn_bound(relation, difference, outcome)

    def _learn_bound(self, relation: str, difference: Dim, outcome: bool) -> None:
        # one atom plus a constant: `k - 3 < 0` is False, so k >= 3
        least = {("<", False): 0, (">=", True): 0, (">", True): 1, ("<=", False): 1}.get((relation, outcome))
        linear = [(m, f) for m, f in difference.terms if m]
        if least is None or len(linear) != 1 or linear[0][1] != 1 or len(linear[0][0]) != 1:
            return
        constant = next((f for m, f in difference.terms if not m), 0)
        name = linear[0][0][0]
        self._bounds[name] = max(self._bounds.get(name, least - constant), least - constant)

    def truth(self, item: Any) -> bool:
        """The truth of a traced value in this run; guarded."""
        value = item._read()
        outcome = bool(value.array)
        index = self._index(value)
        if self.nodes[index].op == "const":
            return outcome
        key = ("is", index, outcome)
        if key not in self._guarded:
            self._guarded.add(key)
            why = "Python branched on this value"
            self.guards.append(Guard(index, "is", outcome, len(self.nodes), user_loc(), why))
        return outcome

    # -- the result ----------------------------------------------------------------------------------------------

    def finish(self, outputs: list[Value]) -> tuple[Graph, dict[str, int | Dim]]:
        """The graph of this run with inputs first, dead nodes gone and learned sizes put in."""
        roots = [self._index(v) for v in outputs]
        self.finished = True
        order = [*self.inputs, *(i for i in range(len(self.nodes)) if self.nodes[i].op != "input")]
        place_of = {old: new for new, old in enumerate(order)}
        learned = self._learned
        nodes, locs = [], []
        for old in order:
            node = self.nodes[old]
            type_ = substitute_sizes(node.type, learned)
            params = substitute_sizes(node.params, learned) if _mentions_sizes(node.params) else node.params
            nodes.append(Node(node.op, tuple(place_of[a] for a in node.args), params, type_))
            where = self.places[old]
            locs.append(where if isinstance(where, Loc) else loc_of(where))
        guards = []
        shift = len(self.inputs)
        for guard in self.guards:
            subject = place_of[guard.subject] if isinstance(guard.subject, int) else guard.subject
            before = sum(1 for i in self.inputs if i < guard.at)
            guards.append(
                Guard(subject, guard.relation, guard.outcome, guard.at - before + shift, guard.loc, guard.why)
            )
        graph = Graph(
            self.name,
            tuple(nodes),
            tuple(place_of[r] for r in roots),
            tuple(self.input_names),
            tuple(guards),
            tuple(locs),
        )
        return prune(graph), learned


def _mentions_sizes(params: tuple[tuple[str, Any], ...]) -> bool:
    return any(isinstance(v, Dim | tuple) for _, v in params)


def prune(graph: Graph) -> Graph:
    """The graph without nodes that nothing needs; all inputs stay."""
    live = live_nodes(graph)
    for index in graph.inputs:
        live[index] = True
    new: dict[int, int] = {}
    for index, alive in enumerate(live):
        if alive:
            new[index] = len(new)
    nodes = tuple(
        Node(n.op, tuple(new[a] for a in n.args), n.params, n.type)
        for n, alive in zip(graph.nodes, live, strict=True)
        if alive
    )
    counts = [0]
    for alive in live:
        counts.append(counts[-1] + alive)
    guards = tuple(
        Guard(
            new[g.subject] if isinstance(g.subject, int) else g.subject,
            g.relation,
            g.outcome,
            counts[g.at],
            g.loc,
            g.why,
        )
        for g in graph.guards
    )
    locs = tuple(loc for loc, alive in zip(graph.locs, live, strict=True) if alive) if graph.locs else ()
    return Graph(graph.name, nodes, tuple(new[o] for o in graph.outputs), graph.names, guards, locs)


@contextmanager
def recording(trace: Trace) -> Iterator[Trace]:
    """Record on this thread with `trace`; tapes that are active outside see none of it."""
    before = context.recorders, context.trace
    context.recorders, context.trace = (trace,), trace
    try:
        yield trace
    finally:
        context.recorders, context.trace = before


__all__ = ["NOWHERE", "Trace", "names", "prune", "recording"]
