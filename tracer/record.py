"""A jit recording: one run of a Python function on its real arguments that writes a graph and its guards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from .assume import SizeFacts
from .context import Place, context, loc_of, place, recordings, user_loc
from .dims import WHOLE, Dim, atom
from .errors import CaptureError, NumtapeError, TraceError, layout
from .graph import Const, Graph, Guard, Loc, Node, live_nodes, substitute_sizes
from .op import Op
from .ops import OPS
from .types import FLOAT64, INT64, ArrayType
from .values import Value, apply

_E = TypeVar("_E", bound=BaseException)


class Trace(SizeFacts):
    """Writes down what one run does. It is the recorder of that run, and the one who decides about sizes.

    Inputs are the leaves of the arguments, then whatever the body captures, in order of discovery.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.nodes: list[Node] = []
        self.places: list[Place | Loc] = []
        self.inputs: list[int] = []
        self.input_names: list[str] = []
        self._memo: dict[tuple[Any, ...], int] = {}
        self.finished = False
        self.failure: tuple[BaseException, Loc] | None = None
        self.stands: dict[int, Any] = {}  # Variable -> the argument that is the same object
        self.variables: dict[int, tuple[Any, Value]] = {}
        self.assigned: dict[int, Any] = {}
        self.made: list[Any] = []
        self.captures: Any = None

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
        variable = self.stands.get(id(variable), variable)
        found = self.variables.get(id(variable))
        if found is None:
            label = variable.name or "variable"
            found = self.variables[id(variable)] = (variable, self.input(label, variable._value.array))
        return found[1]

    def assign(self, variable: Any, value: Value) -> None:
        """Note an assignment; it is carried out after the last guard has passed. No derivative passes through it."""
        variable = self.stands.get(id(variable), variable)
        old = self.variable_value(variable)
        if value.dtype.kind == "f":
            # tapes inside of this recording take the new content for a value of its own, as they do outside
            recorders, context.recorders = context.recorders, (self,)
            try:
                value = apply(OPS["assigned"], (old, value), {}, place())  # type: ignore[assignment]
            finally:
                context.recorders = recorders
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
            type_ = outs[0].type if len(outs) == 1 and row.name != "nonzero" else tuple([o.type for o in outs])
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
            return Value(result.item() if isinstance(result, np.ndarray | np.generic) else result, (), True)
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

    def require_range(self, values: Sequence[Value], dtype: np.dtype[Any]) -> None:
        """NumPy takes a Python integer into a narrow dtype only where it fits; guarded for a number of the call."""
        from .scalar import Scalar

        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        if all(v.weak for v in values):
            return
        for value in values:
            if value.trace is self and type(value.array) is int:
                number: Any = Scalar(value)
                fits = bool(number >= low) and (high > WHOLE[-1] or bool(number <= high))
                if not fits:
                    raise OverflowError(f"Python integer {value.array} out of bounds for {dtype}")

    def loc(self) -> Loc:
        return user_loc()

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

    # -- errors --------------------------------------------------------------------------------------------------

    def noted(self, error: _E) -> _E:
        """The error, which is about to leave an operation: the body must not go on as if nothing had happened.

        NumPy's TypeErrors are about dtypes and kinds, which the signature fixes: they come back at each call.
        """
        fixed = isinstance(error, TypeError | AttributeError) and not isinstance(error, NumtapeError)
        if self.failure is None and not fixed:
            self.failure = (error, user_loc())
        return error

    def refuse_caught_error(self) -> None:
        """Raise TraceError if the body has caught an error: whether it comes depends on sizes and values."""
        if self.failure is None:
            return
        error, where = self.failure
        text = f"the function caught an error while it was recorded: {type(error).__name__}"
        fix = (
            "Other sizes or values would not raise it, and compiled code can't catch it again. Ask for the condition\n"
            "itself, e.g. `if a.shape == b.shape:`. The error was: " + str(error).partition("\n")[0]
        )
        raise TraceError(layout(text, str(where), fix=fix))

    # -- the result ----------------------------------------------------------------------------------------------

    def finish(self, outputs: list[Value]) -> Graph:
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
        return prune(graph)


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
    recordings.append(trace)
    try:
        yield trace
    finally:
        context.recorders, context.trace = before
        recordings.remove(trace)
