"""Graphs drawn as DOT and SVG: what is drawn, that it is well-formed, and that boxes don't lie on each other."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import numtape as nt
from numtape.runtime.drawing import dot, picture, svg
from numtape.tracer.show import parse

BRANCHED = parse("""
f(x: f64[x.0], k: i64[]) -> f64[x.0]
  where k == 3 @2  # m.py:4
  %2: f64[] = const  {value=f64(0.5)}
  %3: f64[x.0] = multiply x %2  # m.py:5
  %4: f64[x.0] = sin %3  # m.py:6
  %5: f64[x.0] = multiply %4 %3  # m.py:7
  %6: f64[x.0] = add x %5  # m.py:8
  return %6
""")

DOT = """\
digraph "f" {
  node [shape=box, fontname="monospace", fontsize=10];
  n0 [label="x\\nf64[x.0]", style=rounded];
  n1 [label="k\\ni64[]", style=rounded];
  n2 [label="multiply 0.5\\nf64[x.0]\\nm.py:5"];
  n3 [label="sin\\nf64[x.0]\\nm.py:6"];
  n4 [label="multiply\\nf64[x.0]\\nm.py:7"];
  n5 [label="add\\nf64[x.0]\\nm.py:8", penwidth=2];
  n0 -> n2;
  n2 -> n3;
  n3 -> n4;
  n2 -> n4;
  n0 -> n5;
  n4 -> n5;
}"""

NS = {"s": "http://www.w3.org/2000/svg"}


@pytest.fixture(scope="module")
def large():
    """The gradient of a small network: a hundred nodes, long edges, a loop body."""

    def loss(ws, x, y):
        for w in ws:
            x = np.tanh(x @ w) + np.mean(x, axis=0) * 0.25
        return np.mean((x - y) ** 2) + sum(np.sum(w * w) for w in ws)

    f = nt.jit(loss, backend="interpreter")
    f([np.ones((3, 3))] * 4, np.ones((5, 3)), np.ones((5, 3)))
    return f.graph("backward")


def test_dot():
    assert dot(BRANCHED) == DOT


def test_dot_of_hostile_names():
    graph = parse(r'`a"b\\`(`x"\x0a]`: f64[]) -> f64[]' + '\n  %1: f64[] = sin `x"\\x0a]`\n  return %1')
    lines = dot(graph).splitlines()
    assert lines[0] == 'digraph "a\\"b\\\\" {'
    assert lines[2] == '  n0 [label="x\\"\\n]\\nf64[]", style=rounded];'


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz's dot")
def test_graphviz_reads_it(large):
    for graph in (BRANCHED, large):
        done = subprocess.run(["dot", "-Tplain"], input=dot(graph), capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def boxes(text):
    """The boxes of an SVG: (left, top, right, bottom) and the texts of each."""
    out = []
    for group in ET.fromstring(text).findall("s:g", NS):
        rect = group.find("s:rect", NS)
        x, y, w, h = (float(rect.get(n)) for n in ("x", "y", "width", "height"))
        out.append(((x, y, x + w, y + h), [t.text for t in group.findall("s:text", NS)]))
    return out


def test_svg_holds_the_graph():
    text = svg(BRANCHED)
    root = ET.fromstring(text)
    assert root.find("s:title", NS).text == "Graph of f"
    assert root.find("s:desc", NS).text == "6 nodes, from inputs down to outputs"
    found = [texts for _, texts in boxes(text)]
    assert found[2] == ["multiply 0.5", "f64[x.0]", "m.py:5"]
    assert [g.get("class") for g in root.findall("s:g", NS)] == ["input", "input", "op", "op", "op", "output"]
    titles = [g.find("s:title", NS).text for g in root.findall("s:g", NS)]
    assert titles[0] == "x" and titles[4] == "%5 = multiply %4 %3"
    heads = [t.text for t in root.findall("s:text", NS)]
    assert heads == ["f", "where k == 3 (m.py:4)"]
    tips = [p for p in root.findall("s:path", NS) if p.get("marker-end")]
    assert len(tips) == 6, "one tip for each argument that is drawn"


def test_svg_needs_nothing_else(large):
    text = svg(large)
    assert "prefers-color-scheme: dark" in text
    assert set(re.findall(r"""(?:href|src|url|@import)[=( ]["']?([^"')]+)""", text)) == {"#numtape-tip"}
    assert text.count("http") == 1, "the name of SVG itself"


def test_boxes_keep_apart_and_inside(large):
    for graph in (BRANCHED, large):
        text = svg(graph)
        _, _, width, height = map(float, ET.fromstring(text).get("viewBox").split())
        found = [box for box, _ in boxes(text)]
        assert len(found) == len(picture(graph).boxes) > 5
        for k, (left, top, right, bottom) in enumerate(found):
            assert 0 <= left < right <= width and 0 <= top < bottom <= height
            for other in found[:k]:
                apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                assert apart, (found[k], other)


def test_what_is_computed_stands_below(large):
    drawn = picture(large)
    places = [box for box, _ in boxes(svg(large))]
    for k, box in enumerate(drawn.boxes):
        assert all(places[a][3] < places[k][1] for a in box.args)


def test_svg_of_hostile_names():
    graph = parse('`</svg><script>`(`<b>&"`: f64[]) -> f64[]\n  %1: f64[] = sin `<b>&"`\n  return %1')
    text = svg(graph)
    assert next(t for _, t in boxes(text))[0] == '<b>&"'
    assert {e.tag.rpartition("}")[2] for e in ET.fromstring(text).iter()} == {
        "svg", "title", "desc", "style", "defs", "marker", "path", "text", "g", "rect",
    }  # fmt: skip


def test_inner_graphs_are_drawn_too():
    graph = parse("""
f(x: f64[x.0]) -> f64[x.0]
  %1: f64[x.0] = call x  {graph=@body}  # m.py:3
      body(y: f64[y.0]) -> f64[y.0]
        %1: f64[y.0] = sin y  # m.py:2
        return %1
  return %1
""")
    assert '    label="body";\n    n0_0 [label=' in dot(graph)
    root = ET.fromstring(svg(graph))
    assert [t.text for t in root.findall("s:text", NS)] == ["f", "body"]
    assert len(root.findall("s:g", NS)) == 4


def test_parameters_and_what_depends_on_no_input():
    graph = parse("""
f(x: f64[x.0, 3]) -> f64[]
  %1: ~i64[] = size  {size=x.0}
  %2: f64[3] = sum x  {axes=(0,)}
  %3: f64[] = sum %2  {axes=(0,)}
  %4: f64[] = divide %3 %1
  return %4
""")
    found = boxes(svg(graph))
    assert [texts[0] for _, texts in found] == ["x", "size size=x.0", "sum axes=(0,)", "sum axes=(0,)", "divide"]
    assert found[1][0][1] == found[3][0][1], "the size stands where it is used"


def test_an_empty_graph():
    graph = parse("f() -> \n  return ")
    assert ET.fromstring(svg(graph)).find("s:title", NS).text == "Graph of f"
    assert dot(graph).startswith('digraph "f" {')
