"""Where a lakeFS test stands: on the fake, and on a real server where the environment names one.

    LAKEFS_ENDPOINT=http://127.0.0.1:8000 LAKEFS_ACCESS_KEY_ID=... LAKEFS_SECRET_ACCESS_KEY=... \\
        LAKEFS_STORAGE_NAMESPACE=local://gpu-fleet-tests pytest tests/unit/workloads

A real server keeps what the tests make: give them one of their own.
"""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from lakefs_sdk.models.repository_creation import RepositoryCreation

from lakefs.client import LakefsClient
from lakefs.fake.model import Model
from lakefs.fake.server import FakeLakefs, serving
from lakefs.repository import DataRepository

ACCESS_KEY = "AKIAFAKEFAKEFAKEFAKE"
SECRET_KEY = "cGxhaW4tdGV4dC1uZXZlci1pbi1zdGF0ZS1vci1sb2c"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A server and its keys; `new_name` and `new_namespace` are free on it."""

    endpoint: str
    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    namespaces: str

    @property
    def lakefs(self) -> LakefsClient:
        return LakefsClient(self.endpoint, self.access_key_id, self.secret_access_key)

    @property
    def properties(self) -> dict[str, str]:
        """The properties that every resource in the server has."""
        return {
            "endpoint": self.endpoint,
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
        }

    def new_name(self) -> str:
        return f"test-{uuid.uuid4().hex[:12]}"

    def new_namespace(self) -> str:
        return f"{self.namespaces}/{uuid.uuid4().hex}"

    def new_repository(self) -> DataRepository:
        """A fresh repository, straight through the API."""
        lakefs, name = self.lakefs, self.new_name()
        creation = {
            "name": name,
            "storage_namespace": self.new_namespace(),
            "default_branch": "main",
        }
        lakefs.ask(
            f"create repository {name!r}",
            lakefs.api.repositories_api.create_repository,
            RepositoryCreation.parse_obj(creation),
        )
        return DataRepository(lakefs, name)


def on_fake(fake: FakeLakefs) -> Ground:
    return Ground(
        endpoint=fake.endpoint,
        access_key_id=fake.model.access_key_id,
        secret_access_key=fake.model.secret_access_key,
        namespaces="s3://bucket",
    )


def on_real() -> Ground:
    """The server of the environment."""
    return Ground(
        endpoint=os.environ["LAKEFS_ENDPOINT"],
        access_key_id=os.environ["LAKEFS_ACCESS_KEY_ID"],
        secret_access_key=os.environ["LAKEFS_SECRET_ACCESS_KEY"],
        namespaces=os.environ.get("LAKEFS_STORAGE_NAMESPACE", "local://gpu-fleet-tests"),
    )


@pytest.fixture
def fake() -> Iterator[FakeLakefs]:
    """A fake that is set up and empty, for tests that need an accident on the way."""
    with serving(Model(access_key_id=ACCESS_KEY, secret_access_key=SECRET_KEY)) as server:
        yield server


@pytest.fixture(params=["fake", "real"] if "LAKEFS_ENDPOINT" in os.environ else ["fake"])
def ground(request: pytest.FixtureRequest) -> Ground:
    """The fake, then the real server where the environment names one."""
    if request.param == "real":
        return on_real()
    server: FakeLakefs = request.getfixturevalue("fake")
    return on_fake(server)
