"""The printed form of a graph: `show(graph)` and `parse(text)` are exact inverses.

    loss(x: f64[x.0, 3], w: f64[3], k: ~i64[]) -> f64[], f64[x.0]
      where x.1 == w.0 @3                            # model.py:11 (these sizes are equal)
      where %4 is false @5                           # model.py:12
      %3: ~f64[] = const  {value=f64(0.5)}
      %4: bool[] = less %3 k                         # model.py:12
      %5: f64[x.0] = call x w  {graph=@body}         # model.py:14
          body(x: f64[x.0, 3], w: f64[3]) -> f64[x.0]
            …
      return %4, %5

A guard says what was assumed and, after the ``@``, how many nodes stand before it. A sub-graph follows the node that
holds it. What isn't made of letters, digits and dots or brackets stands in backquotes. Of a source file the name is
printed, not its directory.
"""

from __future__ import annotations

import ast
import base64
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from .dims import Dim, atom, names, show_size, substitute
from .graph import NOWHERE, Const, Graph, Guard, Loc, Node
from .op import Output
from .types import LONG, SHORT, ArrayType

_SHORT = "|".join(sorted(SHORT.values(), key=len, reverse=True))
_NAME = re.compile(r"[^\W\d]\w*(?:\.\w+|\[(?:'[^'\\\[\]`\n]*'|\d+)\])*|[#@]\d+")
_RESERVED = re.compile(rf"(?:True|False|None|inf|nan|not)$|(?:{_SHORT})\[")
_MANY = 32  # elements of a constant from which on its bytes are printed


def show(graph: Graph) -> str:
    """The text of a graph, as :func:`parse` reads it."""
    return "\n".join(_lines(graph))


def quote(name: str) -> str:
    """A name as it stands in the text: in backquotes unless it is plain."""
    if _NAME.fullmatch(name) and not _RESERVED.match(name):
        return name
    inner = name.encode("unicode_escape").decode("ascii").replace("`", "\\x60")
    return f"`{inner}`"


def _lines(graph: Graph) -> list[str]:
    reference = [quote(n) if graph.names.count(n) == 1 else f"%{i}" for i, n in enumerate(graph.names)]
    reference += [f"%{i}" for i in range(len(graph.names), len(graph.nodes))]
    inputs = ", ".join(f"{quote(n)}: {show_type(graph.nodes[i].type)}" for i, n in enumerate(graph.names))
    outputs = ", ".join(show_type(graph.nodes[i].type) for i in graph.outputs)
    rows: list[tuple[str, str, list[Graph]]] = []
    for guard in graph.guards:
        rows.append((f"  where {show_guard(guard, reference)} @{guard.at}", _comment(guard.loc, guard.why), []))
    for index in range(len(graph.names), len(graph.nodes)):
        node = graph.nodes[index]
        words = [node.op, *(reference[a] for a in node.args)]
        inner: list[Graph] = []
        params = ", ".join(f"{name}={_show_param(value, inner)}" for name, value in node.params)
        text = f"  %{index}: {show_type(node.type)} = {' '.join(words)}{f'  {{{params}}}' if params else ''}"
        rows.append((text, _comment(graph.loc(index), ""), inner))
    column = max((len(text) for text, comment, _ in rows if comment and len(text) <= 80), default=0)
    lines = [f"{quote(graph.name)}({inputs}) -> {outputs}".rstrip()]
    for text, comment, inner in rows:
        lines.append(f"{text:{column}}  {comment}" if comment else text)
        lines += [f"      {line}" for sub in inner for line in _lines(sub)]
    lines.append(f"  return {', '.join(reference[i] for i in graph.outputs)}".rstrip())
    return lines


def show_type(type_: Output) -> str:
    """The text of a type: ``f64[x.0, 3]``, ``~i64[]``, ``(i64[#0], i64[#0])``."""
    if isinstance(type_, tuple):
        return f"({', '.join(map(show_type, type_))}{',' if len(type_) == 1 else ''})"
    return f"{'~' if type_.weak else ''}{SHORT[type_.dtype.name]}[{', '.join(map(_show_size, type_.shape))}]"


def _show_size(size: int | Dim) -> str:
    return show_size(substitute(size, {n: atom(quote(n)) for n in names(size) if quote(n) != n}))


def show_guard(guard: Guard, reference: list[str]) -> str:
    """The text of a guard; `reference` says how nodes are called."""
    if not isinstance(guard.subject, Dim):
        return f"{reference[guard.subject]} {guard.relation} {str(guard.outcome).lower()}"
    # ``x.0 - y.0 - 3 == 0`` reads better as ``x.0 == y.0 + 3``
    terms = guard.subject.terms
    left = Dim(tuple(t for t in terms if t[1] > 0))
    right = Dim(tuple((m, -f) for m, f in terms if f < 0))
    text = f"{_show_size(left) or 0} {guard.relation} {_show_size(right) or 0}"
    return text if guard.outcome else f"not {text}"


def _show_param(value: Any, inner: list[Graph]) -> str:
    if isinstance(value, Graph):
        inner.append(value)
        return f"@{quote(value.name)}"
    if isinstance(value, Dim):
        return _show_size(value)
    if isinstance(value, Const):
        return _show_const(value)
    if isinstance(value, ArrayType):
        return show_type(value)
    if isinstance(value, tuple):
        return f"({', '.join(_show_param(v, inner) for v in value)}{',' if len(value) == 1 else ''})"
    if value is None or type(value) in (bool, int, float, str):
        return repr(value)
    raise TypeError(f"a parameter of type {type(value).__name__} has no text")


def _show_const(const: Const) -> str:
    """The text of a constant, every bit of it: ``f64(0.5)``, ``i64[2](3, 4)``."""
    shape = f"[{', '.join(map(str, const.shape))}]" if const.shape else ""
    dtype = np.dtype(const.dtype)
    parts = np.frombuffer(const.data, _part_dtype(dtype))
    if len(parts) > _MANY:
        return f'{SHORT[dtype.name]}{shape}("{base64.b64encode(const.data).decode("ascii")}")'
    return f"{SHORT[dtype.name]}{shape}({', '.join(_show_number(p) for p in parts)})"


def _part_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the numbers that are printed: a complex one is printed as two."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _show_number(value: Any) -> str:
    text = str(value)
    # some bits have no decimal text: the payload of a nan
    return text if _read_number(text, value.dtype).tobytes() == value.tobytes() else f"0x{value.tobytes()[::-1].hex()}"


def _read_number(text: str, dtype: np.dtype[Any]) -> Any:
    """The scalar of a printed number: decimal, or its bits in hexadecimal."""
    if text.startswith("0x"):
        return np.frombuffer(bytes.fromhex(text[2:])[::-1], dtype)[0]
    if dtype.kind == "b":
        return np.bool_({"True": True, "False": False}[text])
    return dtype.type(int(text) if dtype.kind in "iu" else text)


def _comment(loc: Loc, why: str) -> str:
    parts = []
    if loc != NOWHERE:
        file = loc.file.rpartition("/")[2]
        parts.append(f"{_legible(file, ':')}:{loc.line}")
    if why:
        parts.append(f"({_legible(why, '')})")
    return f"# {' '.join(parts)}" if parts else ""


def _legible(text: str, forbidden: str) -> str:
    plain = text.isprintable() and text == text.strip() != "" and text[0] not in "'\"("
    return text if plain and not (forbidden and forbidden in text) else repr(text)


def parse(text: str) -> Graph:
    """The graph that a text of :func:`show` stands for. Raises ValueError with the line that can't be read."""
    reader = _Reader(text)
    graph = reader.graph()
    if reader.line:
        raise reader.error("the end of the text")
    return graph


_INDEX, _WORD, _INTEGER, _DIGITS = map(re.compile, (r"%(\d+)", r"\w+", r"-?\d+", r"\d+"))
_FLOAT = re.compile(r"-?(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+|(?:inf|nan)(?![\w.\[]))")
_LITERAL = re.compile(r"(?:True|False|None)(?![\w.\[])")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_QUOTED = re.compile(r"`([^`]*)`")
_TYPE = re.compile(rf"(~?)({_SHORT})\[")
_CONST = re.compile(rf"({_SHORT})(\[[\d, ]*\])?\(")
_NUMBER = re.compile(r"[^,()\s]+")
_NESTED = re.compile(r"(max|min|floordiv)\(")
_INNER = re.compile(r"@(?!\d)")
_SIGN = re.compile(r"[+-]")
_RELATION = re.compile(r"==|!=|<=|>=|<|>")
_TRUTH = re.compile(r"is (true|false)\b")
_COMMENT = re.compile(rf"# (?:({_STRING.pattern}|[^:]*?):(-?\d+))? ?(?:\((.*)\))?$")


def _unquote(text: str) -> str:
    return ast.literal_eval(text) if _STRING.fullmatch(text) else text


class _Reader:
    """Reads a text line by line. `at` is how far the present line was read, `below` where sub-graphs under it end."""

    def __init__(self, text: str) -> None:
        self.lines = [line.strip() for line in text.split("\n") if line.strip()]
        self.number = self.at = 0
        self.below: int | None = None
        self.index: dict[str, int] = {}

    @property
    def line(self) -> str:
        return self.lines[self.number] if self.number < len(self.lines) else ""

    def error(self, wanted: str) -> ValueError:
        return ValueError(f"{wanted} expected at {self.line[self.at :]!r}, in {self.line!r}")

    def take(self, pattern: re.Pattern[str] | str) -> re.Match[str] | None:
        """Read what `pattern` matches here, with the blanks after it."""
        pattern = re.compile(re.escape(pattern)) if isinstance(pattern, str) else pattern
        found = pattern.match(self.line, self.at)
        if found is not None:
            self.at = len(self.line) - len(self.line[found.end() :].lstrip(" "))
        return found

    def need(self, pattern: re.Pattern[str] | str, wanted: str = "") -> re.Match[str]:
        found = self.take(pattern)
        if found is None:
            raise self.error(wanted or repr(pattern))
        return found

    def many(self, read: Callable[[], Any], close: str = "") -> list[Any]:
        """Items with commas between them, up to a closing sign or the end of the line."""
        out: list[Any] = []
        while not (self.take(close) if close else self.at == len(self.line)):
            out.append(read())
            if not self.take(",") and close:
                self.need(close)
                break
        return out

    def end(self) -> tuple[Loc, str]:
        """Read the comment, if any, and go on to the next line."""
        loc, why = NOWHERE, ""
        if found := self.take(_COMMENT):
            file, line, why = found.groups(default="")
            loc, why = Loc(_unquote(file), int(line)) if line else NOWHERE, _unquote(why)
        if self.at < len(self.line):
            raise self.error("the end of the line")
        self.number, self.at = self.below or self.number + 1, 0
        self.below = None
        return loc, why

    def graph(self) -> Graph:
        title = self.name()
        self.need("(")
        inputs = self.many(lambda: (self.name(), self.need(":") and self.type()), ")")
        self.need("->")
        promised = self.many(self.type)
        self.end()
        names_ = tuple(name for name, _ in inputs)
        self.index = {name: i for i, name in enumerate(names_)}
        nodes = [Node("input", (), (("name", name),), type_) for name, type_ in inputs]
        locs, guards = [NOWHERE] * len(nodes), []
        while self.take("where "):
            guards.append(self.guard())
        while found := self.take(_INDEX):
            if int(found[1]) != len(nodes):
                raise self.error(f"node %{len(nodes)}")
            nodes.append(self.node())
            locs.append(self.end()[0])
        self.need("return")
        outputs = tuple(self.many(self.argument))
        self.end()
        if [nodes[i].type for i in outputs if i < len(nodes)] != promised:
            raise ValueError(f"{title}: its first line promises other types than its outputs have")
        known = tuple(locs) if any(loc != NOWHERE for loc in locs) else ()
        return Graph(title, tuple(nodes), outputs, names_, tuple(guards), known)

    def inner_graph(self) -> Graph:
        """The next of the graphs that stand below this line."""
        here, index = (self.number, self.at), self.index
        self.number, self.at, self.below = self.below or self.number + 1, 0, None
        graph = self.graph()
        self.below, self.index = self.number, index
        self.number, self.at = here
        return graph

    def guard(self) -> Guard:
        outcome = not self.take("not ")
        here = self.at
        index, truth = self.maybe_argument(), self.take(_TRUTH)
        subject: int | Dim
        if index is not None and truth:
            subject, relation, outcome = index, "is", truth[1] == "true"
        else:
            self.at = here
            left = self.size()
            relation = self.need(_RELATION, "a relation")[0]
            difference = left - self.size()
            if not isinstance(difference, Dim):
                raise self.error("a comparison that depends on an input")
            subject = difference
        self.need("@")
        at = int(self.need(_INTEGER)[0])
        return Guard(subject, relation, outcome, at, *self.end())

    def node(self) -> Node:
        self.need(":")
        type_ = self.type()
        self.need("=")
        op, args = self.need(_WORD)[0], []
        while (arg := self.maybe_argument()) is not None:
            args.append(arg)
        params = (
            self.many(lambda: (self.need(_WORD)[0], self.need("=") and self.param()), "}") if self.take("{") else []
        )
        return Node(op, tuple(args), tuple(params), type_)

    def argument(self) -> int:
        index = self.maybe_argument()
        if index is None:
            raise self.error("a node or an input")
        return index

    def maybe_argument(self) -> int | None:
        if found := self.take(_INDEX):
            return int(found[1])
        before = self.at
        name = self.maybe_name()
        if name in self.index:
            return self.index[name]
        self.at = before
        return None

    def name(self) -> str:
        name = self.maybe_name()
        if name is None:
            raise self.error("a name")
        return name

    def maybe_name(self) -> str | None:
        if found := self.take(_QUOTED):
            return found[1].encode("ascii").decode("unicode_escape")
        found = self.take(_NAME)
        return found[0] if found else None

    def type(self) -> Output:
        if self.take("("):
            return tuple(self.many(self.type, ")"))
        weak, short = self.need(_TYPE, "a type").groups()
        return ArrayType(LONG[short], tuple(self.many(self.size, "]")), bool(weak))

    def size(self) -> int | Dim:
        total: int | Dim = 0
        sign = self.take(_SIGN)
        while True:
            product = self.factor()
            while self.take("*"):
                product = product * self.factor()
            total = total - product if sign and sign[0] == "-" else total + product
            sign = self.take(_SIGN)
            if sign is None:
                return total

    def factor(self) -> int | Dim:
        if found := self.take(_DIGITS):
            return int(found[0])
        if found := self.take(_NESTED):
            kind, (a, b) = found[1], self.many(self.size, ")")
            # as it is: the text must not be simplified by what is known here of its parts
            return atom((kind, *(sorted((a, b), key=repr) if kind != "floordiv" else (a, b))))
        return atom(self.name())

    def param(self) -> Any:
        if self.take(_INNER):
            title, graph = self.name(), self.inner_graph()
            if graph.name != title:
                raise self.error(f"{title} below, not {graph.name},")
            return graph
        if self.take("("):
            return tuple(self.many(self.param, ")"))
        if found := self.take(_STRING) or self.take(_LITERAL):
            return ast.literal_eval(found[0])
        if found := self.take(_FLOAT):
            return float(found[0])
        if found := self.take(_CONST):
            return self.const(found[1], found[2] or "")
        return self.type() if _TYPE.match(self.line, self.at) else self.size()

    def const(self, short: str, shape: str) -> Const:
        dtype, sizes = LONG[short], tuple(map(int, _DIGITS.findall(shape)))
        if found := self.take(_STRING):
            self.need(")")
            return Const(dtype.name, sizes, base64.b64decode(found[0][1:-1]))
        numbers = self.many(lambda: _read_number(self.need(_NUMBER)[0], _part_dtype(dtype)), ")")
        return Const(dtype.name, sizes, b"".join(number.tobytes() for number in numbers))
