"""Boot data for tests of components, made as the program makes it."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, TypeVar

import pulumi

from components.pools.boot import ClusterJoin, PoolBoot
from hardware.catalogue import load
from ignition.butane.urls import decode
from ignition.plan.tuning import Purpose, Tuning
from ignition.write.payload import data_url
from ignition.write.render import tuning_ignition
from settings import (
    AwsPoolSettings,
    BareMetalPoolSettings,
    CapacityType,
    HetznerPoolSettings,
    ImageSettings,
    MachineSettings,
    PoolSettings,
    Tunnel,
    versions,
)
from settings.node_boot import NodeVersions, node_boot
from settings.resolved import resolve

P = TypeVar("P", AwsPoolSettings, BareMetalPoolSettings, HetznerPoolSettings)
SEED = "5eed" * 16
NODE = NodeVersions(
    flatcar=versions.FLATCAR,
    kubernetes=versions.KUBERNETES,
    nvidia_driver=versions.NVIDIA_DRIVER,
    nvidia_runtime=versions.NVIDIA_RUNTIME,
    fabric_manager="https://images.fleet.example/nvidia-fabricmanager-570.195.03-x86-64.raw",
)
IMAGE = ImageSettings(
    url="https://x.example/4593.2.5/flatcar.img", sha512="cd" * 64, format="qcow2"
)


def machine(number: int) -> MachineSettings:
    """Return the bare-metal machine `dgx-<number>`."""
    return MachineSettings(
        name=f"dgx-{number}",
        bmc_address=f"redfish-virtualmedia+https://10.10.250.{number}/redfish/v1/Systems/1",
        boot_mac_address=f"94:6d:ae:01:00:0{number}",
        system_drive_serial=f"EXAMPLE-{number}",
    )


def declared(machine_type: str, purpose: Purpose, tuning: Tuning) -> PoolSettings:
    """Return a pool with this hardware as a stack file declares it."""
    hardware = load(machine_type)
    common: dict[str, Any] = {
        "kind": hardware.kind,
        "site": "here",
        "hardware": machine_type,
        "purpose": purpose,
        "tuning": tuning,
    }
    match hardware.kind:
        case "aws":
            limits: dict[CapacityType, int] = {"reserved": 8, "spot": 16}
            return AwsPoolSettings(**common, gpu_limits=limits, consolidate_after_minutes=10)
        case "hetzner":
            return HetznerPoolSettings(**common, nodes=3)
        case _:
            common["kind"] = "bare-metal"  # also of machines of which nobody can make a pool yet
            return BareMetalPoolSettings(**common, image=IMAGE, machines=(machine(1), machine(2)))


def boot(
    machine_type: str,
    *,
    purpose: Purpose = "training",
    tuning: Tuning | None = None,
    tunnel: Tunnel | None = None,
) -> PoolBoot:
    """Return the boot of a pool; call it inside the program, because its seed is an Output."""
    said = declared(machine_type, purpose, Tuning() if tuning is None else tuning)
    pool = resolve("pool", said, load(machine_type))
    return PoolBoot(
        cluster=ClusterJoin(
            name="fleet-test",
            endpoint="api.fleet.example:6443",
            ca_cert_hash="sha256:" + "ab" * 32,
            seed=pulumi.Output.secret(SEED),
        ),
        pool=pool,
        flatcar=NODE.flatcar,
        ignition=tuning_ignition(node_boot(pool, NODE, tunnel)),
    )


def changed(made: PoolBoot, kind: type[P], changes: Mapping[str, Any]) -> tuple[PoolBoot, P]:
    """Return the boot of a pool with changed fields, and the declared pool."""
    declared = made.pool.declared
    assert isinstance(declared, kind)
    other: P = dataclasses.replace(declared, **changes)
    return dataclasses.replace(made, pool=dataclasses.replace(made.pool, declared=other)), other


def shortened(made: PoolBoot) -> PoolBoot:
    """Return boot data without plan.json, its longest file: it fits the user data of EC2."""
    config = json.loads(made.ignition)
    files = config["storage"]["files"]
    config["storage"]["files"] = [each for each in files if each["path"] != "/etc/fleet/plan.json"]
    return dataclasses.replace(made, ignition=json.dumps(config, separators=(",", ":")))


def lengthened(short: PoolBoot, comment: str) -> PoolBoot:
    """Return the boot with a long comment in a file that a program on the node reads."""
    config = json.loads(short.ignition)
    (file,) = (f for f in config["storage"]["files"] if f["path"].startswith("/etc/sysctl.d/"))
    text = decode(file["contents"]["source"]).decode()
    file["contents"]["source"] = data_url(f"{text}# {comment}\n")
    return dataclasses.replace(short, ignition=json.dumps(config))
