"""A control plane with kwok and the kubelets' admission, without nodes."""

import os
import signal
from collections.abc import Iterator
from itertools import count

import psutil
import pytest

from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from tests.support.rehearsal.kubelets import Kubelets
from toolchain.build import ensure


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory, toolchain: None) -> Iterator[Kubelets]:
    folder = tmp_path_factory.mktemp("kubelets")
    processes = Processes(folder)
    launcher = Launcher(
        directory=folder,
        processes=processes,
        programs=Programs.of(ensure(console=None)),
        environment=dict(os.environ),
    )
    try:
        made = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")

        def restart() -> None:
            (old,) = (each for each in processes.records() if each.name == "admitter")
            os.kill(old.pid, signal.SIGKILL)
            psutil.wait_procs([psutil.Process(old.pid)])
            launcher.start_admitter(made.kubeconfig)

        yield Kubelets(api=made.api, directory=folder, restart=restart, numbers=count())
    finally:
        processes.stop()


@pytest.fixture
def kubelets(control_plane: Kubelets) -> Iterator[Kubelets]:
    yield control_plane
    control_plane.clear()
