"""A cluster in memory for each test."""

from collections.abc import Iterator

import pytest

from tests.support.kube_server import KubeServer, serving


@pytest.fixture
def cluster() -> Iterator[KubeServer]:
    with serving() as found:
        yield found
