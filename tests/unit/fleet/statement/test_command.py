"""`fleet statement`: from the last rehearsal to what another checkout takes."""

import json
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner, Result

from fleet.cli import statement
from fleet.cli.main import app
from rehearsal import source
from rehearsal.report import Chart, Report
from rehearsal.statement import statement as stated
from rehearsal.workspace import Workspace
from tests.conftest import ROOT
from tests.support.rehearsal.checkouts import committed
from tests.unit.fleet.statement.test_verifying import pem, public

PASSED = Report(
    environment="dev",
    passed=True,
    charts_not_rehearsed=(
        Chart(name="volcano", chart="volcano", version="1.14.1", kinds_installed=True),
    ),
)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose stack file lists a key, and the key beside it."""
    root, key = tmp_path / "checkout", Ed25519PrivateKey.generate()
    (root / "stacks").mkdir(parents=True)
    stack_file = root / "stacks" / "Pulumi.dev.yaml"
    shutil.copy(ROOT / "stacks" / "Pulumi.dev.yaml", stack_file)
    listed = f"  gpu-fleet:rehearsal: {{keys: {{platform: {public(key)}}}}}\n"
    stack_file.write_text(stack_file.read_text() + listed)
    (root / ".gitignore").write_text(".rehearsal/\n")
    (tmp_path / "key.pem").write_bytes(pem(key, "hunter2"))
    committed(root)
    monkeypatch.setattr(statement, "ROOT", root)
    monkeypatch.setenv("FLEET_KEY_PASSPHRASE", "hunter2")
    return root


def rehearsed(root: Path, **changes: Any) -> Workspace:
    """Leaves what a rehearsal leaves."""
    workspace = Workspace(root=root, environment="dev")
    workspace.directory.mkdir(parents=True)
    digest = sha256((root / "stacks" / "Pulumi.dev.yaml").read_bytes()).hexdigest()
    ended = replace(PASSED, stack_file_sha256=digest, **changes)
    workspace.statement.write_text(json.dumps(stated(ended, source.read(root), {})))
    return workspace


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["statement", *map(str, words)])


def test_what_is_signed_here_is_taken_there(checkout: Path) -> None:
    workspace, commit = rehearsed(checkout), source.read(checkout).commit
    done = run("sign", "dev", "--key", checkout.parent / "key.pem")
    assert (done.exit_code, done.stdout) == (0, f"Wrote {workspace.signed_statement}.\n")
    done = run("verify", "dev", workspace.signed_statement, "--commit", commit)
    assert done.exit_code == 0, done.output
    assert f"dev was rehearsed at {commit}, signed by platform: it passed" in done.stdout
    assert "Not rehearsed: chart volcano 1.14.1: only its CRDs are installed" in done.stdout
    done = run("verify", "dev", workspace.signed_statement, "--commit", "0" * 40)
    assert done.exit_code == 1
    assert f"It was made for commit {commit}, and {'0' * 40} is wanted." in done.stderr


def test_an_unsigned_one_needs_the_word_that_it_is_of_this_run(
    checkout: Path,
) -> None:
    workspace, commit = rehearsed(checkout), source.read(checkout).commit
    words = ("verify", "dev", workspace.statement, "--commit", commit)
    assert run(*words).exit_code == 1
    done = run(*words, "--from-this-run")
    assert (done.exit_code, "of this workflow run" in done.stdout) == (0, True)


def test_nobody_signs_what_no_one_would_take(checkout: Path) -> None:
    words = ("sign", "dev", "--key", checkout.parent / "key.pem")
    assert "`fleet rehearse dev` makes one." in run(*words).stderr
    workspace = rehearsed(checkout, passed=False, problems=("A port is open.",))
    assert "The rehearsal of dev failed: A port is open." in run(*words).stderr
    shutil.rmtree(workspace.directory)
    (checkout / "edited").write_text("1")
    rehearsed(checkout)
    done = run(*words)
    assert (done.exit_code, "changes that no commit has" in done.stderr) == (2, True)
    assert not workspace.signed_statement.exists()


def test_the_passphrase_is_asked_for_where_no_variable_has_it(
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rehearsed(checkout)
    words = ("sign", "dev", "--key", checkout.parent / "key.pem")
    monkeypatch.setenv("FLEET_KEY_PASSPHRASE", "wrong")
    assert "The passphrase does not open the key." in run(*words).stderr
    monkeypatch.delenv("FLEET_KEY_PASSPHRASE")
    asked: list[str] = []

    def ask(text: str) -> str:
        asked.append(text)
        return "hunter2"

    monkeypatch.setattr("getpass.getpass", ask)
    key = checkout.parent / "key.pem"
    told = run(*words)
    assert (told.exit_code, asked) == (2, [])
    assert (
        f"{key} is encrypted, and nobody can be asked here: set FLEET_KEY_PASSPHRASE."
        in " ".join(told.stderr.split())
    )
    monkeypatch.setattr("fleet.statement.command.on_a_terminal", lambda: True)
    assert run(*words).exit_code == 0
    assert asked == [f"Passphrase of {checkout.parent / 'key.pem'}: "]


@pytest.mark.parametrize("text", [b"{", b"{}", b"[]", b'{"predicate": {}}', b"\xff"])
def test_a_statement_that_is_damaged_is_not_signed(checkout: Path, text: bytes) -> None:
    workspace = rehearsed(checkout)
    workspace.statement.write_bytes(text)
    done = run("sign", "dev", "--key", checkout.parent / "key.pem")
    told = " ".join(done.stderr.split())
    assert done.exit_code == 2
    assert told.startswith(
        f"{workspace.statement} cannot be signed; `fleet rehearse dev` makes it anew."
    )


def test_a_failure_without_a_reason_is_not_signed(checkout: Path) -> None:
    rehearsed(checkout, passed=False, problems=())
    done = run("sign", "dev", "--key", checkout.parent / "key.pem")
    assert (done.exit_code, "failed: nothing says why" in done.stderr) == (2, True)


def test_rules_that_are_advisory_are_not_counted_as_held(checkout: Path) -> None:
    workspace, commit = rehearsed(checkout), source.read(checkout).commit
    stated = json.loads(workspace.statement.read_text())
    stated["predicate"]["rules"] = {"a/b": "held", "a/c": "advisory", "a/d": "exempt"}
    workspace.statement.write_text(json.dumps(stated))
    done = run("verify", "dev", workspace.statement, "--commit", commit, "--from-this-run")
    assert "it passed, 1 of 3 rules hold." in done.stdout


@pytest.mark.parametrize("commit", ["HEAD", "", "1f2e"])
def test_a_commit_that_is_not_in_full_is_refused(checkout: Path, commit: str) -> None:
    workspace = rehearsed(checkout)
    done = run("verify", "dev", workspace.statement, "--commit", commit)
    assert done.exit_code == 2
    assert f'--commit is "{commit}"; allowed: the 40 digits that' in done.stderr


@pytest.mark.parametrize("content", [b"\xff\xfe", b"{"])
def test_a_file_that_is_no_json_has_no_statement(checkout: Path, content: bytes) -> None:
    file = checkout.parent / "file"
    file.write_bytes(content)
    done = run("verify", "dev", file, "--commit", "1" * 40)
    assert done.exit_code == 2
    assert f"{file} is not JSON" in done.stderr
