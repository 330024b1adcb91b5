"""Reports as data, as pages and in notebooks: rows, break-even, structure of the HTML, escaping of hostile texts."""

import json
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pytest

import numtape as nt
from numtape.runtime import breakeven
from numtape.runtime.changes import changes
from numtape.runtime.cli_run import listening
from numtape.runtime.fragments import plain
from numtape.runtime.printing import why_text
from numtape.runtime.report import Report, Row, collect, from_lines, to_lines
from numtape.runtime.report_html import MOST, page

jit = partial(nt.jit, backend="interpreter")
A, B = np.ones(3), np.ones((3, 3))
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """Reads a page: every tag closed in order, attributes by tag, and the texts between."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self):
        return "".join(data for tag, data in self.texts if tag not in ("script", "style"))


@pytest.fixture(scope="module")
def report():
    def power(x, k):
        for _ in range(k):
            x = x * x
        return np.sum(x)

    def broken(x):
        raise ValueError("no good")

    events = []
    with listening(events):
        f, g = jit(power), jit(broken)
        for k in (2, 3, 2):
            f(A, k)
        f(B, 2)
        with pytest.raises(ValueError, match="no good"):
            g(A)
    return collect(events)


def test_rows(report):
    rows = {r.function: r for r in report.rows}
    power, broken = rows["power"], rows["broken"]
    assert (power.calls, power.hits, power.traces, power.retraces, power.failures) == (4, 1, 3, 2, 0)
    assert power.worst in ("LOOP_TRIP_COUNT", "RANK") and power.fix
    assert (broken.calls, broken.traces, broken.failures, broken.worst) == (1, 0, 1, "TRACE_FAILED")
    assert report.headline.startswith("2 functions, 5 calls, 3 traces (2 again, 1 failed), ")
    assert Report().headline == "no function was traced"


def test_lines_are_read_back(report):
    back = from_lines(to_lines(report))
    assert back.rows == report.rows and back.events == report.events
    log = from_lines([json.dumps(e) for e in report.events])
    assert {(r.function, r.traces, r.failures, r.worst) for r in log.rows} == {
        (r.function, r.traces, r.failures, r.worst) for r in report.rows
    }


def test_lines_of_older_versions(report):
    """They hold no comparison, no fix of a function, and no word on the store."""
    lines = [json.loads(line) for line in to_lines(report)]
    for line in lines:
        for name in ("compared", "entries", "found", "fix", "compiles", "disk_hits", "failures", "saved"):
            line.pop(name, None)
    old = from_lines([json.dumps(line) for line in lines])
    assert [r.function for r in old.rows] == [r.function for r in report.rows]
    assert "LOOP_TRIP_COUNT" in page(old) and "LOOP_TRIP_COUNT" in str(old)


def test_what_is_no_event_is_refused(report):
    event = report.events[0]
    for name, wrong in (("reasons", 3), ("time", "noon"), ("function", None), ("reasons", [{"code": "X"}])):
        with pytest.raises(ValueError, match="line 1 is not a record of numtape"):
            from_lines([json.dumps({**event, name: wrong})])


def test_the_report_of_this_process():
    def only_here(x):
        return x + 1

    f = jit(only_here)
    f(A), f(np.ones(9)), f(B)
    found = nt.report()
    (row,) = [r for r in found.rows if r.function == "only_here"]
    assert (row.calls, row.hits, row.traces, row.worst) == (3, 1, 2, "RANK")
    assert "only_here" in str(found) and "RANK: only_here was traced again" in str(found)


# -- break-even ------------------------------------------------------------------------------------------------------


def row(**changed):
    return Row(**{"function": "f", "line": "", "calls": 1, "hits": 0, "traces": 1, "trace_seconds": 0.5,
                  "compile_seconds": 1.5, **changed})  # fmt: skip


def test_break_even_as_text():
    shown = {saved: row(saved=saved).break_even for saved in (None, 0.0, -1e-3, 1e-3, 0.3)}
    assert shown == {None: "-", 0.0: "never", -1e-3: "never", 1e-3: "2,000", 0.3: "7"}


def test_break_even_is_measured_on_made_up_arrays():
    f = nt.jit(lambda x, k, i: np.sum(np.tanh(x) * k) + x[i][0])
    f(np.full(3, 7.0), 2.5, np.array([1]))
    entry = f._last_entry()
    assert entry.event.values == {"x": (3,), "k": 2.5, "i": (1,)}
    x, k, i = breakeven._made_up(entry.plan.graph, entry.event.values)
    assert x.tolist() == [1.0] * 3 and k == 2.5 and i.tolist() == [0]
    hits = entry.hits
    assert isinstance(breakeven.seconds_saved(entry), float)
    assert entry.hits == hits, "no call of the user's"


def test_break_even_is_not_measured_where_it_can_not_be(monkeypatch):
    branch = nt.jit(lambda x: x if x[0] > 5 else -x)
    branch(np.full(3, 7.0))
    assert breakeven.seconds_saved(branch._last_entry()) is None, "ones take the other branch"
    nothing = jit(lambda x: x + 1)
    nothing(A)
    assert breakeven.seconds_saved(nothing._last_entry()) is None, "nothing was compiled"
    large = nt.jit(lambda x: x + 1)
    large(A)
    monkeypatch.setattr(breakeven, "LARGEST", 8)
    assert breakeven.seconds_saved(large._last_entry()) is None


# -- the page --------------------------------------------------------------------------------------------------------


def test_structure_of_the_page(report):
    made = Page(page(report))
    assert made.tags[0] == ("html", {"lang": "en"})
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in made.all("meta")
    ids = [attrs["id"] for _, attrs in made.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [a["href"] for a in made.all("a")]
    assert links and all(link[0] == "#" and link[1:] in ids for link in links)
    labels = [attrs["data-label"] for attrs in made.all("td") if "data-label" in attrs]
    columns = ["function", "calls", "hits", "traces", "trace s", "compile s", "break-even", "worst reason", "fix"]
    assert labels == columns * 2
    assert len(made.all("button")) == len(columns), "each column can be sorted from the keyboard"
    bars = [a for a in made.all("a") if a.get("class") == "bar"]
    assert len(bars) == 3 and all(b["aria-label"] == b["title"] for b in bars)
    assert len(made.all("article")) == len(report.events)
    for part in ("prefers-color-scheme: dark", "max-width: 48rem", ":focus-visible"):
        assert part in page(report)


def test_the_page_loads_nothing(report):
    made = Page(page(report))
    assert not {tag for tag, _ in made.tags} & {"link", "img", "iframe", "object", "base", "form"}
    assert not [attrs for _, attrs in made.tags if "src" in attrs]
    (policy,) = [m["content"] for m in made.all("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'")
    assert (
        "url(" not in page(report)
        and "@import" not in page(report)
        and "http" not in page(report).replace("http-eq", "")
    )


def test_calls_stand_side_by_side(report):
    made = page(report)
    assert '<tr class="differs"><th scope="row">k</th><td><mark>2</mark></td><td><mark>3</mark></td></tr>' in made, (
        "the number that changed"
    )
    assert '<tr><th scope="row">x</th><td>f64[3]</td><td>f64[3]</td></tr>' in made
    assert "<li>needs k == 2 (test_report.py:" in made


def test_an_empty_report_is_a_page():
    assert "no function was traced" in Page(page(Report())).text


HOSTILE = [
    "<script>alert(1)</script>", "</style><script>x", "\"><img src=x onerror=alert(1)>", "' onfocus='x", "a & b &lt;",
    "\u202egnp.exe", "\ud800", "\x00\x1b[31m", "`${x}`", "</title>", "<!--", "]]>",
]  # fmt: skip


def hostile_report(text):
    reason = dict.fromkeys(("code", "argument", "before", "after", "line", "text", "sentence", "fix"), text)
    event = {
        "schema": 1, "record": "event", "kind": "retrace", "time": 1.0, "pid": 1, "number": 2, "function": text,
        "line": text, "call_site": text, "signature": {text: text}, "reasons": [reason],
        "compared": [[text, text, "-"]], "entries": [text], "trace_seconds": 0.5, "compile_seconds": 0.5, "nodes": 1,
        "explanation": f"{text}\n{text}\n{text}",
    }  # fmt: skip
    return from_lines([json.dumps(event), json.dumps({"record": "function", "schema": 1, **row_of(text)})])


def row_of(text):
    return {"function": text, "line": text, "calls": 1, "hits": 0, "traces": 1, "trace_seconds": 0.5,
            "compile_seconds": 0.5, "worst": text, "fix": text}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_texts_stay_texts(text):
    word = "ca/lm" if "/" in text else "calm"  # of a line, the last part is shown
    found, calm = hostile_report(text), hostile_report(word)
    for made, expected in ((page(found), page(calm)), (found._repr_html_(), calm._repr_html_())):
        made.encode()
        parsed, plainly = Page(made), Page(expected)
        assert [(tag, sorted(attrs)) for tag, attrs in parsed.tags] == [(t, sorted(a)) for t, a in plainly.tags]
        assert not [c for c in parsed.text if not c.isprintable() and c not in "\n"]
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
        assert parsed.text.count(shown) == plainly.text.count(word)
        assert [t for t in parsed.texts if t[0] == "script"] == [t for t in plainly.texts if t[0] == "script"]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_texts_do_not_steer_a_terminal(text):
    printed = str(hostile_report(text)) + why_text(hostile_report(text).events[0])
    assert printed.encode() and all(c.isprintable() or c == "\n" for c in printed)


def test_plain():
    assert plain("a<b> & 'c'\n\t\"d\"") == "a&lt;b&gt; &amp; &#x27;c&#x27;\n\t&quot;d&quot;"
    assert plain("\u202e\ud800\x07é→") == "\\u202e\\ud800\\x07é→"


def test_numbers_of_events_are_numbers():
    with pytest.raises(ValueError, match="invalid literal"):
        page(Report([row()], [{**hostile_report("x").events[0], "number": '1" onclick="x'}]))


def test_a_long_report_is_cut():
    event = hostile_report("calm").events[0]
    events = [{**event, "number": k} for k in range(MOST + 7)]
    made = Page(page(Report([row()], events)))
    assert len(made.all("article")) == MOST and "… and 7 more." in made.text


# -- notebooks -------------------------------------------------------------------------------------------------------


def test_notebooks_show_tables(report):
    def scale(x, k):
        return x * k if k > 3 else x

    f = jit(scale)
    assert f.signatures()._repr_html_() == "<p>no signatures yet</p>"
    f(A, 7), f(A, 2)
    signatures = Page(f.signatures()._repr_html_())
    assert "scale(x: f64[:], k: int)" in signatures.text and "k > 3" in signatures.text and "k <= 3" in signatures.text
    assert f.signatures()[0]._repr_html_() == f.signatures()._repr_html_()
    explanation = Page(f.explain_last()._repr_html_())
    assert "BRANCH_TAKEN: scale was traced again" in explanation.text and explanation.all("mark")
    assert "2 functions" in Page(report._repr_html_()).text


# -- differences -----------------------------------------------------------------------------------------------------


def test_changes_of_functions():
    def of(**rows):
        return Report(
            [row(function=n, line="/x/m.py:3", trace_seconds=s, compile_seconds=0.0) for n, s in rows.items()]
        )

    found = changes(of(kept=1.0, slow=1.0, fast=3.0, old=1.0), of(kept=1.4, slow=2.0, fast=1.0, fresh=0.25))
    assert list(map(str, found)) == [
        "slower  slow (m.py): 1.00 → 2.00 s of tracing and compiling",
        "faster  fast (m.py): 3.00 → 1.00 s of tracing and compiling",
        "new     fresh (m.py): 0.25 s of tracing and compiling",
        "gone    old (m.py)",
    ]
