"""``python -m benchmarks``: numtape and its peers side by side, in one run on one core."""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import report, sections
from .driver import Team, pin
from .peers import ENTRIES
from .workloads import WORKLOADS

SECTIONS = ("steady", "bandwidth", "first", "growing", "memory", "compile")


def names(known: Any) -> Any:
    """An argument type: names out of `known`, separated by commas."""

    def parse(text: str) -> list[str]:
        chosen = text.split(",")
        strangers = [n for n in chosen if n not in known]
        if strangers:
            raise argparse.ArgumentTypeError(f"{', '.join(strangers)}: choose from {', '.join(known)}")
        return [n for n in known if n in chosen]

    return parse


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    add = parser.add_argument
    add("--only", type=names(SECTIONS), default=list(SECTIONS), help=f"sections, of {','.join(SECTIONS)}")
    add("--peers", type=names(ENTRIES), default=list(ENTRIES), help=f"of {','.join(ENTRIES)}")
    add("--workloads", type=names(WORKLOADS), default=list(WORKLOADS), help=f"of {','.join(WORKLOADS)}")
    add("--first", type=names(WORKLOADS), default=["chain64", "logreg"], help="workloads of the section `first`")
    add("--rounds", type=int, default=5, help="turns of each peer")
    add("--seconds", type=float, default=0.4, help="length of a turn")
    add("--limit", type=float, default=120, help="seconds that one compilation may take")
    add("--core", type=int, help="the core to run on (default: the last)")
    add("--python", action="append", default=[], metavar="PEER=PATH", help="another environment for a peer")
    add("--output", type=Path, help="write OUTPUT.md and OUTPUT.json")
    add("--tiny", action="store_true", help="tiny data: to see that all runs, not how fast")
    add("--verbose", action="store_true", help="show what the libraries print")
    return parser.parse_args(argv)


def processor() -> str:
    """The processor's model."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    wide = "AVX-512" if "avx512f" in found.get("flags", "") else "AVX2" if "avx2" in found.get("flags", "") else ""
    return ", ".join(filter(None, [found.get("model name", platform.machine()), wide]))


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What is known so far, after each section."""
    core = pin(options.core)
    data: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "tiny": options.tiny,
        "machine": {
            "cpu": processor(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "pinned": core is not None,
        },
    }
    pythons = dict(item.split("=", 1) for item in options.python)
    with tempfile.TemporaryDirectory() as cache:
        team = Team(list(options.peers), pythons, cache, verbose=options.verbose)
        for name in team.names:  # who is there
            team.close(team.start(name)[0])
        turns = {"tiny": options.tiny, "rounds": options.rounds, "seconds": options.seconds}
        within = {"tiny": options.tiny, "limit": options.limit}
        measured: dict[str, Callable[[], Any]] = {
            "steady": lambda: sections.steady(team, options.workloads, limit=options.limit, **turns),
            "bandwidth": lambda: sections.bandwidth(team, steady=data.get("steady", {}), **turns),
            "first": lambda: sections.first(team, options.first, **within),
            "growing": lambda: sections.growing(team, **within),
            "memory": lambda: sections.memory(team, **within),
            "compile": lambda: sections.compiling(team, **within),
        }
        for section in options.only:
            data[section] = measured[section]()
            known = {"names": team.names, "versions": team.versions, "notes": team.notes, "missing": team.missing}
            yield {**data, **known}


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    data: dict[str, Any] = {}
    for data in measure(options):
        text = report.markdown(data)
        if options.output:
            options.output.with_suffix(".md").write_text(text, encoding="utf-8")
            options.output.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(text, end="")
    cells = [cell for of_workload in data.get("steady", {}).values() for cell in of_workload.values()]
    return int(any(not cell.get("agrees", True) for cell in cells))  # the speed of a wrong result says nothing


if __name__ == "__main__":
    sys.exit(main())
