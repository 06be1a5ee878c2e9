"""The kubernetes provider on a real control plane."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.control_plane import ControlPlane, Launcher, Programs
from rehearsal.processes import Processes
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import Secret
from tests.support.rehearsal.provider_engine import FakeEngine, engine
from toolchain.build import Tools, ensure


@pytest.fixture(scope="package")
def tools() -> Tools:
    return ensure(("control-plane", "kwok", "admitter", "crds"), console=None)


@pytest.fixture(scope="package")
def plane(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    directory = tmp_path_factory.mktemp("plane")
    processes = Processes(directory)
    programs = Programs.of(tools)
    launcher = Launcher(
        directory=directory, processes=processes, programs=programs, environment=dict(os.environ)
    )
    try:
        yield launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
    finally:
        processes.stop()


@pytest.fixture
def kubernetes(plane: ControlPlane, tools: Tools, tmp_path: Path) -> FakeEngine:
    made = engine(KubernetesProvider(cloud=Cloud(tmp_path), crds=tools.crds), tmp_path)
    made.configure({"kubeconfig": Secret(plane.kubeconfig.read_text())})
    return made
