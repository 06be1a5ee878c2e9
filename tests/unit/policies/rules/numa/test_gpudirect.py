"""The rule on pools and pods between whose GPUs and network cards something is missing."""

from typing import Any

import pytest

from ignition.plan.tuning import Tuning
from policies.language.facts import Pool
from policies.rules.numa.gpudirect import RULE
from tests.support import rule_facts
from tests.support.policies import gpu_pods, shipped_pools
from tests.support.policies.gpu_pods import KINDS, gpu_container, on
from tests.support.policies.shipped_pools import (
    Edit,
    argument,
    edited,
    file,
    pool,
    unit,
    without_argument,
)

SYSEXTS = "/etc/flatcar/enabled-sysext.conf"
SERVE = rule_facts.pool("serve")
POOLS = (
    rule_facts.pool(rdma="rdma/rails"),
    rule_facts.pool("burst", rdma="vpc.amazonaws.com/efa"),
    SERVE,
)
ROCE = rule_facts.pool("ether", rdma="rdma/rails", rdma_on_host=True)
NEEDS = (
    "must ask for GPUs and for a device of rdma/ or vpc.amazonaws.com/efa, which GPUDirect RDMA "
    "needs."
)
RAILS = {"rdma/rails": 8}


def said(hardware: str, *edits: Edit, tuning: Tuning | None = None) -> list[str]:
    found = edited(pool(hardware, tuning=tuning), *edits)
    told = shipped_pools.told(RULE, found)
    return [each.removeprefix("gpu:pools:BareMetalPool 'p' must ") for each in told]


def pods(manifest: gpu_pods.Object, *pools: Pool) -> list[str]:
    return gpu_pods.told(RULE, manifest, *pools)


def declared(*containers: gpu_pods.Object, value: str = "rdma", **spec: Any) -> gpu_pods.Object:
    found = gpu_pods.pod(*containers, **spec)
    found["metadata"]["annotations"] = {"fleet.gpu/gpudirect": value}
    return found


@pytest.mark.parametrize("hardware", ["dgx-h200", "p5e.48xlarge", "gex44", "ccx33"])
def test_rendered_boot_data_has_all_that_gpudirect_needs(hardware: str) -> None:
    assert said(hardware, tuning=Tuning(housekeeping_cores_per_numa_node=1)) == []


def test_closed_kernel_modules_are_refused() -> None:
    closed = file(SYSEXTS, "nvidia-drivers-570\n")

    assert said("dgx-h200", closed) == [
        "have a driver with open kernel modules (…-open), which GPUDirect RDMA needs."
    ]
    assert said("gex44", closed) == [], "it has no network card with RDMA"


def test_a_limit_on_locked_memory_is_refused() -> None:
    limited = unit("containerd.service", dropins=[{"name": "1.conf", "contents": "[Service]\n"}])

    for machine in ("dgx-h200", "p5e.48xlarge"):
        assert said(machine, limited) == [
            "set LimitMEMLOCK=infinity for containerd.service, which GPUDirect RDMA needs."
        ]


def test_an_iommu_that_translates_is_refused_on_bare_metal() -> None:
    translating = without_argument("iommu=pt")

    assert said("dgx-h200", translating) == [
        "have the kernel argument iommu=pt, which GPUDirect RDMA needs."
    ]
    assert said("dgx-h200", translating, argument("iommu.passthrough=1")) == []
    assert said("p5e.48xlarge") == [], "the host of a guest has the IOMMU"


@pytest.mark.parametrize("iommu", ["off", "vfio"])
def test_a_pool_may_have_its_iommu_off_or_for_guests(iommu: str) -> None:
    tuning = Tuning(iommu=iommu)  # type: ignore[arg-type]  # one of its texts

    assert said("dgx-h200", tuning=tuning) == []


def test_a_pod_with_gpus_and_rails_on_a_pool_with_rdma_passes() -> None:
    efa = gpu_container(**{"vpc.amazonaws.com/efa": 16})
    assert pods(declared(gpu_container(**RAILS), **on("dgx")), *POOLS) == []
    assert pods(declared(efa, **on("burst")), *POOLS) == []
    assert pods(declared(gpu_container(**RAILS)), *POOLS) == [], "some pool has it"
    assert pods(declared(gpu_container(**RAILS), **on("elsewhere")), *POOLS) == []


@pytest.mark.parametrize(
    "asked", [gpu_container(), gpu_pods.container(limits=RAILS), gpu_container(**{"rdma/rails": 0})]
)
def test_a_pod_without_gpus_or_rails_is_refused(asked: gpu_pods.Object) -> None:
    assert pods(declared(asked, **on("dgx")), *POOLS) == [f"Pod 'p' {NEEDS}"]


def test_a_pod_asks_for_the_device_that_its_pool_offers() -> None:
    efa = gpu_container(**{"vpc.amazonaws.com/efa": 16})
    says = "Pod 'p' must ask for {} on pool '{}'."

    assert pods(declared(efa, **on("dgx")), *POOLS) == [says.format("rdma/rails", "dgx")]
    assert pods(declared(gpu_container(**RAILS), **on("burst")), *POOLS) == [
        says.format("vpc.amazonaws.com/efa", "burst")
    ]
    assert pods(declared(gpu_container(**{"rdma/hca": 1})), *POOLS) == [
        "Pod 'p' must ask for rdma/rails on pool 'dgx' or vpc.amazonaws.com/efa on pool 'burst'."
    ]


def test_a_pool_without_rdma_is_refused_with_the_price_of_tcp() -> None:
    must = (
        "Pod 'p' must ask for a pool with GPUs and RDMA (gangs that talk TCP reached 3 GB/s of an "
        "all-reduce in place of 489), which pool 'serve' is not."
    )

    assert pods(declared(gpu_container(**RAILS), **on("serve")), *POOLS) == [must]
    assert pods(declared(gpu_container(**RAILS)), SERVE) == [must]


def test_another_kind_of_gpudirect_is_not_known() -> None:
    must = "Pod 'p' must have rdma in its annotation fleet.gpu/gpudirect."

    assert pods(declared(gpu_container(**RAILS), value="tcp")) == [must]


def test_gpudirect_storage_is_refused_with_its_reason() -> None:
    (told,) = pods(declared(gpu_container(**RAILS), value="storage"))
    assert told == (
        "Pod 'p' must not have storage in its annotation fleet.gpu/gpudirect: GPUDirect Storage "
        "needs the module nvidia-fs, which Flatcar has not; cuFile works without, through the "
        "host's memory."
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_pod_that_declares_nothing_is_left_alone(kind: str) -> None:
    assert pods(KINDS[kind]({"containers": [gpu_container()], **on("serve")}), *POOLS) == []


def test_who_counts_on_roce_is_told_that_it_needs_the_hosts_network() -> None:
    asks = gpu_container(**RAILS)
    assert pods(declared(asks), ROCE) == [
        (
            "Pod 'p' must use the host's network, in a namespace outside the queues, for RoCE on "
            "pool 'ether'."
        )
    ]
    assert pods(declared(asks, hostNetwork=True), ROCE) == []
    assert pods(declared(asks), ROCE, POOLS[0]) == [], "some pool that is open to it will do"
