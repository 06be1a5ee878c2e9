"""Boot data for component tests, made as the program makes it."""

import dataclasses
import json

import pulumi

from components.pools.boot import (
    ClusterJoin,
    NodeVersions,
    PoolBoot,
    node_boot,
    node_labels,
)
from hardware.catalogue import load
from ignition.butane.resources import decode
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Purpose, Tuning
from ignition.write.payload import data_url
from ignition.write.render import tuning_ignition
from ignition.write.wireguard import WireGuard
from settings import versions
from settings.gpu_sharing import GpuSharing

TOKEN = "abcdef.0123456789abcdef"
NODE = NodeVersions(
    flatcar=versions.FLATCAR,
    kubernetes=versions.KUBERNETES,
    nvidia_driver=versions.NVIDIA_DRIVER,
    nvidia_runtime=versions.NVIDIA_RUNTIME,
    fabric_manager="https://images.fleet.example/nvidia-fabricmanager-570.211.01-x86-64.raw",
)


def boot(
    machine: str,
    *,
    purpose: Purpose = "training",
    tuning: Tuning | None = None,
    wireguard: WireGuard | None = None,
) -> PoolBoot:
    """The boot of a pool called `pool`; call it inside the program, its token is an Output."""
    hardware = load(machine)
    chosen = Tuning() if tuning is None else tuning
    numa = plan(hardware, chosen, purpose)
    sharing = GpuSharing() if hardware.gpu_count else None
    labels = node_labels("here", "pool", numa, sharing)
    return PoolBoot(
        cluster=ClusterJoin(
            name="fleet-test",
            endpoint="api.fleet.example:6443",
            ca_cert_hash="sha256:" + "ab" * 32,
            token=pulumi.Output.secret(TOKEN),
        ),
        site="here",
        pool="pool",
        hardware=hardware,
        plan=numa,
        tuning=chosen,
        flatcar=NODE.flatcar,
        ignition=tuning_ignition(
            dataclasses.replace(node_boot(hardware, numa, labels, NODE), wireguard=wireguard)
        ),
        sharing=sharing,
    )


def lengthened(short: PoolBoot, comment: str) -> PoolBoot:
    """The same boot with a long comment in a file that something on the node reads."""
    config = json.loads(short.ignition)
    (file,) = (f for f in config["storage"]["files"] if f["path"].startswith("/etc/sysctl.d/"))
    text = decode(file["contents"]["source"]).decode()
    file["contents"]["source"] = data_url(f"{text}# {comment}\n")
    return dataclasses.replace(short, ignition=json.dumps(config))
