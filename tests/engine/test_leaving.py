"""A machine leaves in two updates: the real engine, a real API server, a stand-in of the rest."""

from collections.abc import Callable
from typing import Any

import pytest
from lightkube import Client

from kube import metal3, nodes
from kube.client import client
from kube.kinds import Node
from tests.engine.conftest import Change, Trial
from tests.engine.test_preview import previewed, unchanged

NAME = "dev-dgx-02"
SPACE = "metal3-dgx"
ELSEWHERE = "redfish://10.9.9.9/redfish/v1/Systems/1"


def machines(config: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = config["gpu-fleet:pools"]["dgx"]["machines"]
    return found


def without_lakefs(config: dict[str, Any]) -> None:
    """A third of the resources less, for a test that runs several updates."""
    del config["gpu-fleet:lakefs"]


def leaving(way: object, *, lakefs: bool = True) -> Change:
    def change(config: dict[str, Any]) -> None:
        machines(config)[1]["leaving"] = way
        if not lakefs:
            without_lakefs(config)

    return change


def staying(config: dict[str, Any]) -> None:
    del machines(config)[1]["leaving"]


def gone(config: dict[str, Any]) -> None:
    del machines(config)[1]
    config["gpu-fleet:teams"]["research"]["queues"]["research"]["gpus"] = 8


def moved(config: dict[str, Any]) -> None:
    machines(config)[0]["bmc_address"] = ELSEWHERE


def moved_back_and_gone(config: dict[str, Any]) -> None:
    machines(config)[0]["bmc_address"] = str(machines(config)[1]["bmc_address"]).replace(
        ".12/", ".11/"
    )
    gone(config)


def cluster(trial: Trial) -> Client:
    return client((trial.engine.directory / "kubeconfig").read_text())


def node(trial: Trial) -> Node | None:
    return nodes.find(cluster(trial), NAME)


def cordoned(trial: Trial) -> bool:
    found = node(trial)
    assert found
    assert found.spec
    return bool(found.spec.unschedulable)


def protected(trial: Trial) -> list[bool]:
    hosts = [each for each in trial.state() if each["type"].endswith(":BareMetalHost")]
    return [bool(each.get("protect")) for each in sorted(hosts, key=lambda host: host["urn"])]


def test_a_machine_is_drained_first_and_never_goes_unasked(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(without_lakefs)
    trial.up()
    assert protected(trial) == [True, True]

    refused = previewed(trial, gone)

    assert not refused.holds
    (told,) = refused.errors
    assert told == (
        f"{NAME} is a machine whose entry is gone, and it has not left: put the entry "
        "back with `leaving: true` (or `leaving: detach`), update, and take it out with the next "
        "update. The first update drains the machine, the second gives it away. A pool or a site "
        "with a new name needs `was:` with the first one."
    )

    def back(config: dict[str, Any]) -> None:
        first = machines(config)[0]
        second = {key: str(value).replace("01", "02") for key, value in first.items()}
        second["bmc_address"] = str(first["bmc_address"]).replace(".11/", ".12/")
        second["boot_mac_address"] = str(first["boot_mac_address"]).replace("00:01", "00:02")
        machines(config).append({**second, "leaving": True})

    shown = previewed(trial, back)

    assert shown.holds, shown.errors
    (told,) = dict(shown.pools)["dgx"]
    assert told == (
        f"{NAME} leaves: its node is cordoned, and the update waits until its jobs have ended; "
        "the machine stays installed until its entry goes, then Metal3 wipes its partition tables "
        "and powers it off"
    )

    trial.up()

    assert cordoned(trial)
    assert protected(trial) == [True, False]
    assert metal3.is_there(cluster(trial), SPACE, NAME)
    assert dict(previewed(trial, unchanged).pools) == {}


@pytest.mark.slow
def test_a_machine_may_stay_after_all_or_go(twin_of_dev: Callable[[Change], Trial]) -> None:
    trial = twin_of_dev(leaving("deprovision", lakefs=False))
    trial.up()

    back = previewed(trial, staying)
    assert dict(back.pools)["dgx"] == (f"{NAME} stays: its node takes pods again",)
    trial.up()
    assert not cordoned(trial)
    assert protected(trial) == [True, True]

    previewed(trial, leaving(way=True))
    trial.up()
    going = previewed(trial, gone)
    assert going.holds, going.errors
    assert (
        f"{NAME} goes: Metal3 wipes its partition tables and powers it off"
        in dict(going.pools)["dgx"]
    )
    trial.up()
    assert not metal3.is_there(cluster(trial), SPACE, NAME)
    assert node(trial) is None
    assert protected(trial) == [True]


@pytest.mark.slow
def test_a_machine_that_keeps_its_system_goes_after_metal3_has_let_it_go(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(leaving("detach", lakefs=False))
    trial.up()
    host = metal3.find(cluster(trial), SPACE, NAME)
    assert host
    assert host["status"]["operationalStatus"] == "detached"

    refused = previewed(trial, moved)
    (told,) = refused.errors
    assert told.startswith("dev-dgx-01 has the bmc_address redfish")
    assert f"and the stack file says {ELSEWHERE}, which Metal3 refuses: " in told

    going = previewed(trial, moved_back_and_gone)
    assert going.holds, going.errors
    trial.up()
    deleted = [name for _, name in trial.asked("Delete")]
    in_order = [f"dgx-{NAME}-detached", f"dgx-{NAME}", f"dgx-{NAME}-drain"]
    assert [name for name in deleted if name in in_order] == in_order
    assert not metal3.is_there(cluster(trial), SPACE, NAME)
