"""The runbook of lakeFS: its names are the program's, and its order loses nothing."""

import re
from typing import Any

from components.platform.lakefs.storage import BUCKET_ACTIONS, KEPT_DAYS, OBJECT_ACTIONS
from components.platform.lakefs.values import Serving
from settings import SECRETS
from tests.conftest import ROOT
from tests.support.environments import resources
from tests.support.recorder import Registered, named

PAGE = (ROOT / "docs" / "runbooks" / "lakefs.md").read_text()
LINES: list[str] = [
    line.strip()
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def made(kind: str, name: str) -> Registered:
    return named(list(resources("research")), kind)[name]


def line(start: str) -> str:
    """The first command that starts so."""
    return next(each for each in LINES if each.startswith(start))


def test_no_password_is_on_a_command_line() -> None:
    for each in LINES:
        assert not re.search(r"://[^ ]*:[^ ]*@|PGPASSWORD|--password", each)


def test_names_are_those_that_the_program_gives() -> None:
    bucket = str(made("Bucket", "lakefs-store-bucket").inputs["bucket"])
    calls = [each for each in LINES if "--bucket" in each]
    assert len(calls) == 2
    assert all(f"--bucket {bucket} " in each for each in calls)
    release: Any = made("Release", "lakefs-server-release").inputs
    assert release["values"]["fullnameOverride"] == "lakefs", "the name of the Deployment"
    for each in LINES:
        if each.startswith("kubectl"):
            assert each.startswith(f"kubectl --namespace {release['namespace']} ")
    assert line("pulumi config").split()[4] == "gpu-fleet:lakefs_database"
    assert "lakefs_database" in SECRETS
    assert "lakefs_auth_encrypt_key" in SECRETS
    assert "`gpu-fleet:lakefs_auth_encrypt_key`" in PAGE


def test_as_many_servers_are_started_as_the_program_wants() -> None:
    scaled = [each for each in LINES if " scale deployment lakefs " in each]
    assert [each.split()[-1] for each in scaled] == ["0", str(Serving().replicas)]


def test_a_backup_is_older_than_the_bucket_and_never_older_than_s3_keeps_what_was_deleted() -> None:
    assert f"for {KEPT_DAYS} days (`KEPT_DAYS`)" in PAGE
    assert f"for {KEPT_DAYS} days at most" in PAGE
    order = ["--replicas 0", "pg_restore --host", "list-object-versions", "--replicas 2"]
    places = [next(at for at, each in enumerate(LINES) if text in each) for text in order]
    assert places == sorted(places)


def test_the_key_of_lakefs_can_do_none_of_the_restore() -> None:
    assert not {"s3:DeleteObjectVersion", "s3:ListBucketVersions"} & {
        *OBJECT_ACTIONS,
        *BUCKET_ACTIONS,
    }
