"""`fleet report ENV` shows the report of the last rehearsal, in the form that is asked for."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli import report
from fleet.cli.main import app
from tests.conftest import ROOT

RECORDED = Path(__file__).parents[2] / "rehearsal" / "recorded" / "passed.json"


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["report", *arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "stacks").mkdir()
    shutil.copy2(ROOT / "stacks" / "Pulumi.dev.yaml", tmp_path / "stacks")
    monkeypatch.setattr(report, "ROOT", tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.fixture
def rehearsed(checkout: Path) -> Path:
    (checkout / ".rehearsal" / "dev").mkdir(parents=True)
    path = checkout / ".rehearsal" / "dev" / "report.json"
    shutil.copy(RECORDED, path)
    return path


@pytest.mark.usefixtures("rehearsed")
def test_it_prints_the_short_report_and_when_it_ran() -> None:
    code, shown, _ = run("dev")
    assert code == 0
    assert shown.strip().startswith("dev passed: ")
    day = json.loads(RECORDED.read_text())["ended"][:10]
    assert f"Rehearsed on {day} at " in shown
    assert len(shown.splitlines()) < 40


def test_it_says_that_the_stack_file_was_changed_after_that(
    rehearsed: Path, checkout: Path
) -> None:
    stack_file = checkout / "stacks" / "Pulumi.dev.yaml"
    found = json.loads(rehearsed.read_text())
    sha256 = hashlib.sha256(stack_file.read_bytes()).hexdigest()
    rehearsed.write_text(json.dumps({**found, "stack_file_sha256": sha256}))
    stack_file.touch()  # as a checkout of the same commit does
    assert "changed after that" not in run("dev")[1]
    stack_file.write_text(f"{stack_file.read_text()}# another line\n")
    os.utime(stack_file, (0, 0))
    assert "stacks/Pulumi.dev.yaml was changed after that" in " ".join(run("dev")[1].split())


@pytest.mark.usefixtures("rehearsed")
def test_all_prints_every_rule() -> None:
    assert "numa/vgpu, mandatory" in run("dev", "--all")[1]
    assert "numa/vgpu" not in run("dev")[1]


def test_json_is_what_the_rehearsal_wrote(rehearsed: Path) -> None:
    shown, written = json.loads(run("dev", "--json")[1]), json.loads(rehearsed.read_text())
    assert {key: shown[key] for key in written} == written


@pytest.mark.usefixtures("rehearsed")
def test_html_is_written_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert run("dev", "--html", str(path))[:2] == (0, f"Wrote {path}.\n")
    assert path.read_text().startswith("<!doctype html>")


@pytest.mark.usefixtures("rehearsed")
def test_markdown_is_printed() -> None:
    assert run("dev", "--markdown")[1].startswith("### ✅ dev passed")


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ("dev", "No rehearsal of dev has ended here yet: `fleet rehearse dev` writes a report."),
        ("def", 'no environment "def"'),
    ],
)
def test_without_a_report_there_is_one_sentence(environment: str, sentence: str) -> None:
    code, shown, told = run(environment)
    assert (code, shown) == (2, "")
    assert sentence in told


OTHERS = (b"", b"{}", b"[1]", b'{"environment": "dev", "pools": [{}]}', b"\xff\xfe")


@pytest.mark.parametrize("content", [*OTHERS, b'{"environment": "dev", "unknown": 5}'])
def test_a_report_of_another_version_is_one_sentence(rehearsed: Path, content: bytes) -> None:
    rehearsed.write_bytes(content)
    code, shown, told = run("dev")
    assert (code, shown) == (2, "")
    assert told.count("is no report of this version of the program") == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ended": "yesterday"}, "is no report of this version of the program"),
        ({"environment": "prod"}, 'is a report of "prod", not of dev'),
    ],
)
def test_a_report_that_somebody_changed_is_not_shown(
    rehearsed: Path, change: dict[str, str], says: str
) -> None:
    rehearsed.write_text(json.dumps(json.loads(rehearsed.read_text()) | change))
    code, shown, told = run("dev")
    assert (code, shown) == (2, "")
    assert says in told


def test_two_forms_at_once_are_refused() -> None:
    code, _, told = run("dev", "--json", "--markdown")
    assert (code, "choose one" in told) == (2, True)
