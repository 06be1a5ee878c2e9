"""One cluster with Volcano and Karpenter for all tests of this folder; each begins with nothing."""

from collections.abc import Iterator

import pytest

from components.platform.volcano import SCHEDULER
from rehearsal.karpenter.launch import sell_out
from tests.support.rehearsal.gangs import GATES, Gangs, gangs


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gangs]:
    with gangs(tmp_path_factory.mktemp("gangs")) as made:
        yield made


@pytest.fixture
def fleet(cluster: Gangs) -> Gangs:
    cluster.actions(str(SCHEDULER["actions"]))
    cluster.clear()
    return cluster


@pytest.fixture
def no_spot(fleet: Gangs) -> Iterator[None]:
    """Spot machines are sold out; Karpenter remembers what was sold out until it starts anew."""
    sell_out(fleet.ground.directory, [{"capacity": "spot"}])
    yield
    sell_out(fleet.ground.directory, [])
    fleet.ground.kill()
    fleet.ground.install(**GATES)
