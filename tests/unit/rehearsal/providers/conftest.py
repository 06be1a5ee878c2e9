"""Providers of one rehearsal, attached to an engine of the tests."""

from pathlib import Path

import pytest

from rehearsal.providers.aws.package import package as aws_package
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.hcloud.package import package as hcloud_package
from rehearsal.providers.simulated import SimulatedProvider
from rehearsal.providers.values import Secret
from tests.support.rehearsal.fake_cluster import FakeCluster, FakeProvider
from tests.support.rehearsal.provider_engine import FakeEngine, engine


@pytest.fixture
def hcloud(tmp_path: Path) -> FakeEngine:
    attached = engine(SimulatedProvider(hcloud_package(), Cloud(tmp_path)), tmp_path)
    attached.configure({"token": Secret("t" * 64)})
    return attached


@pytest.fixture
def aws(tmp_path: Path) -> FakeEngine:
    attached = engine(SimulatedProvider(aws_package(), Cloud(tmp_path)), tmp_path)
    attached.configure({"region": "us-east-1", "defaultTags": '{"tags": {"team": "fleet"}}'})
    return attached


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def kubernetes(cluster: FakeCluster, tmp_path: Path) -> FakeEngine:
    attached = engine(FakeProvider(cluster=cluster, directory=tmp_path), tmp_path)
    attached.configure({})
    return attached
