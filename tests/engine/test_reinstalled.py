"""What `fleet reinstall` has written stays under the real engine, whatever an update changes."""

from collections.abc import Callable
from typing import Any

from fleet.reinstall.machine import Machine
from fleet.reinstall.target import target_of
from kube.client import client
from policies.environment import load
from tests.engine.conftest import Change, Trial
from tests.engine.test_leaving import without_lakefs
from tests.engine.test_preview import previewed, unchanged

NAME = "dev-dgx-01"
ELSEWHERE = "https://mirror.fleet.example/flatcar/4593.2.5/flatcar_production_openstack_image.img"


def from_elsewhere(config: dict[str, Any]) -> None:
    config["gpu-fleet:pools"]["dgx"]["image"]["url"] = ELSEWHERE


def replanned(config: dict[str, Any]) -> None:
    config["gpu-fleet:pools"]["dgx"]["tuning"]["hugepages_1gi_per_numa_node"] = 32


def test_no_update_reverts_the_image_of_a_machine(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(without_lakefs)
    trial.up()
    assert dict(previewed(trial, from_elsewhere).pools) == {}, "an update reinstalls nothing"
    settings = load(trial.engine.stack_file).settings
    cluster = client((trial.engine.directory / "kubeconfig").read_text())
    machine = Machine(
        client=cluster, target=target_of(settings, "dgx"), name=NAME, tell=lambda _line: None
    )
    # what the command writes, without the waits between
    for phase, image in (("drain", {}), ("wipe", {"image": None})):
        machine._mark(phase, **image)  # type: ignore[arg-type]  # a phase each
    machine._mark("install", image=machine.target.image)
    machine._mark(None)

    assert dict(previewed(trial, unchanged).pools) == {}
    previewed(trial, replanned)
    trial.up()

    spec, other = (
        Machine(client=cluster, target=machine.target, name=name, tell=print).host()["spec"]
        for name in (NAME, "dev-dgx-02")
    )
    assert spec["image"]["url"] == ELSEWHERE
    assert other["image"]["url"] != ELSEWHERE, "a machine that nobody reinstalled keeps its own"
    labels = machine.host().metadata
    assert labels
    assert labels.labels
    assert labels.labels["fleet.gpu/numa-plan"] != machine.target.plan, "the host was updated"
