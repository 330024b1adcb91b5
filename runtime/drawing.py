"""Graphs drawn: as text for Graphviz, and as an SVG that needs nothing else, laid out in layers from inputs down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ..tracer.dims import Dim, show_size
from ..tracer.graph import NOWHERE, Const, Graph, Node
from ..tracer.show import show_guard, show_type

LETTER, LINE = 7.3, 16.0  # the size of a monospaced letter of 12 px, and of its line
PAD, GAP, FALL = 10.0, 18.0, 34.0  # inside a box, between boxes, between layers
SWEEPS = 6
SHORT = 20  # letters of a parameter that is drawn


@dataclass
class Box:
    """One node to draw: its lines of text, the boxes that it is computed from, "input", "op" or "output"."""

    lines: list[str]
    args: list[int]
    kind: str
    title: str


@dataclass
class Picture:
    """A graph ready to be drawn; those inside of it, bodies of loops and branches, follow as pictures of their own."""

    title: str
    guards: list[str]
    boxes: list[Box] = field(default_factory=list)
    inner: list[Picture] = field(default_factory=list)


def picture(graph: Graph) -> Picture:
    """The boxes of a graph. A constant number stands in the box that uses it."""
    inline = {i: _number(n.param("value")) for i, n in enumerate(graph.nodes) if n.op == "const"}
    literal = {i: text for i, text in inline.items() if text and i not in graph.outputs}
    reference = [*graph.names, *[f"%{i}" for i in range(len(graph.names), len(graph.nodes))]]
    out = Picture(graph.name, [f"{show_guard(g, reference)} ({g.loc})" for g in graph.guards])
    place: dict[int, int] = {}
    for index, node in enumerate(graph.nodes):
        if index in literal:
            continue
        place[index] = len(out.boxes)
        kind = "output" if index in graph.outputs else "input" if index < len(graph.names) else "op"
        loc = graph.loc(index)
        if index < len(graph.names):
            lines = [graph.names[index], show_type(node.type)]
        else:
            words = [node.op, *[literal[a] for a in node.args if a in literal], *_params(node)]
            out.inner += [picture(value) for _, value in node.params if isinstance(value, Graph)]
            lines = [" ".join(words), show_type(node.type), *([str(loc)] if loc != NOWHERE else [])]
        args = list(dict.fromkeys(place[a] for a in node.args if a not in literal))
        words = [node.op, *[literal.get(a, reference[a]) for a in node.args], *_params(node)]
        title = f"{reference[index]} = {' '.join(words)}"
        out.boxes.append(Box(lines, args, kind, graph.names[index] if index < len(graph.names) else title))
    return out


def _params(node: Node) -> list[str]:
    """The parameters of a node that are short: axes, sizes, words."""
    return [f"{name}={text}" for name, value in node.params if len(text := _param(value)) in range(1, SHORT)]


def _param(value: Any) -> str:
    """A parameter as text; "" for a constant or a graph."""
    if isinstance(value, Graph | Const):
        return ""
    if isinstance(value, tuple):
        return f"({', '.join(map(_param, value))}{',' if len(value) == 1 else ''})"
    return show_size(value) if isinstance(value, Dim) else str(value)


def _number(const: Const) -> str:
    """A constant of rank 0 as text; "" for an array."""
    return "" if const.shape else str(const.array()[()])


# -- Graphviz --------------------------------------------------------------------------------------------------------


def dot(graph: Graph) -> str:
    """A graph in Graphviz's language."""
    lines = [f"digraph {_quoted(graph.name)} {{", '  node [shape=box, fontname="monospace", fontsize=10];']
    lines += _dot_lines(picture(graph), "n", "  ")
    return "\n".join([*lines, "}"])


def _dot_lines(drawn: Picture, prefix: str, indent: str) -> Iterator[str]:
    style = {"input": ", style=rounded", "output": ", penwidth=2", "op": ""}
    for k, box in enumerate(drawn.boxes):
        yield f"{indent}{prefix}{k} [label={_quoted(chr(10).join(box.lines))}{style[box.kind]}];"
    for k, box in enumerate(drawn.boxes):
        yield from (f"{indent}{prefix}{a} -> {prefix}{k};" for a in box.args)
    for k, inner in enumerate(drawn.inner):
        yield f"{indent}subgraph cluster_{prefix}{k} {{"
        yield f"{indent}  label={_quoted(inner.title)};"
        yield from _dot_lines(inner, f"{prefix}{k}_", f"{indent}  ")
        yield f"{indent}}}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


# -- SVG -------------------------------------------------------------------------------------------------------------

STYLE = """
  .numtape { --line: #6b7280; --text: #111827; --dim: #4b5563; --box: #ffffff; --in: #e0ecff; --out: #dcf5e3;
    --back: #ffffff; background: var(--back); font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
  @media (prefers-color-scheme: dark) { .numtape { --line: #8b95a5; --text: #f3f4f6; --dim: #b6bfcc; --box: #1f2430;
    --in: #1c3252; --out: #173f2a; --back: #14171f } }
  .numtape rect { fill: var(--box); stroke: var(--line) } .numtape .input rect { fill: var(--in) }
  .numtape .output rect { fill: var(--out); stroke-width: 2 }
  .numtape path { fill: none; stroke: var(--line) } .numtape marker path { fill: var(--line) }
  .numtape text { fill: var(--text); text-anchor: middle } .numtape .dim { fill: var(--dim) }
  .numtape .head { font-weight: bold; text-anchor: start } .numtape .guard { fill: var(--dim); text-anchor: start }
"""


def svg(graph: Graph) -> str:
    """A graph as a drawing in itself: no fonts, scripts or files from elsewhere; light and dark."""
    drawn = picture(graph)
    body: list[str] = []
    width, height = 0.0, PAD
    for part in _flat(drawn):
        block, wide, height = _block(part, height)
        body += block
        width = max(width, wide)
        height += FALL
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    counts = f"{len(drawn.boxes)} nodes, from inputs down to outputs"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="numtape" role="img" {size}>',
            f"<title>Graph of {escape(drawn.title)}</title>",
            f"<desc>{counts}</desc>",
            f"<style>{STYLE}</style>",
            '<defs><marker id="numtape-tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
            *body,
            "</svg>",
        ]
    )


def _flat(drawn: Picture) -> list[Picture]:
    return [drawn, *[p for inner in drawn.inner for p in _flat(inner)]]


def _block(drawn: Picture, top: float) -> tuple[list[str], float, float]:
    """A graph below `top`: its elements, its width, where it ends."""
    out = [_text(PAD, top + LINE, drawn.title, "head")]
    top += 2 * LINE
    for guard in drawn.guards:
        out.append(_text(PAD, top, f"where {guard}", "guard"))
        top += LINE
    layers, links = _layers(drawn.boxes)
    sizes = {k: _size(drawn.boxes[k]) if k >= 0 else (2.0, 0.0) for layer in layers for k in layer}
    x, wide = _columns(layers, links, sizes)
    y: dict[int, tuple[float, float]] = {}
    for layer in layers:
        tall = max(sizes[k][1] for k in layer)
        y.update({k: (top, top + (sizes[k][1] or tall)) for k in layer})
        top += tall + FALL
    out += [_edge(x, y, a, b) for a, b in links]
    for k, box in enumerate(drawn.boxes):
        w, h = sizes[k]
        left, above = x[k] - w / 2, y[k][0]
        rounded = ' rx="12"' if box.kind == "input" else ' rx="3"'
        texts = [_text(x[k], above + LINE * (i + 1), t, "" if not i else "dim") for i, t in enumerate(box.lines)]
        frame = f'<rect x="{left:.1f}" y="{above:.1f}" width="{w:.1f}" height="{h:.1f}"{rounded}/>'
        out.append(f'<g class="{box.kind}"><title>{escape(box.title)}</title>{frame}{"".join(texts)}</g>')
    heads = [drawn.title, *[f"where {g}" for g in drawn.guards]]
    return out, max(wide, max(map(len, heads)) * LETTER + 2 * PAD), top - FALL


def _text(x: float, y: float, text: str, kind: str) -> str:
    marked = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{marked}>{escape(text)}</text>'


def _size(box: Box) -> tuple[float, float]:
    return max(map(len, box.lines)) * LETTER + 2 * PAD, len(box.lines) * LINE + PAD


def _layers(boxes: list[Box]) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """Boxes by their distance from the inputs, and links from layer to layer; points below 0 lead long ones through."""
    depth: list[int] = []
    for box in boxes:
        depth.append(max((depth[a] + 1 for a in box.args), default=0))
    users: list[list[int]] = [[] for _ in boxes]
    for k, box in enumerate(boxes):
        for a in box.args:
            users[a].append(depth[k])
    for k, box in enumerate(boxes):
        if box.kind != "input" and not box.args and users[k]:
            depth[k] = min(users[k]) - 1  # what depends on no input stands where it is used
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for k, d in enumerate(depth):
        layers[d].append(k)
    links = []
    point = 0
    for k, box in enumerate(boxes):
        for a in box.args:
            last = a
            for d in range(depth[a] + 1, depth[k]):
                point -= 1
                layers[d].append(point)
                links.append((last, point))
                last = point
            links.append((last, k))
    return layers, links


def _columns(
    layers: list[list[int]], links: list[tuple[int, int]], sizes: dict[int, tuple[float, float]]
) -> tuple[dict[int, float], float]:
    """The middle of each box: near those it is linked to, with boxes of a layer side by side; and the whole width."""
    near: dict[int, list[int]] = {k: [] for layer in layers for k in layer}
    above: dict[int, list[int]] = {k: [] for k in near}
    for a, b in links:
        near[a].append(b)
        above[b].append(a)
        near[b].append(a)
    x: dict[int, float] = {}
    for layer in layers:  # first from above alone, in the order of the program
        _settle(layer, {k: _mean(x, above[k], float(i)) for i, k in enumerate(layer)}, sizes, x)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else layers[::-1]:
            _settle(layer, {k: _mean(x, near[k], x[k]) for k in layer}, sizes, x)
    left = min((x[k] - sizes[k][0] / 2 for k in x), default=0.0) - PAD
    x = {k: v - left for k, v in x.items()}
    return x, max((x[k] + sizes[k][0] / 2 for k in x), default=0.0) + PAD


def _mean(x: dict[int, float], others: list[int], default: float) -> float:
    known = [x[k] for k in others if k in x]
    return sum(known) / len(known) if known else default


def _settle(
    layer: list[int], wish: dict[int, float], sizes: dict[int, tuple[float, float]], x: dict[int, float]
) -> None:
    """Put the boxes of a layer in the order of their wishes, as close to them as fits."""
    layer.sort(key=lambda k: wish[k])
    right = float("-inf")
    for k in layer:
        half = sizes[k][0] / 2
        x[k] = max(wish[k], right + half)
        right = x[k] + half + GAP
    shift = sum(wish[k] - x[k] for k in layer) / len(layer)  # all to one side otherwise
    for k in layer:
        x[k] += shift


def _edge(x: dict[int, float], y: dict[int, tuple[float, float]], a: int, b: int) -> str:
    (_, start), (end, _) = y[a], y[b]
    middle = (start + end) / 2
    tip = ' marker-end="url(#numtape-tip)"' if b >= 0 else ""
    through = f" L{x[b]:.1f} {y[b][1]:.1f}" if b < 0 else ""
    curve = f"M{x[a]:.1f} {start:.1f} C{x[a]:.1f} {middle:.1f} {x[b]:.1f} {middle:.1f} {x[b]:.1f} {end:.1f}{through}"
    return f'<path d="{curve}"{tip}/>'
