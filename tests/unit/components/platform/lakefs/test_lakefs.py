"""lakeFS as a whole: what waits for what, and where the objects lie."""

from collections.abc import Callable

import pytest

from components.platform.lakefs.lakefs import LakefsService, LakefsServiceArgs
from components.platform.lakefs.server import Postgres
from lakefs.resources.connection import Connection
from tests.support.recorder import Registered, named, render


def program() -> Callable[[], None]:
    def declare() -> None:
        args = LakefsServiceArgs(
            connection=Connection(
                endpoint="https://lakefs.fleet.example",
                access_key_id="AKIAADMIN",
                secret_access_key="hunter2",
            ),
            database=Postgres(connection_string="postgres://lakefs:hunter2@db.example/lakefs"),
            auth_encrypt_key="0123456789abcdef" * 4,
            bucket="fleet-dev-us-east-1-0a1b",
            region="us-east-1",
            repositories=["ticks", "backtests"],
        )
        LakefsService("lakefs", args)

    return declare


def waits_for(resource: Registered) -> set[str]:
    return {urn.rsplit("::", 1)[-1] for urn in resource.depends_on}


def test_each_repository_is_governed_and_has_a_prefix_of_its_own() -> None:
    found = named(render(program()), "Repository")
    assert {each.inputs["name"]: each.inputs["storage_namespace"] for each in found.values()} == {
        "ticks": "s3://fleet-dev-us-east-1-0a1b/ticks",
        "backtests": "s3://fleet-dev-us-east-1-0a1b/backtests",
    }
    governed = named(render(program()), "BranchProtection")
    assert set(governed) == {"lakefs-ticks-protection", "lakefs-backtests-protection"}


def test_nobody_logs_in_before_the_server_runs_and_can_write() -> None:
    (administrator,) = named(render(program()), "Administrator").values()
    wanted = {"lakefs-server-release", "lakefs-store-bucket", "lakefs-access-policy"}
    assert wanted <= waits_for(administrator)


@pytest.mark.parametrize("kind", ["Repository", "Action", "BranchProtection"])
def test_resources_inside_lakefs_come_after_its_user_and_go_before_it(kind: str) -> None:
    found = named(render(program()), kind)
    assert len(found) == 2
    for each in found.values():
        assert "lakefs-administrator" in waits_for(each)


def test_the_keys_of_the_server_open_its_own_bucket_alone() -> None:
    (policy,) = named(render(program()), "UserPolicy").values()
    assert "arn:aws:s3:::fleet-dev-us-east-1-0a1b/*" in str(policy.inputs["policy"])
    assert '"*"' not in str(policy.inputs["policy"])
