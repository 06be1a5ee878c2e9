"""Bare-metal machines: the objects that Metal3 reads of each."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import pulumi
import pytest

from components.pools.bare_metal import (
    BareMetalPool,
    BareMetalPoolArgs,
    BmcCredentials,
    root_device_hints,
)
from components.pools.boot import PoolBoot, TunnelEnd
from hardware.catalogue import load
from ignition.boot.node import boot as boot_machine
from ignition.butane.urls import decode
from ignition.write.render import JOIN_FILE
from ignition.write.wireguard import CREDENTIAL, NETWORK
from settings import BareMetalPoolSettings, Tunnel
from settings.pools import SystemDrive
from settings.resolved import resolve
from tests.support.components.boots import IMAGE, changed, machine
from tests.support.components.boots import boot as boot_of
from tests.support.recorder import Registered, Secret, named, render


def pool(
    boot: PoolBoot | None = None, tunnels: Mapping[str, TunnelEnd] | None = None
) -> Callable[[], None]:
    def program() -> None:
        made, declared = changed(boot or boot_of("dgx-h200"), BareMetalPoolSettings, {})
        args = BareMetalPoolArgs(
            boot=made,
            pool=declared,
            bmc=BmcCredentials(
                username=pulumi.Output.secret("root"), password=pulumi.Output.secret("hunter2")
            ),
            tunnels=tunnels or {},
        )
        BareMetalPool("pool", args)

    return program


def objects(resources: list[Registered], kind: str) -> dict[str, Mapping[str, Any]]:
    """Return the objects of a kind by `metadata.name`."""
    return {
        each.inputs["metadata"]["name"]: each.inputs  # type: ignore[index]  # every object has one
        for each in named(resources, kind).values()
    }


def test_each_machine_is_a_host_with_its_own_boot_data() -> None:
    resources = render(pool())
    secrets = objects(resources, "Secret")
    for name, found in objects(resources, "BareMetalHost").items():
        spec = found["spec"]
        assert spec["userData"] == {"name": f"{name}-boot", "namespace": "metal3-pool"}
        data = secrets[spec["userData"]["name"]]["stringData"]
        assert isinstance(data, Secret), "the join token stands in it"
        assert isinstance(data.value, dict)
        machine = boot_machine(str(data.value["userData"]), load("dgx-h200"))
        assert machine.problems == ()
        assert machine.node is not None
        assert machine.node.hostname == name
        assert machine.node.capacity["nvidia.com/gpu"] == "8"


KEYS = {f"dgx-{number}": f"{number}".ljust(43, "A") + "=" for number in (1, 2)}


def behind_a_tunnel() -> None:
    """Return a program whose pool has a tunnel, with an end of it for each host."""
    ends = {
        name: TunnelEnd(address=f"10.13.0.1{name[-1]}/24", private_key=pulumi.Output.secret(key))
        for name, key in KEYS.items()
    }
    tunnel = Tunnel(
        endpoint="gateway.fleet.example:51820",
        public_key="A" * 43 + "=",
        network="10.13.0.0/24",
        networks=("10.12.0.0/16",),
    )
    pool(boot=boot_of("dgx-h200", tunnel=tunnel), tunnels=ends)()


def test_each_machine_behind_a_tunnel_boots_with_its_own_address_and_key() -> None:
    resources = render(behind_a_tunnel)
    secrets = objects(resources, "Secret")
    for name, key in KEYS.items():
        data = secrets[f"{name}-boot"]["stringData"]
        assert isinstance(data, Secret)
        assert isinstance(data.value, dict)
        text = str(data.value["userData"])
        assert boot_machine(text, load("dgx-h200")).problems == ()
        (merge,) = json.loads(text)["ignition"]["config"]["merge"]
        files = {
            each["path"]: decode(each["contents"]["source"]).decode()
            for each in json.loads(decode(merge["source"]))["storage"]["files"]
        }
        assert files[CREDENTIAL] == f"{key}\n"
        assert f"Address=10.13.0.1{name[-1]}/24" in files[NETWORK]
        assert f'"node-ip","value":"10.13.0.1{name[-1]}"' in files[JOIN_FILE]


def test_the_plain_part_of_a_pool_shows_the_gateway_and_no_key() -> None:
    (component,) = named(render(behind_a_tunnel, preview=True), "BareMetalPool").values()
    shown = str(component.inputs["ignition"])
    netdev = "/etc/systemd/network/50-wg0.netdev"
    files = {each["path"]: each for each in json.loads(shown)["storage"]["files"]}
    said = decode(files[netdev]["contents"]["source"]).decode()
    assert "AllowedIPs=10.13.0.0/24,10.12.0.0/16\nEndpoint=gateway.fleet.example:51820" in said
    assert not {CREDENTIAL, NETWORK} & files.keys()
    assert not [key for key in KEYS.values() if key in said or key in shown]


def test_a_host_is_found_through_its_bmc_and_its_network_card() -> None:
    spec = objects(render(pool()), "BareMetalHost")["dgx-1"]["spec"]
    assert spec["bmc"] == {
        "address": "redfish-virtualmedia+https://10.10.250.1/redfish/v1/Systems/1",
        "credentialsName": "bmc",
    }
    assert spec["bootMACAddress"] == "94:6d:ae:01:00:01"
    assert (spec["architecture"], spec["bootMode"], spec["online"]) == ("x86_64", "UEFI", True)


def test_a_host_is_installed_on_the_drive_with_the_serial_number_of_its_entry() -> None:
    hosts = objects(render(pool()), "BareMetalHost")
    assert [host["spec"]["rootDeviceHints"] for host in hosts.values()] == [
        {"serialNumber": "EXAMPLE-1"},
        {"serialNumber": "EXAMPLE-2"},
    ]


def test_hints_of_the_pool_have_the_names_of_the_crd() -> None:
    hints = root_device_hints(
        SystemDrive(minSizeGigabytes=900, model="MZ1L2", rotational=False),
        replace(machine(1), system_drive_serial=None, system_drive_wwn="eui.0025385b11234567"),
    )
    assert hints == {
        "minSizeGigabytes": 900,
        "model": "MZ1L2",
        "rotational": False,
        "wwn": "eui.0025385b11234567",
    }
    assert root_device_hints(SystemDrive(), replace(machine(1), system_drive_serial=None)) == {}


def test_the_image_is_checked_by_its_digest() -> None:
    spec = objects(render(pool()), "BareMetalHost")["dgx-1"]["spec"]
    assert spec["image"] == {
        "url": IMAGE.url,
        "checksum": IMAGE.sha512,
        "checksumType": "sha512",
        "format": "qcow2",
    }


def test_one_login_serves_all_bmcs_of_a_pool_and_is_secret() -> None:
    login = objects(render(pool()), "Secret")["bmc"]["stringData"]
    assert isinstance(login, Secret)
    assert login.value == {"username": "root", "password": "hunter2"}


def test_all_objects_of_a_pool_are_in_its_namespace() -> None:
    resources = render(pool())
    assert set(objects(resources, "Namespace")) == {"metal3-pool"}
    for kind in ("Secret", "BareMetalHost"):
        for found in objects(resources, kind).values():
            assert found["metadata"]["namespace"] == "metal3-pool"
            assert found["metadata"]["labels"]["fleet.gpu/hardware"] == "dgx-h200"


@pytest.mark.parametrize(("fabric", "warnings"), [("infiniband", 0), ("roce", 1), (None, 1)])
def test_machines_whose_rails_nobody_uses_are_warned_of_with_the_price(
    fabric: Any, warnings: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", lambda text, _resource: said.append(text))

    def program() -> None:
        made = boot_of("dgx-h200")
        declared = dataclasses.replace(made.pool.declared, fabric=fabric)
        there = resolve("pool", declared, load("dgx-h200"))
        pool(boot=dataclasses.replace(made, pool=there))()

    render(program)

    assert len(said) == warnings
    assert all("talk TCP: 3 GB/s of an all-reduce in place of 489" in text for text in said)


def leaving(way: Literal["deprovision", "detach"]) -> Callable[[], None]:
    def program() -> None:
        made, declared = changed(boot_of("dgx-h200"), BareMetalPoolSettings, {})
        first, *others = declared.machines
        declared = replace(declared, machines=(replace(first, leaving=way), *others))
        login = BmcCredentials(username="root", password="hunter2")
        args = BareMetalPoolArgs(boot=made, pool=declared, bmc=login, tunnels={})
        BareMetalPool("pool", args)

    return program


def test_only_a_machine_that_keeps_its_system_is_waited_for_until_metal3_lets_it_go() -> None:
    (waits,) = named(render(leaving("detach")), "HostDetached").values()
    assert waits.inputs["namespace"] == "metal3-pool"
    assert waits.inputs["host"] in objects(render(leaving("detach")), "BareMetalHost")
    assert named(render(leaving("deprovision")), "HostDetached") == {}
