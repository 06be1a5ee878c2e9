"""What pytest prints and writes at the end of a run."""

import os
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.support.judges.presence import summary

ROOT = Path(__file__).resolve().parent.parent
_STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option of `make test-slow`."""
    parser.addoption(
        "--result", type=Path, help="the Markdown page to write the result of the run to"
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the tables that tests have recorded, and the judges that did not run.

    Another process may have run the tests.
    """
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "table" and report.when == "call":
                    title, *lines = str(value).splitlines()
                    terminalreporter.section(title)
                    terminalreporter.write("\n".join(lines) + "\n")
    if missing := summary(terminalreporter.stats.get("skipped", ())):
        terminalreporter.section("judges that did not run")
        terminalreporter.write("\n".join(missing) + "\n")
    result: Path | None = terminalreporter.config.getoption("--result")
    if result:
        result.write_text(_page(terminalreporter.stats))


def _page(stats: dict[str, list[pytest.TestReport]]) -> str:
    """The result of a run as a Markdown page."""
    outcomes = {name: len(stats.get(name, ())) for name in ("passed", "failed", "error", "skipped")}
    files: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    for report in (each for reports in stats.values() for each in reports):
        if isinstance(report, pytest.TestReport):
            name = report.nodeid.partition("::")[0]
            files[name] += report.when == "call"
            seconds[name] += round(report.duration)
    took = round(time.monotonic() - _STARTED)
    lines = [
        "# The last result of `make test-slow`",
        "",
        "`make test-slow` writes this page. It runs the tests marked `slow`; `make test` does not.",
        "",
        f"{datetime.now(UTC):%Y-%m-%d}, {took // 60} min {took % 60} s on {os.cpu_count()} cores: "
        + ", ".join(f"{number} {name}" for name, number in outcomes.items() if number),
        "",
        "| file | tests | seconds |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {files[name]} | {seconds[name]} |" for name in sorted(files)),
    ]
    return "\n".join(lines) + "\n"
