"""One control plane with the kinds of all objects in the table; each module has it without rules.

The controllers and the scheduler run, too: the garbage collector is what deletes in the foreground.
"""

import os
from collections.abc import Iterator

import pytest

from rehearsal.control_plane import ControlPlane, Launcher, Programs
from rehearsal.processes import Processes
from tests.support.admission.server import Server
from toolchain.build import ensure


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    tools = ensure(("control-plane", "kwok", "admitter"), console=None)
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


@pytest.fixture(scope="session")
def plane(control_plane: ControlPlane) -> Server:
    crds = ensure(("crds",), console=None).crds
    found = Server(api=control_plane.api)
    found.install_kinds([crds / each for each in ("karpenter", "volcano", "cilium")])
    return found


@pytest.fixture(scope="module")
def server(plane: Server) -> Iterator[Server]:
    """The API server; the rules that a module installs are gone behind it."""
    yield plane
    plane.forget_rules()
