"""The program refuses an update that takes more machines than allowed, from what is deployed."""

from collections.abc import Mapping
from typing import Any

import pytest

from settings import SettingsError
from settings.names import (
    BARE_METAL_HOST,
    HOST_DETACHED,
    NODE_DRAIN,
    NODE_POOL,
    NODE_READY,
    SERVER,
)
from tests.support.environments import program, resources
from tests.support.recorder import Registered, plain, render

Deployed = list[tuple[str, Mapping[str, Any]]]
KINDS = {SERVER, BARE_METAL_HOST, NODE_POOL, NODE_DRAIN, NODE_READY}


def shown(resource: Registered) -> dict[str, Any]:
    found = plain(resource.inputs)
    assert isinstance(found, dict)
    return found


def deployed() -> Deployed:
    """The machines of prod as its program makes them, which is what the engine answers."""
    return [(each.type, shown(each)) for each in resources("prod") if each.type in KINDS]


def refused(found: Deployed) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        render(program("prod"), deployed=found)
    return caught.value.mistakes


def changed(type_: str, name: str | None = None, **changes: object) -> Deployed:
    """The same with other outputs of all resources of a type, or of the one with a name."""
    return [
        (kind, {**outputs, **changes})
        if kind == type_ and name in {None, outputs.get("name")}
        else (kind, outputs)
        for kind, outputs in deployed()
    ]


def test_an_unchanged_environment_takes_no_machine() -> None:
    render(program("prod"), deployed=deployed())


def test_another_boot_of_all_servers_is_refused_before_anything_is_registered() -> None:
    (sentence,) = refused(changed(SERVER, labels={"fleet.gpu/boot": "0123456789abcdef"}))
    assert sentence.startswith("This update replaces or deletes 9 servers (fleet-prod-cpu-1, ")
    assert "gpu-fleet:allow.replace is 1; set it to 9" in sentence


def test_one_server_may_be_replaced() -> None:
    one = changed(SERVER, "fleet-prod-cpu-3", labels={"fleet.gpu/boot": "0123456789abcdef"})
    assert one != deployed()
    render(program("prod"), deployed=one)


def test_the_servers_of_a_removed_pool_count() -> None:
    extra = [(SERVER, {"name": f"fleet-prod-old-{number}"}) for number in (1, 2)]
    (sentence,) = refused([*deployed(), *extra])
    assert "2 servers (fleet-prod-old-1, fleet-prod-old-2)" in sentence


def test_an_owned_machine_goes_only_after_it_was_drained_and_let_go() -> None:
    old = {"metadata": {"name": "dgx-17", "namespace": "metal3-dgx"}}
    found: Deployed = [*deployed(), (BARE_METAL_HOST, old)]
    (sentence,) = refused(found)
    assert sentence.startswith("dgx-17 is a machine whose entry is gone, and it has not left: put ")
    render(program("prod"), deployed=[*found, (NODE_DRAIN, {"node": "dgx-17"})])

    found += [(NODE_DRAIN, {"node": "dgx-17", "detached": True})]
    assert refused(found) == (sentence,), "Metal3 would wipe a machine that it has not detached"
    render(program("prod"), deployed=[*found, (HOST_DETACHED, {"host": "dgx-17"})])


def test_a_machine_that_is_in_another_pool_moves_by_steps_of_its_own() -> None:
    """A plain `pulumi up --skip-preview` would make a second host before the first one goes."""
    found = [
        (kind, {**outputs, "metadata": {**outputs["metadata"], "namespace": "metal3-old"}})
        if kind == BARE_METAL_HOST
        else (kind, outputs)
        for kind, outputs in deployed()
    ]
    sentences = refused(found)
    assert len(sentences) == sum(kind == BARE_METAL_HOST for kind, _ in found)
    assert all(" is a machine of the pool old, and the stack file " in each for each in sentences)


def with_host(**changes: object) -> Deployed:
    """The same where the first host is deployed with another spec."""
    found = deployed()
    at = next(number for number, (kind, _) in enumerate(found) if kind == BARE_METAL_HOST)
    outputs = found[at][1]
    found[at] = (BARE_METAL_HOST, {**outputs, "spec": {**outputs["spec"], **changes}})
    return found


def test_how_metal3_reaches_a_machine_that_has_joined_is_never_changed() -> None:
    (sentence,) = refused(with_host(bmc={"address": "redfish://10.9.9.9/a"}))
    assert " has the bmc_address redfish://10.9.9.9/a, and the stack file says " in sentence
    assert "`leaving: true`" in sentence
    (sentence,) = refused(with_host(bootMACAddress="94:6d:ae:ff:ff:ff"))
    assert " has the boot_mac_address 94:6d:ae:ff:ff:ff, and the stack file says " in sentence


def test_a_wrong_bmc_address_is_corrected_as_long_as_no_machine_has_joined_by_it() -> None:
    """Metal3 takes another one while it registers a host; it says so itself where it does not."""
    found = with_host(bmc={"address": "redfish://10.9.9.9/a"})
    render(program("prod"), deployed=[each for each in found if each[0] != NODE_READY])


def test_a_removed_node_pool_counts_with_all_machines_that_it_may_have() -> None:
    (pool, *_) = [dict(outputs) for kind, outputs in deployed() if kind == NODE_POOL]
    pool["metadata"] = {"name": "old-reserved"}
    (sentence,) = refused([*deployed(), (NODE_POOL, pool)])
    assert "drains 4 machines (old-reserved: up to 4)" in sentence
