"""A cluster in which Karpenter rents machines of dev's pool `burst`."""

from collections.abc import Iterator

import pytest

from tests.support.rehearsal.renting import Ground, renting


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with renting(tmp_path_factory.mktemp("karpenter")) as ground:
        yield ground
