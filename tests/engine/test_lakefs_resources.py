"""The resources inside lakeFS under the real Pulumi engine, against the fake server."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lakefs.fake.model import Model
from lakefs.fake.server import FakeLakefs, serving
from lakefs.repository import DataRepository
from tests.conftest import ROOT
from tests.support.lakefs_ground import on_fake
from toolchain.build import ensure

KEY_ID = "AKIANEVERINCLEAR"


SECRET = "never-in-clear-5f1e0c"


PROGRAM = """\
import json, pathlib, pulumi
from lakefs.resources.administrator import Administrator, AdministratorArgs
from lakefs.resources.connection import Connection
from components.platform.lakefs.governed_repository import (
    GovernedRepository, GovernedRepositoryArgs,
)
from lakefs.resources.repository import Repository, RepositoryArgs

declared = json.loads(pathlib.Path("declared.json").read_text())
config = pulumi.Config()
connection = Connection(
    endpoint=declared["endpoint"],
    access_key_id=config.require_secret("lakefs_access_key_id"),
    secret_access_key=config.require_secret("lakefs_secret_access_key"),
)
administrator = Administrator("admin", AdministratorArgs(connection=connection))
GovernedRepository(
    "bt",
    GovernedRepositoryArgs(
        connection=connection,
        repository="backtests",
        storage_namespace=declared["storage_namespace"],
        required=declared["required"],
        adopt=declared["adopt"],
        delete_with_data=declared["delete_with_data"],
    ),
    pulumi.ResourceOptions(depends_on=[administrator]),
)
if declared["look_up"]:
    found = Repository(
        "found",
        RepositoryArgs(connection=connection, name="found", storage_namespace="s3://unread"),
        pulumi.ResourceOptions(id=declared["look_up"]),
    )
    pulumi.export("found", found.storage_namespace)
"""


SETTINGS = "config: {'pulumi:disable-default-providers': [kubernetes, aws, hcloud]}\n"


@dataclass(kw_only=True)
class Stack:
    """A stack of the program above, with its state in a folder."""

    folder: Path
    pulumi: Path
    fake: FakeLakefs
    declared: dict[str, Any] = field(default_factory=dict)

    def run(self, *arguments: str, feed: str | None = None, fails: bool = False) -> str:
        """Runs pulumi and returns all that it prints."""
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PULUMI_", "AWS_"))},
            "PATH": os.pathsep.join(
                [str(self.pulumi.parent), str(python_folder()), "/usr/bin:/bin"]
            ),
            "VIRTUAL_ENV": str(python_folder().parent),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_CONFIG_PASSPHRASE": "of a test",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "1",
        }
        done = subprocess.run(
            [self.pulumi, *arguments, "--stack=test", "--non-interactive", "--color=never"],
            cwd=self.folder,
            env=environment,
            input=feed,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = done.stdout + done.stderr
        assert (done.returncode != 0) is fails, printed
        return printed

    def declare(self, **changes: Any) -> None:
        self.declared |= changes
        (self.folder / "declared.json").write_text(json.dumps(self.declared))

    def up(self, *, fails: bool = False) -> str:
        return self.run("up", "--yes", "--skip-preview", "--diff", fails=fails)

    def unprotect(self) -> None:
        """Say what `fleet destroy --lift` says."""
        self.run("state", "unprotect", "--all", "--yes")

    def refresh(self, *, fails: bool = False) -> str:
        return self.run("refresh", "--yes", "--skip-preview", "--diff", fails=fails)

    def repository(self) -> DataRepository:
        return DataRepository(on_fake(self.fake).lakefs, "backtests")

    def on_disk(self) -> str:
        """Everything that Pulumi has written: state, history, configuration, logs."""
        return "\n".join(
            path.read_text(errors="replace")
            for path in self.folder.rglob("*")
            if path.is_file() and "plugins" not in path.parts
        )


def python_folder() -> Path:
    return ROOT / ".venv" / "bin"


CHECK = "_lakefs_actions/merge-check.yaml"


@pytest.fixture(scope="session")
def pulumi() -> Path:
    """The engine with its language host beside it."""
    return ensure(("pulumi",), console=None).path("pulumi")


@pytest.fixture(scope="session")
def prepared(pulumi: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty stack with its secrets, for each test to copy: its commands take a second each."""
    folder = tmp_path_factory.mktemp("prepared")
    (folder / "state").mkdir()
    (folder / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    (folder / "Pulumi.test.yaml").write_text(SETTINGS)
    (folder / "__main__.py").write_text(PROGRAM)
    with serving(Model(access_key_id="", secret_access_key="")) as fake:
        stack = Stack(folder=folder, pulumi=pulumi, fake=fake)
        stack.run("stack", "init")
        stack.run("config", "set", "--secret", "lakefs_access_key_id", feed=KEY_ID)
        stack.run("config", "set", "--secret", "lakefs_secret_access_key", feed=SECRET)
    return folder


@pytest.fixture
def stack(pulumi: Path, prepared: Path, tmp_path: Path) -> Iterator[Stack]:
    """A stack on a server that nobody has set up yet."""
    folder = shutil.copytree(prepared, tmp_path / "stack")
    model = Model(access_key_id="", secret_access_key="", initialized=False)
    with serving(model) as fake:
        made = Stack(folder=folder, pulumi=pulumi, fake=fake)
        made.declare(
            endpoint=fake.endpoint,
            storage_namespace="s3://bucket/backtests",
            required=["team"],
            adopt=False,
            delete_with_data=False,
            look_up=None,
        )
        yield made


def test_a_preview_creates_nothing_and_up_all_of_it_once(stack: Stack) -> None:
    stack.run("preview")
    assert not stack.fake.requests
    assert "+ 6 created" in stack.up()
    assert stack.fake.model.repositories["backtests"].protection == ("main",)
    assert "6 unchanged" in stack.up()
    assert "6 unchanged" in stack.refresh()


def test_no_key_is_in_clear_anywhere(stack: Stack) -> None:
    printed = stack.run("preview", "--diff") + stack.up() + stack.refresh()
    stack.declare(required=["team", "seed"])
    printed += stack.run("preview", "--diff", "--json") + stack.up()
    stack.fake.model.secret_access_key = "changed-on-the-server"
    printed += stack.refresh(fails=True)
    for where in (printed, stack.on_disk(), stack.run("stack", "export")):
        assert "backtests" in where
        assert SECRET not in where
        assert KEY_ID not in where


@pytest.mark.slow
def test_drift_shows_at_refresh_and_is_undone_by_up(stack: Stack) -> None:
    stack.up()
    repository = stack.fake.model.repositories["backtests"]
    repository.protection = ("somewhere-else",)
    assert '"main" => "somewhere-else"' in stack.refresh()
    assert "~ 1 updated" in stack.up()
    assert repository.protection == ("main",)


def test_a_change_is_an_update_in_place(stack: Stack) -> None:
    stack.up()
    before = stack.repository().head("main")
    stack.declare(required=["team", "experiment"])
    assert "~ 1 updated" in stack.up()
    check = stack.repository().read(stack.repository().head("main"), CHECK).decode()
    assert "experiment" in check
    assert before != stack.repository().head("main")


@pytest.mark.slow
def test_rotated_keys_are_an_update_of_everything_and_of_no_data(stack: Stack) -> None:
    stack.up()
    head = stack.repository().head("main")
    stack.fake.model.secret_access_key = "rotated"
    stack.run("config", "set", "--secret", "lakefs_secret_access_key", feed="rotated")
    assert "~ 4 updated" in stack.up()
    assert stack.repository().head("main") == head
    assert "6 unchanged" in stack.refresh()


def test_a_refusal_is_a_sentence_without_a_traceback(stack: Stack) -> None:
    stack.up()
    stack.fake.model.secret_access_key = "changed-on-the-server"
    printed = stack.refresh(fails=True)
    assert "did not read repository 'backtests'" in printed
    assert "check the access key id and the secret access key (HTTP 401)." in printed
    assert "__main__.py" not in printed


@pytest.mark.slow
def test_what_is_there_already_is_adopted_when_that_is_said(stack: Stack) -> None:
    stack.up()
    stack.repository().open_branch("bt-20261121-0a1b2c3d", stack.repository().head("main"))
    head = stack.repository().head("main")
    administrator = "urn:pulumi:test::gpu-fleet::pulumi-python:dynamic/lakefs:Administrator::admin"
    stack.run("state", "delete", "--yes", "--force", "--target-dependents", administrator)
    assert "set adopt to take it over" in stack.up(fails=True)
    stack.declare(adopt=True)
    stack.up()
    assert stack.repository().head("main") == head
    assert "bt-20261121-0a1b2c3d" in stack.fake.model.repositories["backtests"].branches
    assert "6 unchanged" in stack.up()


@pytest.mark.slow
def test_a_repository_of_another_stack_is_read_by_its_name(stack: Stack) -> None:
    stack.up()
    stack.declare(look_up="backtests")
    assert '"s3://bucket/backtests"' in stack.up()


def test_a_protected_repository_survives_destroy_with_its_protection(stack: Stack) -> None:
    stack.up()
    assert "it is protected" in stack.run("destroy", "--yes", "--skip-preview", fails=True)
    stack.up()
    stack.repository().open_branch("ticks", stack.repository().head("main"))
    stack.repository().upload("ticks", "2026-11-23.csv", b"1")
    stack.unprotect()
    printed = stack.run("destroy", "--yes", "--skip-preview", fails=True)
    assert "is not deleted: it holds '2026-11-23.csv' on branch 'ticks'" in printed
    repository = stack.fake.model.repositories["backtests"]
    assert repository.protection == ("main",)
    assert stack.repository().read(stack.repository().head("main"), CHECK)
    stack.up()
    assert "6 unchanged" in stack.up()


def test_destroy_takes_what_the_program_alone_has_filled(stack: Stack) -> None:
    stack.up()
    stack.unprotect()
    stack.run("destroy", "--yes", "--skip-preview")
    assert not stack.fake.model.repositories


def test_destroy_takes_all_of_it_once_that_was_said(stack: Stack) -> None:
    stack.up()
    stack.repository().open_branch("ticks", stack.repository().head("main"))
    stack.repository().upload("ticks", "2026-11-23.csv", b"1")
    stack.declare(delete_with_data=True)
    stack.up()
    stack.unprotect()
    stack.run("destroy", "--yes", "--skip-preview")
    assert not stack.fake.model.repositories


def test_a_replacement_that_would_lose_data_stops_at_preview(stack: Stack) -> None:
    stack.up()
    before = len(stack.fake.requests)
    stack.unprotect()
    stack.declare(storage_namespace="s3://bucket/second")
    printed = stack.run("preview", fails=True)
    assert "must be replaced because of storage_namespace, which deletes it" in printed
    assert len(stack.fake.requests) == before
    stack.declare(storage_namespace="s3://bucket/backtests", delete_with_data=True)
    stack.up()
    stack.unprotect()
    stack.declare(storage_namespace="s3://bucket/second")
    stack.up()
    repository = stack.fake.model.repositories["backtests"]
    assert repository.storage_namespace == "s3://bucket/second"
    assert repository.protection == ("main",)


@pytest.fixture
def abandoned(pulumi: Path, prepared: Path, tmp_path: Path) -> Stack:
    """A stack whose resources are there, and whose server answers no longer."""
    folder = shutil.copytree(prepared, tmp_path / "stack")
    with serving(Model(access_key_id="", secret_access_key="", initialized=False)) as fake:
        made = Stack(folder=folder, pulumi=pulumi, fake=fake)
        made.declare(
            endpoint=fake.endpoint,
            storage_namespace="s3://bucket/backtests",
            required=["team"],
            adopt=False,
            delete_with_data=False,
            look_up=None,
        )
        made.up()
    return made


def told(verb: str, flag: str) -> list[str]:
    """The words after `pulumi` of the runbook's command with this flag, but the stack's name."""
    page = (ROOT / "docs" / "runbooks" / "lakefs.md").read_text()
    lines = [line.strip() for line in page.splitlines()]
    (found,) = [each for each in lines if each.startswith(f"pulumi {verb} ") and flag in each]
    words = shlex.split(found)[1:]
    stack = words.index("--stack")
    return words[:stack] + words[stack + 2 :]


def test_an_update_goes_on_while_lakefs_is_away_as_the_runbook_says(abandoned: Stack) -> None:
    yes = ("--yes", "--skip-preview")
    assert "gave no answer" in abandoned.refresh(fails=True)
    assert "gave no answer" in abandoned.run("up", *yes, "--refresh", fails=True)
    assert "6 unchanged" in abandoned.up()
    abandoned.run(*told("refresh", "--exclude"), *yes)
    abandoned.run(*told("up", "--exclude"), *yes)
    assert "6 unchanged" in abandoned.up()


def test_the_runbook_has_what_is_inside_lakefs_read_and_nothing_else(stack: Stack) -> None:
    stack.up()
    stack.fake.model.repositories["backtests"].protection = ("somewhere-else",)
    printed = stack.run(*told("refresh", "--target"), "--yes", "--skip-preview", "--diff")
    assert '"main" => "somewhere-else"' in printed
