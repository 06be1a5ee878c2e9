"""`fleet doctor`: what is missing is found, has a command, and no secret is shown."""

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from typer.testing import CliRunner

from fleet.cli import doctor
from fleet.cli.main import app
from fleet.doctor import machine
from fleet.doctor.account import AWS_VARIABLES, PASSPHRASE, of_account
from fleet.doctor.finding import Finding
from fleet.doctor.machine import of_machine
from fleet.doctor.online import of_network
from settings import load, needed_secrets, stack_file
from tests.conftest import ROOT
from toolchain.build import REHEARSAL
from toolchain.layout import Layout
from toolchain.programs import PROGRAMS


@pytest.fixture(autouse=True)
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person who has logged in nowhere; returns the home folder."""
    names = (*AWS_VARIABLES, "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE")
    pulumi = ("PULUMI_HOME", "PULUMI_BACKEND_URL", "PULUMI_ACCESS_TOKEN")
    for name in (*names, *pulumi, PASSPHRASE, f"{PASSPHRASE}_FILE"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    (root / "stacks").mkdir(parents=True)
    shutil.copy(ROOT / "stacks" / "Pulumi.dev.yaml", root / "stacks")
    shutil.copy(ROOT / "Pulumi.yaml", root)
    return root


def account(checkout: Path, environment: str | None = "dev") -> dict[str, Finding]:
    return {each.what: each for each in of_account(checkout, environment)}


def computer(layout: Layout) -> dict[str, Finding]:
    return {each.what.partition(" ")[0]: each for each in of_machine(ROOT, layout)}


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A toolchain in which nothing is built, and a PATH with nothing on it."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return Layout(home=tmp_path / "toolchain")


def test_a_machine_without_the_programs_of_a_rehearsal_is_told_to_build_them(
    empty: Layout,
) -> None:
    found = computer(empty)
    for name in REHEARSAL:
        assert found[name].missing
        assert found[name].mend == "make toolchain"
    needed = machine.REHEARSAL_GB + sum(PROGRAMS[name].disk_gb for name in REHEARSAL)
    assert f"{needed} GB needed to build what is missing and rehearse" in found["disk"].found


def test_a_fitting_program_on_path_is_as_good_as_a_built_one(empty: Layout, tmp_path: Path) -> None:
    kwok = tmp_path / "bin" / "kwok"
    kwok.write_text(f"#!/bin/sh\necho kwok version v{PROGRAMS['kwok'].version()}\n")
    kwok.chmod(0o755)
    found = computer(empty)["kwok"]
    assert not found.missing
    assert found.found == f"{PROGRAMS['kwok'].version()} on PATH: {kwok}"


def test_a_built_program_is_enough(empty: Layout) -> None:
    empty.directory(PROGRAMS["kwok"]).mkdir(parents=True)
    assert computer(empty)["kwok"].found == "built"


def test_a_full_disk_and_too_little_memory_are_told(
    empty: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 2 * 10**9))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1e9))
    found = computer(empty)
    needed = machine.REHEARSAL_GB + sum(PROGRAMS[name].disk_gb for name in REHEARSAL)
    assert found["disk"].mend.startswith(f"free {needed - 2} GB on the disk of ")
    assert found["memory"].missing


def test_a_loopback_that_does_not_answer_is_told(
    empty: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> Iterator[None]:
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr(socket, "create_server", fail)
    found = computer(empty)["loopback"]
    assert found.missing
    assert "Cannot assign requested address" in found.found


def test_somebody_without_any_account_is_told_each_command_in_turn(checkout: Path) -> None:
    found = account(checkout)
    commands = {each.what: each.mend for each in found.values() if each.missing}
    assert commands["Pulumi login"] == "pulumi login ADDRESS"
    assert commands["stack dev"] == "pulumi stack init dev"
    assert commands["passphrase"] == f"export {PASSPHRASE}_FILE=FILE"
    assert commands["AWS identity"] == "aws configure sso"
    assert [*commands][:3] == ["Pulumi login", "passphrase", "stack dev"], "as they are to be typed"
    secrets = needed_secrets(load(stack_file(checkout, "dev")))
    assert commands["secrets"].splitlines() == [
        f"pulumi config set --secret gpu-fleet:{name} --stack dev" for name in secrets
    ]


def test_without_an_environment_no_account_is_needed(checkout: Path) -> None:
    assert not any(each.missing for each in account(checkout, None).values())


def test_a_login_is_found_where_pulumi_keeps_it_and_its_secret_is_not_shown(
    checkout: Path, nobody: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nobody / ".pulumi").mkdir()
    (nobody / ".pulumi" / "credentials.json").write_text(
        json.dumps({"current": "s3://state?region=eu-central-1"})
    )
    assert account(checkout)["Pulumi login"].found == "state in s3://state"
    monkeypatch.setenv("PULUMI_BACKEND_URL", "postgres://me:hunter2@db.example/state?x=hunter2")
    assert account(checkout)["Pulumi login"].found == "state in postgres://db.example/state"


@pytest.mark.parametrize(
    ("variables", "shown", "missing"),
    [
        ({}, "not set", True),
        ({PASSPHRASE: "hunter2"}, f"{PASSPHRASE} is set", False),
        (
            {PASSPHRASE: "hunter2", f"{PASSPHRASE}_FILE": "/nowhere"},
            f"{PASSPHRASE} is set, and wins over {PASSPHRASE}_FILE",
            False,
        ),
        (
            {f"{PASSPHRASE}_FILE": "/nowhere"},
            f"{PASSPHRASE}_FILE names /nowhere, which is no file",
            True,
        ),
        ({f"{PASSPHRASE}_FILE": str(ROOT / "README.md")}, f"in {ROOT}/README.md", False),
    ],
)
def test_the_passphrase_is_found_and_never_shown(
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    shown: str,
    missing: bool,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = account(checkout)["passphrase"]
    assert (found.found, found.missing) == (shown, missing)


def test_a_stack_with_a_key_of_a_cloud_needs_no_passphrase(checkout: Path) -> None:
    path = checkout / "stacks" / "Pulumi.dev.yaml"
    path.write_text(f"secretsprovider: awskms://alias/fleet\n{path.read_text()}")
    found = account(checkout)
    assert (found["passphrase"].found, found["passphrase"].missing) == ("none: awskms", False)
    assert not found["stack dev"].missing


def test_a_secret_that_is_set_is_not_asked_for(checkout: Path) -> None:
    path = checkout / "stacks" / "Pulumi.dev.yaml"
    path.write_text(f"{path.read_text()}  gpu-fleet:kubeconfig: {{secure: v1:abc}}\n")
    found = account(checkout)["secrets"]
    assert found.found == "1 of 8 set"
    assert "kubeconfig" not in found.mend


def test_a_stack_file_with_mistakes_is_told_and_ends_what_depends_on_it(checkout: Path) -> None:
    path = checkout / "stacks" / "Pulumi.dev.yaml"
    path.write_text(path.read_text().replace("kind: hetzner, location", "kind: hetzer, location"))
    found = account(checkout)
    assert found["stack file"].mend == "fleet validate dev"
    assert "secrets" not in found


@pytest.mark.parametrize("variable", AWS_VARIABLES)
def test_aws_credentials_are_found_by_variable(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "hunter2")
    assert account(checkout)["AWS identity"].found == f"by {variable}"


def test_aws_credentials_are_found_by_file(checkout: Path, nobody: Path) -> None:
    (nobody / ".aws").mkdir()
    (nobody / ".aws" / "config").touch()
    assert account(checkout)["AWS identity"].found == f"by {nobody}/.aws/config"


def test_plugins_are_found_in_the_version_of_their_package(checkout: Path, nobody: Path) -> None:
    (what,) = (each for each in account(checkout) if each.startswith("plugin aws"))
    version = what.rpartition(" ")[2]
    assert account(checkout)[what].mend == f"pulumi plugin install resource aws v{version}"
    (nobody / ".pulumi" / "plugins" / f"resource-aws-v{version}").mkdir(parents=True)
    assert account(checkout)[what].found == "installed"


def test_an_api_server_is_asked_where_the_stack_file_says(checkout: Path) -> None:
    path = checkout / "stacks" / "Pulumi.dev.yaml"
    text = path.read_text()

    def answer(port: int) -> Finding:
        path.write_text(text.replace("api.dev.fleet.example:6443", f"localhost:{port}"))
        (found,) = (each for each in of_network(checkout, "dev") if each.what == "API server")
        return found

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert answer(port).found == f"localhost:{port} answers"
    assert answer(port).missing


def test_the_exit_code_says_if_something_is_missing_that_is_needed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Finding(purpose="look", what="Python", found="3.9.1", mend="install Python 3.11")
    optional = Finding(purpose="look", what="git", found="not there", mend="get", needed=False)
    monkeypatch.setattr(doctor, "ROOT", checkout)
    for findings, code in (([found], 1), ([optional], 0)):
        monkeypatch.setattr(machine, "of_machine", lambda *_, given=findings: iter(given))
        asked = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["doctor"])
        assert asked.exit_code == code
        above, _, _ = asked.stdout.partition("To do:")
        assert max(map(len, above.splitlines())) <= 80
    monkeypatch.setattr(machine, "of_machine", lambda *_: iter([found, optional]))
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["doctor"]).stdout
    assert "✗ For plans and checks missing: Python." in shown
    assert "\n  install Python 3.11\n  get  # optional\n" in shown
    told = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert [each["missing"] for each in told[:2]] == [True, False]


def test_commands_stay_in_one_piece_at_80_columns(checkout: Path) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, ["doctor", "dev"]).stdout
    assert (
        "\n  pulumi config set --secret gpu-fleet:lakefs_secret_access_key --stack dev\n" in shown
    )


def test_an_unknown_environment_is_refused(checkout: Path) -> None:
    asked = CliRunner().invoke(app, ["doctor", "prd"])
    assert asked.exit_code == 2
    assert 'there is no environment "prd"' in asked.stderr
