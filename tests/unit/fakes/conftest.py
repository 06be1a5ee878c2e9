"""The fixtures of every test that needs a lakeFS server, and a repository on it."""

import pytest

from tests.fakes.lakefs.ground import Ground, fake, ground
from workloads.lakefs.repository import DataRepository

__all__ = ["fake", "ground"]


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    return ground.new_repository()
