"""The fixtures of every test that needs a lakeFS server, and a repository on it."""

import pytest

from lakefs.repository import DataRepository
from tests.support.lakefs_ground import Ground, fake, ground

__all__ = ["fake", "ground"]


@pytest.fixture
def repository(ground: Ground) -> DataRepository:
    return ground.new_repository()
