"""Fixtures that every layer shares."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of upstream schemas beside the checkout; conformance tests skip without it."""
    folder = ROOT.parent / "shared"
    if not (folder / "schemas").is_dir():
        pytest.skip("upstream schemas are not beside this checkout (../shared/schemas)")
    return folder


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the tables that tests have recorded, also where another process ran them."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()):
                if name == "table" and report.when == "call":
                    title, *lines = str(value).splitlines()
                    terminalreporter.section(title)
                    terminalreporter.write("\n".join(lines) + "\n")
