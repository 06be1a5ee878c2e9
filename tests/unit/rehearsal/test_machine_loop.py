"""What the loop that boots machines does with the files of their kubelets."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rehearsal import machine_loop
from rehearsal.api import Api
from rehearsal.machine_loop import MachineLoop
from rehearsal.metal3 import HOSTS
from rehearsal.nodes import ClusterNode, RequestedMachine
from tests.support.rehearsal import kubelets

NODE = "dgx-01"
KEY = f"metal3://{NODE}"


class FakeApi:
    """A cluster with one BareMetalHost, whose Node takes every change."""

    def __init__(self) -> None:
        self.status: dict[str, Any] = {}
        self.becomes("provisioned", on=True)

    def becomes(self, state: str, *, on: bool) -> None:
        self.status = {"provisioning": {"state": state}, "poweredOn": on}

    def items(self, path: str, **_query: str) -> list[dict[str, Any]]:
        paused = {"baremetalhost.metal3.io/paused": ""}  # so that the host stays as the test has it
        metadata = {"namespace": "m", "name": NODE, "uid": NODE, "annotations": paused}
        return [{"metadata": metadata, "spec": {}, "status": self.status}] if path == HOSTS else []

    def request(self, *_arguments: object, **_options: object) -> None:
        pass


class FakeRoom:
    """Boots the machine at once."""

    device_plugin, network_plugins = SimpleNamespace(), SimpleNamespace(efa=False, rdma={})

    def __init__(self, **_others: object) -> None:
        pass

    def requested(self, _known: Mapping[str, RequestedMachine]) -> list[RequestedMachine]:
        return [self.boot(None).machine]

    def boot(self, _machine: RequestedMachine | None) -> ClusterNode:
        return kubelets.machine(NODE, "gex44")


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MachineLoop:
    monkeypatch.setattr(machine_loop, "MachineBooter", FakeRoom)
    monkeypatch.setattr(machine_loop, "register", lambda *_: None)
    for node in (NODE, "other"):
        (tmp_path / "kubelets" / node).mkdir(parents=True)
    made = MachineLoop(api=cast(Api, FakeApi()), directory=tmp_path)
    made.step()
    assert made.booted[KEY]
    return made


def state_of(loop: MachineLoop) -> list[str]:
    return sorted(path.name for path in (loop.directory / "kubelets").iterdir())


def test_a_kubelet_loses_its_files_with_a_wiped_drive(loop: MachineLoop) -> None:
    assert state_of(loop) == [NODE, "other"]
    cast(FakeApi, loop.api).becomes("deprovisioning", on=True)
    loop.step()

    assert KEY not in loop.booted
    assert state_of(loop) == ["other"]


def test_a_kubelet_keeps_its_files_while_its_machine_is_off(loop: MachineLoop) -> None:
    cast(FakeApi, loop.api).becomes("provisioned", on=False)
    loop.step()

    assert KEY not in loop.booted
    assert state_of(loop) == [NODE, "other"]


def test_a_machine_that_is_wiped_while_it_is_off_loses_them(loop: MachineLoop) -> None:
    for state in ("provisioned", "deprovisioning"):
        cast(FakeApi, loop.api).becomes(state, on=False)
        loop.step()

    assert state_of(loop) == ["other"]
