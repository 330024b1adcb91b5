"""What a recording decides about sizes: every answer that the inputs could change leaves a guard."""

from __future__ import annotations

from typing import Any

from .context import user_loc
from .dims import RELATIONS, Atom, Dim, atom, evaluate_size, lower_bound, solve_for_atoms, substitute
from .graph import Guard, Node, Why


class SizeFacts:
    """Answers questions about sizes from the numbers of this run, and remembers what was assumed."""

    nodes: list[Node]

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self._guarded: set[tuple[Any, ...]] = set()
        self._numbers: dict[str, int] = {}
        self._learned: dict[Atom, int | Dim] = {}
        self._bounds: dict[Atom, int] = {}
        self._fresh = 0
        self.fitting: set[Dim] = set()  # sizes that were found to stay within 64 bits

    def fresh(self, kind: str) -> str:
        """A new name for an integer that the call itself finds: "#" a count, "@" any other."""
        self._fresh += 1
        return f"{kind}{self._fresh}"

    def bind(self, name: str, value: int) -> None:
        """Tell the value of a fresh name in this run."""
        self._numbers[name] = value

    def number(self, size: int | Dim) -> int:
        return evaluate_size(size, self._numbers)

    def canonical(self, size: int | Dim) -> int | Dim:
        """`size` in the names that equal sizes share, as far as equalities are known."""
        while True:  # a name inside of min(1, a.1) may give way to one that something is known of: min(1, a.0)
            known = substitute(size, self._learned)
            if known == size:
                return known
            size = known

    def bounds(self) -> dict[Atom, int]:
        return self._bounds

    def same(self, a: int | Dim, b: int | Dim) -> int | Dim | None:
        a, b = self.canonical(a), self.canonical(b)
        if a == b:
            return a
        if self.number(a) != self.number(b):
            return None
        self._require("==", a - b, True, Why.EQUAL)
        return self.canonical(a)

    def is_one(self, a: int | Dim) -> bool:
        a = self.canonical(a)
        if isinstance(a, int):
            return a == 1
        if self.number(a) != 1:
            return False
        self._require("==", a - 1, True, Why.STRETCHES)
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
            return RELATIONS[relation](difference, 0)
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
        outcome = RELATIONS[relation](self.number(difference), 0)
        self._require(relation, difference, outcome, "Python asked how these sizes compare")
        return outcome

    def force(self, size: int | Dim) -> int:
        """The value of a size where Python needs a plain integer; guarded."""
        size = self.canonical(size)
        value = self.number(size)
        if isinstance(size, Dim):
            self._require("==", size - value, True, Why.FORCED)
        return value

    def _require(self, relation: str, difference: int | Dim, outcome: bool, why: str) -> None:
        assert isinstance(difference, Dim)
        key = (relation, difference, outcome)
        if key in self._guarded:
            return
        self._guarded.add(key)
        self.guards.append(Guard(difference, relation, outcome, len(self.nodes), user_loc(), why))
        equal = (relation, outcome) in (("==", True), ("!=", False))
        if equal:
            solved = solve_for_atoms(difference)
            learned = {key: substitute(value, solved) for key, value in self._learned.items()}
            for known, value in list(learned.items()):
                moved = substitute(atom(known), solved)  # what is known of min(1, a.1) is known of min(1, a.0) then
                if isinstance(moved, Dim) and len(moved.terms) == 1 and len(moved.terms[0][0]) == 1:
                    (other,) = moved.terms[0][0]
                    if moved == atom(other):
                        learned.setdefault(other, value)
            self._learned = learned | solved
        else:
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
