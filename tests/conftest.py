"""Fixtures that every layer shares."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the tables that tests have recorded, also where another process ran them."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "table" and report.when == "call":
                    title, *lines = str(value).splitlines()
                    terminalreporter.section(title)
                    terminalreporter.write("\n".join(lines) + "\n")
