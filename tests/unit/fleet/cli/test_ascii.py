"""A verb prints in whatever encoding its output has, with signs of ASCII for those it lacks."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

ASCII = {
    "LC_ALL": "C",
    "PYTHONUTF8": "0",
    "PYTHONCOERCECLOCALE": "0",
    "PYTHONIOENCODING": "ascii",
    "COLUMNS": "80",
}


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "dgx-h200"),
        ("plan", "diff", "dgx-h200", "prod/dgx"),
        ("hardware", "list"),
        ("hardware", "show", "dgx-h200"),
        ("shape", "dgx-h200"),
        ("explain", "isolcpus"),
        ("validate", "dev"),
        ("report", "no-such-environment-\N{LATIN SMALL LETTER U WITH DIAERESIS}"),
    ],
    ids=" ".join,
)
def test_no_sign_is_too_much_for_ascii(arguments: tuple[str, ...]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", "from fleet.cli.main import app; app()", *arguments],
        cwd=ROOT,
        env={**os.environ, **ASCII},
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in ended.stderr, ended.stderr.decode()
    assert (ended.stdout + ended.stderr).isascii()
    assert ended.returncode == (2 if arguments[0] == "report" else 0)
