"""The style and the script of the report's page; both stand inside of it."""

STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --text: #17202c; --dim: #525c6b; --line: #cfd6df; --card: #f5f7fa;
  --link: #0b57b0; --trace: #8a5a00; --compile: #1f66b8; --mark: #ffe9a8; --bad: #a3241c; --good: #196b36 }
@media (prefers-color-scheme: dark) { :root { --back: #12161d; --text: #e8edf4; --dim: #a9b4c2; --line: #3a4452;
  --card: #1b212b; --link: #8cc2ff; --trace: #e0a33b; --compile: #5ea3ee; --mark: #5a4700; --bad: #ff9a92;
  --good: #7fd69c } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
h1 { font-size: 1.4rem; margin: .5rem 0 } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 0 }
a { color: var(--link) } .dim { color: var(--dim) }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
.skip { position: absolute; left: -100rem } .skip:focus { position: static }
code, pre, .calls td, .calls th { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .875rem }
pre { margin: .5rem 0; padding: .5rem; background: var(--back); border: 1px solid var(--line); border-radius: 4px;
  white-space: pre-wrap }
table { border-collapse: collapse; width: 100% }
th, td { padding: .35rem .5rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
.functions .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.functions th button { all: unset; cursor: pointer; font-weight: bold; padding: .3rem 0; white-space: nowrap }
.functions th button:focus-visible { outline: 3px solid var(--link) }
th[aria-sort=ascending] button::after { content: " \\25B2" }
th[aria-sort=descending] button::after { content: " \\25BC" }
.worst { color: var(--bad); font-weight: bold; white-space: nowrap }
mark { background: var(--mark); color: inherit; padding: 0 .2rem }
.lane { display: grid; grid-template-columns: 14rem 1fr; gap: .5rem; align-items: center; margin: .25rem 0 }
.track { position: relative; height: 1.5rem; background: var(--card); border-radius: 4px }
.bar { position: absolute; top: 0; height: 100%; min-width: .5rem; border-radius: 3px; background: var(--compile) }
.key::before { content: ""; display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem; border-radius: 2px;
  background: var(--c) }
.axis { display: flex; justify-content: space-between; margin-left: 14.5rem }
article { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .75rem 1rem;
  margin: .75rem 0 }
article:target { border-color: var(--link); border-width: 2px }
article p { margin: .5rem 0 } .fix { color: var(--good); font-weight: 600 }
summary { cursor: pointer; padding: .3rem 0 }
@media (max-width: 48rem) {
  .functions thead { position: absolute; left: -100rem }
  .functions, .functions tbody, .functions tr, .functions td { display: block; width: 100% }
  .functions tr { border: 1px solid var(--line); border-radius: 6px; margin: .75rem 0; padding: .25rem .5rem }
  .functions td { display: flex; gap: 1rem; justify-content: space-between; border: 0; padding: .2rem 0 }
  .functions .n { text-align: left }
  .functions td::before { content: attr(data-label); color: var(--dim); flex: none }
  .lane { grid-template-columns: 1fr; gap: 0 } .axis { margin-left: 0 }
  article { padding: .75rem .5rem }
}
@media print { .bar { print-color-adjust: exact } }
"""

SCRIPT = """
for (const button of document.querySelectorAll(".functions th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
    const up = head.getAttribute("aria-sort") === "descending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const value = row => row.cells[head.cellIndex].dataset.value;
    const compare = (a, b) => isNaN(a) || isNaN(b) ? String(a).localeCompare(b) : a - b;
    const rows = [...body.rows].sort((a, b) => compare(value(a), value(b)) * (up ? 1 : -1));
    body.append(...rows);
  });
}
"""
