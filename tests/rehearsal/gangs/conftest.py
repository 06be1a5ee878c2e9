"""One cluster with Volcano and Karpenter for all tests of this folder; each begins with nothing."""

from collections.abc import Iterator

import pytest

from components.platform.volcano import SCHEDULER
from tests.support.rehearsal.gangs import Gangs, gangs


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangs]:
    with gangs(tmp_path_factory.mktemp("gangs")) as made:
        yield made


@pytest.fixture
def fleet(cluster: Gangs) -> Gangs:
    cluster.actions(str(SCHEDULER["actions"]))
    cluster.clear()
    return cluster
