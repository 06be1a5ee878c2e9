"""The README and the pages it leads to: short, complete, and right in what they tell to type."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# they need toolchain, cluster or account, or what a rehearsal has left
SLOW = {"audit", "rehearse", "preview", "reinstall", "resume", "destroy", "report", "rules test"}
OF_THE_CHECKOUT = {"doctor", "init", "statement"}
"""What they say or write is this machine's; they have tests of their own."""


def commands(page: str) -> list[list[str]]:
    """The `fleet` commands in the shell blocks of a page."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("fleet ")]
    return [shlex.split(line.partition("&&")[0], comments=True)[1:] for line in lines]


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 180


def test_the_map_has_a_row_for_each_folder() -> None:
    rows = re.findall(r"^\| `([a-z]+)/` \|", README, re.MULTILINE)
    packages = {path.parent.name for path in ROOT.glob("[a-z]*/__init__.py")}
    assert set(rows) == packages | {"docs"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs" / "commands.md"])
def test_each_command_works_as_printed_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workloads").symlink_to(ROOT / "workloads")
    monkeypatch.chdir(tmp_path)
    left_out = SLOW | OF_THE_CHECKOUT
    printed = commands(page.read_text())
    asked = [words for words in printed if left_out.isdisjoint((words[0], " ".join(words[:2])))]
    assert len(asked) > 5
    for words in asked:
        ended = CliRunner().invoke(app, words[: words.index(">")] if ">" in words else words)
        refused = "--policy" in words  # the pod that does not fit
        assert ended.exit_code == int(refused), f"{words}: {ended.output}"
        if ">" in words:
            (tmp_path / words[-1]).write_text(ended.stdout)
