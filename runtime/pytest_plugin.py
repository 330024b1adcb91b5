"""The pytest plugin: the fixture `no_retrace`, and `--max-retraces N`, which fails tests that trace too much again.

pytest is imported when it asks for the plugin: the module itself can be imported without it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .hooks import on_trace
from .limits import no_retrace as forbidden

if TYPE_CHECKING:
    import pytest

    from .explain import Explanation

PROPERTY = "numtape_retraces"
"""The property of a test's report that counts its retraces; junit.xml has it too."""
SHOWN = 5  # explanations in the text of a failure


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("numtape").addoption(
        "--max-retraces",
        metavar="N",
        type=_count,
        default=None,
        help="fail each test in which numtape's functions are traced again more than N times, and say why",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the fixture, and where the option is given, what watches the tests."""
    config.pluginmanager.register(_fixtures(), "numtape-fixtures")
    allowed = config.getoption("max_retraces")
    if allowed is not None:
        config.pluginmanager.register(_watch(allowed), "numtape-watch")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _fixtures() -> Any:
    import pytest

    class Fixtures:
        @pytest.fixture
        def no_retrace(self) -> Iterator[None]:
            """Fail the test where a compiled function is traced again, on any thread; first traces are allowed."""
            own, elsewhere = threading.get_ident(), []

            def note(explanation: Explanation) -> None:
                if explanation.kind == "retrace" and threading.get_ident() != own:
                    elsewhere.append(explanation)

            with on_trace(note), forbidden():  # raises on this thread, where the call stands
                yield
            if elsewhere:
                pytest.fail(failure(elsewhere, "on other threads (fixture no_retrace)"), pytrace=False)

    return Fixtures()


def _watch(allowed: int) -> Any:
    import pytest

    class Watch:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
            """Count the retraces of a test's body. What fails otherwise fails with its own text."""
            seen: list[Explanation] = []
            with on_trace(seen.append):
                result = yield
            again = [e for e in seen if e.kind == "retrace"]
            if again:
                item.user_properties.append((PROPERTY, len(again)))
            if len(again) > allowed:
                verb = "is" if allowed == 1 else "are"
                where = f"in {item.name}, {allowed} {verb} allowed (--max-retraces {allowed})"
                pytest.fail(failure(again, where), pytrace=False)
            return result

        def pytest_terminal_summary(self, terminalreporter: Any) -> None:
            """Say how much was traced again in all; workers have sent it along with their reports."""
            reports = [r for found in terminalreporter.stats.values() for r in found]
            called = [r for r in reports if getattr(r, "when", "") == "call"]
            counts = [number for r in called for name, number in r.user_properties if name == PROPERTY]
            tests = f"{len(counts)} test{'s' * (len(counts) != 1)}"
            terminalreporter.write_line(f"numtape: {_retraces(sum(counts))} in {tests}")

    return Watch()


def failure(explanations: Sequence[Explanation], where: str) -> str:
    """The text of a failure: how many retraces, and the explanation of each with its fix."""
    shown = [str(e) for e in explanations[:SHOWN]]
    if len(explanations) > SHOWN:
        shown.append(f"… and {len(explanations) - SHOWN} more")
    return "\n\n".join([f"{_retraces(len(explanations))} {where}:", *shown])


def _retraces(number: int) -> str:
    return f"{number} retrace{'s' * (number != 1)}"
