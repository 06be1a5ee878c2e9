"""A control plane with Metal3's kinds, a hall of DGX in it, and what keeps both moving."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.control_plane import Launcher, Programs
from rehearsal.metal3_admission import refuse_as_metal3
from rehearsal.processes import Processes
from rehearsal.providers.kubernetes.readiness import install_crds
from tests.support.rehearsal.hall import Hall
from toolchain.build import ensure


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory, toolchain: None) -> Iterator[Hall]:
    folder = tmp_path_factory.mktemp("hall")
    tools = ensure(console=None)
    processes = Processes(folder)
    launcher = Launcher(
        directory=folder,
        processes=processes,
        programs=Programs.of(tools),
        environment=dict(os.environ),
    )
    try:
        made = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
        install_crds(made.api, tools.crds / "metal3")
        refuse_as_metal3(made.api)
        yield Hall(api=made.api, kubeconfig=made.kubeconfig.read_text(), directory=folder)
    finally:
        processes.stop()


@pytest.fixture
def hall(control_plane: Hall, tmp_path: Path) -> Iterator[Hall]:
    """An empty hall; whatever a test leaves in it goes."""
    control_plane.clear()
    yield control_plane
    control_plane.clear()
