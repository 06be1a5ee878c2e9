"""Options of `fleet rehearse` that do not go together, and numbers that are none."""

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--kills", "-1"], '--kills is "-1"; allowed: a whole number of 0 to 1,000.'),
        (["--kills", "x"], '--kills is "x"; allowed: a whole number of 0 to 1,000.'),
        (["--kills", "1", "--seed", "1.5"], '--seed is "1.5"; allowed: a whole number of 0 to'),
        (["--kills", "1001"], '--kills is "1001"; allowed: a whole number of 0 to 1,000.'),
        (["--seed", "5"], "--seed says at which steps --kills kills: it needs --kills."),
        (["--seed", "5", "--kills", "0"], "it needs --kills."),
        (["--kills", "1", "--again"], "--kills needs a twin that begins empty: leave out --again"),
        (["--kills", "1", "--from", "main"], "--kills needs a twin that begins empty"),
        (["--destroy", "--keep"], "--destroy takes everything down: leave out --keep and --again."),
    ],
)
def test_what_makes_no_sense_is_one_sentence_with_code_2(options: list[str], told: str) -> None:
    done = CliRunner().invoke(app, ["rehearse", "dev", *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
