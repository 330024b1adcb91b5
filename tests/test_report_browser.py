"""The report's page in a browser: it is laid out at any width, in both colours, and works from the keyboard."""

import json
import shutil

import pytest
from test_report import HOSTILE, hostile_report, row

from numtape.runtime.drawing import svg
from numtape.runtime.report import Report
from numtape.runtime.report_html import page
from numtape.tracer.show import parse

webdriver = pytest.importorskip("selenium.webdriver", reason="drives a browser: pip install selenium")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="needs Chromium and chromedriver")

LIGHT, DARK = "light", "dark"
NAMES = "return [...document.querySelectorAll('.functions td:first-child code')].map(e => e.innerText)"
OVER = """
const seen = e => e.getClientRects().length && !e.closest('.skip') && !e.closest('thead');
return [...document.querySelectorAll('body *')].filter(e => seen(e) && e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.outerHTML.slice(0, 80));
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    profile = tmp_path_factory.mktemp("profile")
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", f"user-data-dir={profile}"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def report_of(texts):
    """A report of functions named by texts, each with a retrace."""
    rows, events = [], []
    for k, text in enumerate(texts):
        made = hostile_report(text)
        rows.append(row(function=text, line="/m/model.py:3", calls=10 - k, worst="DTYPE", fix=text * 3, saved=0.01))
        events += [{**e, "number": k + 1, "time": 1.0 + k} for e in made.events]
    return Report(rows, events)


@pytest.fixture
def show(browser, tmp_path):
    def show(text, width=1200, height=900, colours=LIGHT, name="page.html"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        wanted = [{"name": "prefers-color-scheme", "value": colours}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": wanted})
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get((tmp_path / name).as_uri())
        return browser

    return show


def test_nothing_runs_or_is_refused(show):
    """No text of a report becomes markup, and the page asks for nothing that its policy forbids."""
    texts = [t for t in HOSTILE if t != "\ud800"]
    browser = show(page(report_of(texts)).replace("<script>", '<script>window.alert = () => { throw "run" };', 1))
    assert browser.get_log("browser") == []
    found = browser.execute_script(
        "return [...document.querySelectorAll('.functions td:first-child code')].map(e => e.innerText)"
    )
    assert found[:1] == ["<script>alert(1)</script>"] and len(found) == len(texts)
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert browser.execute_script("return document.querySelectorAll('script, img, iframe').length") == 1


@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_nothing_runs_over_the_edge(show, width):
    browser = show(page(report_of(["a_function_with_quite_a_long_name_of_its_own" * 2, "f"])), width)
    assert browser.execute_script(OVER) == []
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")


def test_a_phone_shows_cards(show):
    wide = "return getComputedStyle(document.querySelector('.functions td')).display"
    text = page(report_of(["f"]))
    assert show(text, 1200).execute_script(wide) == "table-cell"
    browser = show(text, 390)
    assert browser.execute_script(wide) == "flex"
    label = "return getComputedStyle(document.querySelectorAll('.functions td')[1], '::before').content"
    assert browser.execute_script(label) == '"calls"'


CONTRAST = """
const parse = c => c.match(/[\\d.]+/g).map(Number);
const linear = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const light = c => { const [r, g, b] = parse(c).map(linear);
  return .2126 * r + .7152 * g + .0722 * b };
const back = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (parse(c)[3] !== 0) return c } };
const texts = 'p, a:not(.bar), code, pre, td, th, h1, h2, mark, summary, li, .worst, .fix, .dim';
return [...document.querySelectorAll(texts)]
  .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(back(e))].sort((x, y) => y - x);
    return [(a + .05) / (b + .05), e.outerHTML.slice(0, 80)] }).filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_texts_can_be_read(show, colours):
    """WCAG's contrast of 4.5 between each text and what is behind it."""
    browser = show(page(report_of(["f", "g"])), colours=colours)
    back = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (colours == LIGHT)
    assert browser.execute_script(CONTRAST) == []


def test_it_works_from_the_keyboard(show):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    browser = show(page(report_of(["f", "g", "h"])))

    def press(key):
        browser.switch_to.active_element.send_keys(key)
        return browser.switch_to.active_element

    assert press(keys.TAB).text == "Skip to the report"
    names = [press(keys.TAB).text for _ in range(4)]
    assert names == ["Functions", "Compiles over time", "Traced again, failed, or uncompiled", "First traces"]
    buttons = [press(keys.TAB) for _ in range(9)]
    assert [b.tag_name for b in buttons] == ["button"] * 9
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "one sees where the focus is"
    bar = press(keys.TAB)
    assert bar.get_attribute("aria-label") == "f: f, 1.00 s"
    bar.send_keys(keys.ENTER)
    assert browser.execute_script("return location.hash") == "#e1-1"
    assert browser.execute_script("return document.querySelector(':target h3').innerText").startswith("f ")


def test_columns_are_sorted(show):
    keys = pytest.importorskip("selenium.webdriver.common.keys").Keys
    browser = show(page(report_of(["f", "h", "g"])))

    def sort(column):
        button = browser.find_elements("css selector", ".functions th button")[column]
        button.send_keys(keys.ENTER)
        return "".join(browser.execute_script(NAMES)), button.find_element("xpath", "..").get_attribute("aria-sort")

    assert sort(1) == ("fhg", "descending")
    assert sort(1) == ("ghf", "ascending")
    assert sort(0) == ("hgf", "descending")


def test_a_graph_is_drawn(show):
    graph = parse("f(x: f64[x.0]) -> f64[x.0]\n  %1: f64[x.0] = sin x\n  %2: f64[x.0] = multiply %1 x\n  return %2")
    browser = show(svg(graph), colours=DARK, name="graph.svg")
    inside = """return [...document.querySelectorAll('g')].map(g => { const box = g.querySelector('rect').getBBox();
        return [...g.querySelectorAll('text')].every(t => { const b = t.getBBox();
          return b.x >= box.x && b.x + b.width <= box.x + box.width && b.y + b.height <= box.y + box.height + 2 }) })"""
    assert browser.execute_script(inside) == [True, True, True], "each text is inside of its box"
    fill = browser.execute_script("return getComputedStyle(document.querySelector('.op rect')).fill")
    assert fill == "rgb(31, 36, 48)"
    assert json.dumps(browser.get_log("browser")) == "[]"
