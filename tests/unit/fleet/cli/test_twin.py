"""`fleet twin` hands a program its words as they were typed."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from rehearsal import cli

Words = tuple[str, ...]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Words]]:
    found: list[tuple[str, str, Words]] = []

    def twin(_root: Path, environment: str, program: str, arguments: Sequence[str]) -> int:
        found.append((environment, program, tuple(arguments)))
        return 3

    monkeypatch.setattr(cli, "twin", twin)
    return found


@pytest.mark.parametrize(
    "words",
    [
        ("kubectl", "get", "nodes", "--output=name", "-A"),
        ("pulumi", "preview", "--help"),
        ("kubectl", "exec", "pod", "--", "ls", "-l"),
        ("kubectl",),
    ],
    ids=" ".join,
)
def test_options_are_the_programs_own(given: list[tuple[str, str, Words]], words: Words) -> None:
    ended = CliRunner().invoke(app, ["twin", "dev", *words])
    assert given == [("dev", words[0], words[1:])]
    assert ended.exit_code == 3
