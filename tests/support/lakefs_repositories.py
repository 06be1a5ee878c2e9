"""A repository as the program declares it, and as it stands in the state."""

from typing import Any

import pytest

from lakefs.repository import DataRepository
from lakefs.resources.repository import RepositoryProvider
from tests.support.lakefs_ground import Ground

PROVIDER = RepositoryProvider()


@pytest.fixture
def declared(ground: Ground) -> dict[str, Any]:
    """What the program says of a repository that is not there yet."""
    return {
        **ground.properties,
        "name": ground.new_name(),
        "storage_namespace": ground.new_namespace(),
        "default_branch": "main",
        "read_only": False,
        "adopt": False,
        "delete_with_data": False,
    }


@pytest.fixture
def state(declared: dict[str, Any]) -> dict[str, Any]:
    """What is in the state after `pulumi up`."""
    outputs = PROVIDER.create(declared).outs
    assert outputs is not None
    return outputs


def held(ground: Ground, state: dict[str, Any]) -> DataRepository:
    return DataRepository(ground.lakefs, state["name"])
