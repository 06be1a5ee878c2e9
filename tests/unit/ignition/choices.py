"""Boot data of every machine of the catalogue that can be a node, by purpose, tuning and role."""

import dataclasses
from collections.abc import Iterator
from itertools import product

from hardware.hardware import Hardware, load, names
from ignition.numa_plan import plan
from ignition.render import NodeBoot
from ignition.tuning import PURPOSES, Purpose, Tuning
from tests.unit.ignition.mutants.bases import Base
from tests.unit.ignition.nodes import FABRIC_MANAGER, GPU, UNREGISTERED, user_data

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


def boot_data(hardware: Hardware, purpose: Purpose, tuning: Tuning) -> str:
    """The whole boot data of a machine in a pool."""
    planned = plan(hardware, tuning, purpose)
    gpu = bool(hardware.gpus)
    taints = (*((GPU,) if gpu else ()), *((UNREGISTERED,) if hardware.kind == "aws" else ()))
    of = NodeBoot(
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
        kubernetes_version="1.34.1",
        nvidia_driver="570-open" if gpu else None,
        nvidia_runtime="v1.18.1" if gpu else None,
        fabric_manager=FABRIC_MANAGER if hardware.nvswitch else None,
    )
    return user_data(of)


def choices(tunings: tuple[str, ...] = tuple(TUNINGS)) -> Iterator[Base]:
    """Each machine with each purpose and each of the tunings, as far as it can carry it."""
    for name, purpose, tuning in product(names(), PURPOSES, tunings):
        hardware = load(name)
        text = boot_data(hardware, purpose, _fitting(TUNINGS[tuning], hardware))
        yield Base(f"{name} {purpose} {tuning}", hardware, text)


def _fitting(tuning: Tuning, hardware: Hardware) -> Tuning:
    """The tuning without what a machine of this kind cannot have."""
    if not hardware.gpus:
        tuning = dataclasses.replace(tuning, extra_module_options=(), largest_pod_gpus=None)
    if hardware.virtual:
        tuning = dataclasses.replace(tuning, iommu="passthrough", power="default")
    return tuning
