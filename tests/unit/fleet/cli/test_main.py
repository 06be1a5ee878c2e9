"""What all verbs of the command have in common."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app


@pytest.mark.parametrize("verb", [("plan", "dgx-h200", "--svg"), ("render", "dev", "--out")])
def test_a_place_that_cannot_be_written_is_one_sentence(
    verb: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "out"
    said = CliRunner().invoke(app, [*verb, str(target)])
    assert said.exit_code == 2
    assert said.stdout == ""
    assert said.stderr.startswith(str(target))
    assert said.stderr.endswith("Not a directory.\n")
    assert said.stderr.count("\n") == 1
