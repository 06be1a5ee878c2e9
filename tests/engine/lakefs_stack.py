"""A stack of the resources inside lakeFS, and the fake server that it is on."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakefs.fake.server import FakeLakefs
from lakefs.repository import DataRepository
from tests.conftest import ROOT
from tests.support.lakefs_ground import on_fake

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
