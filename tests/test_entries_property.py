"""Random programs that branch, loop, slice and capture: plain NumPy's answers, and one entry for each way through.

A program is written twice from one text: for NumPy with ``told(...)`` around whatever Python decides on, and compiled
without. All numbers are small multiples of 1/4, so that sums and products are exact in any order, and no branch can
fall to the other side by a rounding.
"""

import re
import types
import warnings

import numpy as np
from hypothesis import given, note
from hypothesis import strategies as st

import numtape as nt

QUARTERS = st.integers(-8, 8).map(lambda n: n / 4)
SLICES = (
    "y[:k]", "y[k:]", "y[1:]", "y[:-1]", "y[-1:]", "y[::-1]", "y[::2]", "y[len(y) // 2 :]", "y[: box.width]",
    "y[: k + 1]",
)  # fmt: skip
MIXED = (
    "y + s", "y * s", "y - k", "y * rate", "y + box.shift", "y + weights[: len(y)]", "y * weights.sum()", "-y",
    "abs(y)", "np.maximum(y, s)", "np.where(y > s, y, k)", "y + np.arange(len(y))",
    "np.concatenate([y, np.zeros(k), x[:1]])", "np.roll(y, k)", "np.cumsum(y)", "y + len(x)", "y - y.sum()",
    "y + x[: len(y)].sum()", "np.append(y, rate)", "y * params['a'] + params['b'][0]", "helper(y, k)",
)  # fmt: skip
ASKED = (
    "y.sum() > {}", "s < {}", "k > {}", "len(y) > {}", "rate >= {}", "box.shift > {}", "(y > {}).any()", "k % 2 == 0",
    "weights[0] > {}", "len(x) % 2", "not k", "box.width > {}", "params['b'][0] != {}", "int(s) == {}",
)  # fmt: skip
COUNTED = ("k % 3", "box.width", "len(x) // 4", "min(k, 2)")
PROGRAM = """
def helper(y, k):
    return y[: k + 2] * 2 if told(k > 1) else y

def make(params):
    def program(x, k, s):
        y = x
{body}
        return y, y.sum(), k
    return program
"""


@st.composite
def blocks(draw, depth=0):
    """Lines of a program."""
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(("slice", "mix", "mix", "if", "either", "loop")[: 6 if depth < 2 else 3]))
        if kind in ("slice", "mix"):
            lines.append("y = " + draw(st.sampled_from(SLICES if kind == "slice" else MIXED)))
            continue
        inner = [f"    {line}" for line in draw(blocks(depth=2 if kind == "loop" else depth + 1))]
        if kind == "loop":
            lines += [f"for _ in range(told({draw(st.sampled_from(COUNTED))})):", *inner]
            continue
        asked = [f"told({draw(st.sampled_from(ASKED)).format(draw(QUARTERS))})" for _ in range(draw(st.integers(1, 2)))]
        lines += [f"if {draw(st.sampled_from((' and ', ' or '))).join(asked)}:", *inner]
        if kind == "either":
            lines += ["else:", *[f"    {line}" for line in draw(blocks(depth=depth + 1))]]
    return lines


@st.composite
def worlds(draw):
    """What a call meets: its arguments, and what the program reads from outside."""
    x = np.array(draw(st.lists(QUARTERS, max_size=8)))
    match draw(st.sampled_from(("plain", "plain", "strided", "swapped", "locked"))):
        case "strided":
            x = np.repeat(x, 2)[::-2]
        case "swapped":
            x = x.astype(">f8")
        case "locked":
            x.flags.writeable = False
    return {
        "args": (x, draw(st.integers(0, 5)), draw(st.sampled_from((0.0, -0.0, 0.25, -1.5, 2.0)))),
        "rate": draw(QUARTERS),
        "weights": np.arange(draw(st.integers(60, 70))) % draw(st.integers(1, 9)) / 4 if draw(st.booleans()) else None,
        "first": draw(QUARTERS),
        "shift": draw(QUARTERS),
        "width": draw(st.integers(0, 3)),
        "params": {"a": draw(QUARTERS), "b": [draw(QUARTERS)]},
        "anew": draw(st.booleans()),
    }


class Pair:
    """One program for NumPy and the same one compiled, in a world that both share."""

    def __init__(self, body, **settings):
        text = PROGRAM.format(body="\n".join(f"        {line}" for line in body))
        note(text)
        self.space = {
            "__name__": "__main__", "np": np, "rate": 0.0, "weights": np.ones(60),
            "box": types.SimpleNamespace(shift=0.0, width=0),
        }  # fmt: skip
        self.settings, self.params = settings, {"a": 0.0, "b": [0.0]}
        self.way, self.ways = [], set()
        self.plain_space = self.space | {"told": self.told}
        exec(text, self.plain_space)
        self.plain = self.plain_space["make"](self.params)
        self.source = compile(re.sub(r"\btold\(", "(", text), "<program>", "exec")
        self.anew()

    def told(self, answer):
        self.way.append(int(answer) if isinstance(answer, int) else bool(answer))
        return answer

    def anew(self):
        """Run the cell again: other function objects of the same code."""
        exec(self.source, self.space)
        self.compiled = nt.jit(self.space["make"](self.params), **self.settings)

    def call(self, world):
        if world["weights"] is not None:
            self.space["weights"] = world["weights"]
        self.space["weights"][0] = world["first"]
        self.space["rate"] = world["rate"]
        vars(self.space["box"]).update(shift=world["shift"], width=world["width"])
        self.params["a"] = world["params"]["a"]
        self.params["b"][0] = world["params"]["b"][0]
        self.plain_space.update({name: self.space[name] for name in ("rate", "weights", "box")})
        if world["anew"]:
            self.anew()
        self.way = []
        want, got = self.plain(*world["args"]), self.compiled(*world["args"])
        self.ways.add(tuple(self.way))
        for a, b in zip(want, got, strict=True):
            np.testing.assert_array_equal(b, a)
            # equal dtypes but for the byte order: results are in the machine's own
            assert np.shape(a) == np.shape(b) and np.result_type(a) == np.result_type(b)


@given(blocks(), st.lists(worlds(), min_size=4, max_size=12), st.sampled_from(["interpreter"] * 7 + ["auto"]))
def test_one_entry_for_each_way_through(body, met, backend):
    pair = Pair(body, backend=backend, max_entries=1000, on_retrace="ignore")
    for world in met:
        pair.call(world)
    assert pair.compiled.stats.entries <= len(pair.ways), sorted(pair.ways)
    for world in reversed(met):
        pair.call(world)
    assert pair.compiled.stats.entries <= len(pair.ways), "ways that came back were traced again"


@given(blocks(), st.lists(worlds(), min_size=4, max_size=8))
def test_the_tape_answers_where_entries_run_out(body, met):
    pair = Pair(body, backend="interpreter", max_entries=2)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for world in met:
            pair.call(world)
    assert pair.compiled.stats.entries <= 2
    assert len([w for w in seen if issubclass(w.category, nt.RetraceWarning)]) == (len(pair.ways) > 2)
