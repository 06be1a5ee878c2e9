"""The reports in README.md and docs/rehearsal.md are those of a rehearsal that somebody ran.

Its report is tests/unit/rehearsal/recorded/passed.json. After a change of rules or resources,
record it anew, write the pages from it, and look at the difference:

    fleet rehearse dev && fleet report dev --json > tests/unit/rehearsal/recorded/passed.json
    GOLDEN=write .venv/bin/pytest tests/unit/fleet/test_rehearsal_pages.py tests/unit/rehearsal
    git diff README.md docs tests
"""

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import RenderableType

from engine.console import show
from policies.rules import ALL
from rehearsal import digest
from rehearsal.report import Report
from rehearsal.short_report import render_short
from rehearsal.smoke.words import in_short
from rehearsal.tables import render
from tests.conftest import ROOT
from tests.support.environments import resources as registered
from toolchain.build import versions

RECORDED = ROOT / "tests" / "unit" / "rehearsal" / "recorded" / "passed.json"
README, PAGE = ROOT / "README.md", ROOT / "docs" / "rehearsal.md"
RECORD = f"record {RECORDED.relative_to(ROOT)} anew, see the top of this file"
Printed = Callable[[RenderableType], str]


@pytest.fixture(scope="module")
def report() -> Report:
    return Report.from_json(RECORDED.read_text())


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Printed:
    def text(thing: RenderableType) -> str:
        monkeypatch.setenv("COLUMNS", "100")
        show(thing)
        return capsys.readouterr().out.strip()

    return text


def progress(report: Report) -> str:
    """What a rehearsal prints while it runs."""
    number, nodes = digest.resources(report), len(report.nodes)
    assert report.smoke
    details = {
        "control plane": f"Kubernetes {versions['kubernetes']}",
        "preview": f"{number} resources",
        "up": f"{number} of {number} resources",
        "machines": f"{nodes} of {nodes} nodes Ready",
        "smoke": in_short(report.smoke),
    }
    lines = [
        f"✓ {each.name} {each.seconds:.1f} s {details.get(each.name, '')}".rstrip()
        for each in report.phases
        if each.name != "binaries"
    ]
    return "\n".join(lines)


def test_the_recorded_rehearsal_has_every_rule_in_its_words(report: Report) -> None:
    found = [(verdict.rule, verdict.sentence) for verdict in report.verdicts]
    assert found == [(rule.id, rule.sentence) for rule in ALL], RECORD


def test_the_recorded_rehearsal_has_every_resource(report: Report) -> None:
    made = Counter(
        each.type
        for each in registered("dev")
        if not each.type.startswith(("pulumi:providers:", "pulumi:pulumi:"))
    )
    assert report.resources == made, RECORD


def test_the_readme_shows_the_report_of_it(report: Report, printed: Printed) -> None:
    holds(README, "dev passed: ", printed(render_short(report)))


def test_the_page_shows_its_progress_and_its_report(report: Report, printed: Printed) -> None:
    holds(PAGE, "✓ control plane ", f"{progress(report)}\n\n{printed(render_short(report))}")


def test_the_page_shows_the_whole_report_of_it(report: Report, printed: Printed) -> None:
    holds(PAGE, "dev passed: ", printed(render(report)))


def holds(page: Path, beginning: str, wanted: str) -> None:
    """Hold the block of the page that begins so to the text, or write it there."""
    text = page.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```\n({beginning}.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    if os.environ.get("GOLDEN") == "write":
        page.write_text(text.replace(found, wanted), encoding="utf-8")
        found = wanted
    assert found == wanted, "write the page anew, see the top of this file"
