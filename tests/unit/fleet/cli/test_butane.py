"""`fleet butane`: what it writes where, what it says, and how it ends."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fleet.cli.main import app

HEADER = "variant: flatcar\nversion: 1.1.0\n"
GOOD = (
    f"{HEADER}storage: {{files: [{{path: /a, contents: {{source: 'https://x.example/?a&b'}}}}]}}\n"
)
JSON = (
    '{"ignition":{"version":"3.4.0"},"storage":{"files":[{"path":"/a",'
    '"contents":{"source":"https://x.example/?a\\u0026b"}}]}}\n'
)
WARNED = f"{HEADER}storage:\n  files:\n    - path: /a\n      mode: 0644\n      modus: x\n"


def run(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(app, ["butane", *arguments], input=stdin)


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "a.bu"
    path.write_text(GOOD)
    return path


def test_a_file_becomes_ignition_on_stdout(good: Path) -> None:
    result = run(str(good))
    assert (result.exit_code, result.stdout, result.stderr) == (0, JSON, "")


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_document_may_come_by_stdin(arguments: tuple[str, ...]) -> None:
    assert run(*arguments, stdin=GOOD).stdout == JSON


def test_pretty_json_stands_on_several_lines(good: Path) -> None:
    assert run("--pretty", str(good)).stdout.startswith('{\n  "ignition": {\n    "version"')


def test_output_goes_to_a_file(good: Path, tmp_path: Path) -> None:
    result = run("-o", str(tmp_path / "a.ign"), str(good))
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "a.ign").read_text() == JSON


def test_a_check_writes_nothing(good: Path, tmp_path: Path) -> None:
    result = run("--check", "-o", str(tmp_path / "a.ign"), str(good))
    assert (result.exit_code, result.stdout) == (0, "")
    assert not (tmp_path / "a.ign").exists()


def test_a_warning_is_refused_with_its_place() -> None:
    result = run(stdin=WARNED)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "warning at $.storage.files.0.modus, line 7 col 7: unused key modus; known here: "
    )
    assert "--no-strict would let pass" in result.stderr


def test_a_warning_may_pass() -> None:
    result = run("--no-strict", stdin=WARNED)
    assert result.exit_code == 0
    assert '"mode":420' in result.stdout
    assert result.stderr.startswith("warning at $.storage.files.0.modus, line 7 col 7: ")


def test_an_error_is_refused_even_where_warnings_may_pass() -> None:
    result = run("--no-strict", stdin=f"{HEADER}storage: {{files: [{{path: a}}]}}\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(
        'error at $.storage.files.0.path, line 3 col 26: "a" is not absolute\n'
    )


def test_a_document_that_is_no_yaml_is_refused_with_its_line() -> None:
    result = run(stdin=f"{HEADER}storage: [")
    assert result.exit_code == 1
    assert "line 4" in result.stderr


def test_local_files_are_embedded_from_the_directory_alone(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    body = f"{HEADER}storage: {{files: [{{path: /a, contents: {{local: NAME}}}}]}}\n"
    inside = run("--files-dir", str(tmp_path), stdin=body.replace("NAME", "text"))
    assert '"source":"data:,hello"' in inside.stdout
    outside = run("-d", str(tmp_path), stdin=body.replace("NAME", "../text"))
    assert (outside.exit_code, outside.stdout) == (1, "")
    assert "leads out of the directory" in outside.stderr
    without = run(stdin=body.replace("NAME", "text"))
    assert "--files-dir" in without.stderr


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    result = run(str(tmp_path / "none.bu"))
    assert result.exit_code == 1
    assert result.stderr.startswith(f"failed to read {tmp_path}/none.bu: ")


def test_two_files_are_a_wrong_call(good: Path) -> None:
    assert run(str(good), str(good)).exit_code == 2
