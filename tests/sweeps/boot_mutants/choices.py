"""Boot data of every machine of the catalogue that can be a node, by purpose, tuning and role."""

import dataclasses
from collections.abc import Iterator
from itertools import product

from hardware.catalogue import Hardware, load, names
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from ignition.write.control_plane import control_plane_ignition
from ignition.write.control_plane import secret_ignition as control_plane_secret
from ignition.write.gateway import gateway_ignition
from ignition.write.gateway import secret_ignition as gateway_secret
from ignition.write.render import NodeBoot, data_url, join_ignition, tuning_ignition, with_merge
from tests.support.ignition import roles
from tests.support.ignition.nodes import FABRIC_MANAGER, GPU, UNREGISTERED, join
from tests.sweeps.boot_mutants.bases import Base

TUNINGS: dict[str, Tuning] = {
    "plain": Tuning(),
    "exclusive": Tuning(housekeeping_cores_per_numa_node=1, isolation="exclusive", realtime=True),
    "hugepages": Tuning(hugepages_1gi_per_numa_node=2, hugepages_2mi_per_numa_node=512),
    "vfio": Tuning(iommu="vfio", irq="numa-local", power="performance"),
    "odd": Tuning(
        iommu="off",
        transparent_hugepages="never",
        largest_pod_gpus=1,
        hugepages_2mi_per_numa_node=64,
        hugetlb_shm_group=1000,
        background_io_mib_per_s=200,
        extra_module_options=("NVreg_RestrictProfilingToAdminUsers=0",),
        extra_kernel_arguments=("audit=0",),
    ),
}


EFA = "https://images.fleet.example/sysext/efa-4593.2.5-x86-64.raw"
_KINDS = {"crt": "CERTIFICATE", "key": "RSA PRIVATE KEY", "pub": "PUBLIC KEY"}


def node_boot(hardware: Hardware, purpose: Purpose, tuning: Tuning, *, tunnel: bool) -> NodeBoot:
    """What a machine in a pool boots from; with a `tunnel`, one of a site without gateway."""
    planned = plan(hardware, tuning, purpose)
    gpu = bool(hardware.gpus)
    taints = (*((GPU,) if gpu else ()), *((UNREGISTERED,) if hardware.kind == "aws" else ()))
    return NodeBoot(
        hardware=hardware,
        plan=planned,
        labels={
            "fleet.gpu/site": "here",
            "fleet.gpu/pool": "pool",
            "fleet.gpu/hardware": hardware.name,
            "fleet.gpu/purpose": purpose,
            "fleet.gpu/numa-plan": planned.digest,
        },
        taints=taints,
        kubernetes_version="1.36.3",
        nvidia_driver="570-open" if gpu else None,
        nvidia_runtime="v1.18.1" if gpu else None,
        fabric_manager=FABRIC_MANAGER if hardware.nvswitch else None,
        efa=EFA if hardware.efa_interfaces else None,
        wireguard=roles.wireguard() if tunnel else None,
    )


def node_boots(tunings: tuple[str, ...] = tuple(TUNINGS)) -> Iterator[tuple[str, NodeBoot]]:
    """Each machine with each purpose and each of the tunings that fits both."""
    for name, purpose, tuning in product(names(), PURPOSES, tunings):
        if TUNINGS[tuning].isolation == "exclusive" and purpose != "realtime":
            continue
        hardware = load(name)
        fitting = _fitting(TUNINGS[tuning], hardware)
        yield (
            f"{name} {purpose} {tuning}",
            node_boot(hardware, purpose, fitting, tunnel=tuning == "odd"),
        )


def choices(tunings: tuple[str, ...] = tuple(TUNINGS)) -> Iterator[Base]:
    """The whole boot data of `node_boots`."""
    for label, node in node_boots(tunings):
        key = roles.key() if node.wireguard else None
        secret = join_ignition(dataclasses.replace(join(), wireguard_key=key))
        text = with_merge(tuning_ignition(node), data_url(secret))
        yield Base(label, node.hardware, text)


def _fitting(tuning: Tuning, hardware: Hardware) -> Tuning:
    """The tuning without what a machine of this kind cannot have."""
    if not hardware.gpus:
        tuning = dataclasses.replace(tuning, extra_module_options=(), largest_pod_gpus=None)
    if hardware.virtual:
        tuning = dataclasses.replace(tuning, iommu="passthrough", power="default")
    return tuning


def other_roles() -> Iterator[Base]:
    """Servers of the control plane, first and later, on each CPU architecture, and a gateway."""
    pki = {
        name: f"-----BEGIN {_KINDS[name[-3:]]}-----\n{name}\n-----END {_KINDS[name[-3:]]}-----\n"
        for name in roles.secrets().pki
    }
    secret = control_plane_secret(dataclasses.replace(roles.secrets(), pki=pki))
    for machine, first, disk in product(
        ("ccx33", "cax41"), (True, False), (None, roles.DATA_VOLUME)
    ):
        hardware = load(machine)
        server = roles.server(first=first, etcd=disk, arch=hardware.arch)
        text = with_merge(control_plane_ignition(server), data_url(secret))
        label = f"{machine} control plane {'first' if first else 'later'} {disk or ''}".strip()
        yield Base(label, hardware, text, "control-plane")
    text = gateway_ignition(roles.gateway())
    secret = gateway_secret(roles.key(), "gateway-1")
    yield Base("ccx33 gateway", load("ccx33"), with_merge(text, data_url(secret)), "gateway")
