"""A control plane for each module, with the kinds of all objects in the table."""

import os
from collections.abc import Iterator
from datetime import date

import pytest

from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from tests.rehearsal.admission.server import Server
from toolchain.build import ensure

TODAY = date(2026, 11, 21)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    tools = ensure(("control-plane", "kwok", "crds"), console=None)
    directory = tmp_path_factory.mktemp("plane")
    processes = Processes(directory)
    programs = Programs(control_plane=tools.path("control-plane"), kwok=tools.path("kwok"))
    launcher = Launcher(
        directory=directory, processes=processes, programs=programs, environment=dict(os.environ)
    )
    try:
        plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
        found = Server(api=plane.api)
        found.install_kinds([tools.crds / "karpenter", tools.crds / "volcano"])
        yield found
    finally:
        processes.stop()
