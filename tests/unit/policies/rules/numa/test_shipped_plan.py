"""The rule on pools of the program, and on such that somebody has changed by hand."""

import pytest

from hardware.catalogue import names
from ignition.plan.tuning import Tuning
from policies.rules.numa.shipped_plan import RULE
from tests.support.policies.shipped_pools import (
    Edit,
    Pool,
    argument,
    edited,
    file,
    pool,
    replaced,
    told,
    unit,
    without_argument,
)

PATCH = "/etc/kubernetes/patches/kubeletconfiguration+merge.json"
IRQ = "/opt/bin/fleet-irq"
AFFINITY = "/etc/systemd/system.conf.d/10-cpu-affinity.conf"
SERVED = "0-1,112-113 of NUMA node 0, 56-57,168-169 of NUMA node 1"
KEPT = "0-1,56-57,112-113,168-169"


@pytest.mark.parametrize("hardware", names())
def test_rendered_boot_data_is_as_its_plan_says(hardware: str) -> None:
    tuning = Tuning(housekeeping_cores_per_numa_node=1, isolation="exclusive")

    assert told(RULE, pool(hardware, "realtime", tuning=tuning)) == []


def test_every_kind_of_choice_reaches_the_plan() -> None:
    tuning = Tuning(
        housekeeping_cores_per_numa_node=4,
        hugepages_1gi_per_numa_node=64,
        irq="numa-local",
        extra_kernel_arguments=("skew_tick=1",),
    )

    assert told(RULE, pool(tuning=tuning)) == []


@pytest.mark.parametrize(
    ("edit", "must"),
    [
        (
            without_argument("irqaffinity="),
            f"have the kernel argument irqaffinity={KEPT} of its NUMA plan",
        ),
        (
            argument("isolcpus=managed_irq,4-7"),
            "not have the kernel argument isolcpus=managed_irq,4-7, which is not of its NUMA plan",
        ),
        (
            replaced(PATCH, '"cpuManagerPolicy":"static"', '"cpuManagerPolicy":"none"'),
            'set the kubelet\'s cpuManagerPolicy to "static", as its NUMA plan does',
        ),
        (
            replaced(PATCH, '"failSwapOn"', '"maxPods":500,"failSwapOn"'),
            "not set the kubelet's maxPods, which its NUMA plan does not",
        ),
        (
            file("/etc/kubernetes/patches/kubeletconfiguration1+merge.json", "{}"),
            f"patch the kubelet's configuration in {PATCH} alone",
        ),
        (
            replaced("/etc/sysconfig/kubelet", "\n", " --reserved-cpus=0\n"),
            "not give the kubelet the flag --reserved-cpus, which overrides its NUMA plan",
        ),
        (
            replaced("/etc/sysconfig/kubelet", "\n", " --config=/etc/mine.yaml\n"),
            "not give the kubelet the flag --config, which overrides its NUMA plan",
        ),
        (
            unit("kubelet.service", dropins=[{"name": "9.conf", "contents": "X --max-pods=9"}]),
            "not give the kubelet the flag --max-pods, which overrides its NUMA plan",
        ),
        (
            replaced(IRQ, '[1]="56-57,168-169"', '[1]="60-61"'),
            f"serve interrupts on CPUs {SERVED}, as its NUMA plan does",
        ),
        (
            replaced(IRQ, "/smp_affinity_list", "/affinity_hint"),
            f"serve interrupts on CPUs {SERVED}, as its NUMA plan does",
        ),
        (
            unit("fleet-irq.service", enabled=False),
            "enable fleet-irq.service, which places interrupts as its NUMA plan does",
        ),
        (
            unit("irqbalance.service", mask=False),
            "mask irqbalance.service, which would undo its NUMA plan",
        ),
        (
            replaced(AFFINITY, KEPT, "0-7"),
            f"keep the system's services on CPUs {KEPT}, as its NUMA plan does",
        ),
        (
            file("/etc/systemd/system.conf.d/99.conf", "[Manager]\nCPUAffinity=0-223\n"),
            f"keep the system's services on CPUs {KEPT}, as its NUMA plan does",
        ),
        (
            file("/etc/sysctl.d/99-mine.conf", "vm.dirty_bytes=1\n"),
            "set the sysctl vm.dirty_bytes to 17179869184, as its NUMA plan does",
        ),
    ],
)
def test_a_line_that_was_changed_by_hand_is_told(edit: Edit, must: str) -> None:
    assert told(RULE, edited(pool(), edit)) == [f"gpu:pools:BareMetalPool 'p' must {must}."]


@pytest.mark.parametrize(
    ("key", "value", "must"),
    [
        ("hardware", "dgx-h201", "name hardware of the catalogue"),
        (
            "purpose",
            "fun",
            "have a purpose of training, inference, batch, realtime and a tuning of known choices",
        ),
        (
            "tuning",
            {"turbo": True},
            "have a purpose of training, inference, batch, realtime and a tuning of known choices",
        ),
        (
            "tuning",
            {"hugepages_1gi_per_numa_node": 4096},
            "have a tuning that its hardware can carry",
        ),
        (
            "ignition",
            "variant: flatcar",
            "have Ignition that can be read without fetching anything",
        ),
    ],
)
def test_a_pool_that_cannot_be_judged_is_refused(key: str, value: object, must: str) -> None:
    found = pool()
    found["spec"][key] = value

    assert told(RULE, found) == [f"gpu:pools:BareMetalPool 'p' must {must}."]


def test_ignition_of_other_hardware_is_refused() -> None:
    found = pool()
    found["spec"]["hardware"] = "p5en.48xlarge"

    said = told(RULE, found)

    assert any("must have the kernel argument irqaffinity=0-1,48-49," in each for each in said)
    assert any("must have the numaPlan " in each for each in said)


def test_another_tuning_than_the_one_rendered_is_refused() -> None:
    found = pool()
    found["spec"]["tuning"] = {"housekeeping_cores_per_numa_node": 4}

    assert any("reservedSystemCPUs" in each for each in told(RULE, found))


def test_objects_that_are_no_pools_pass() -> None:
    assert (
        told(RULE, {"kind": "gpu:pools:AwsBootData", "metadata": {"name": "p"}, "spec": {}}) == []
    )
    assert told(RULE, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}) == []


@pytest.mark.parametrize("path", ["/oem/grub.cfg", "/usr/share/oem/grub.cfg"])
def test_kernel_arguments_beside_the_plan_are_refused(path: str) -> None:
    written = edited(pool(), file(path, 'set linux_append="isolcpus=1-9"\n'))

    assert said(written) == [
        f"not have the file {path}, which sets kernel arguments beside its NUMA plan"
    ]


def test_a_drop_in_that_lies_there_as_a_file_counts_as_one() -> None:
    path = "/etc/systemd/system/kubelet.service.d/99.conf"
    written = edited(pool(), file(path, "Environment=X=--topology-manager-policy=none\n"))

    assert said(written) == [
        "not give the kubelet the flag --topology-manager-policy, which overrides its NUMA plan"
    ]


@pytest.mark.parametrize("start", ["ExecStart=/usr/bin/true", ""])
def test_a_unit_that_no_longer_places_interrupts_is_refused(start: str) -> None:
    emptied = edited(pool(), unit("fleet-irq.service", contents=f"[Service]\n{start}\n"))

    (sentence,) = said(emptied)
    assert sentence.startswith("start /opt/bin/fleet-irq in fleet-irq.service, which places ")


@pytest.mark.parametrize("line", ["vm/dirty_bytes = 1", "-vm.dirty_bytes=1", " vm.dirty_bytes =1"])
def test_a_sysctl_is_known_however_it_is_spelled(line: str) -> None:
    written = edited(pool(), file("/etc/sysctl.d/99-mine.conf", f"; vm.dirty_bytes=2\n{line}\n"))

    assert said(written) == ["set the sysctl vm.dirty_bytes to 17179869184, as its NUMA plan does"]


def test_a_sysctl_that_no_plan_has_is_refused() -> None:
    more = "# of a guide\nvm.nr_hugepages = 64\nnet/ipv4/conf/eth0.1/rp_filter=0\n"
    written = edited(pool(), file("/etc/sysctl.d/99-mine.conf", more))

    assert said(written) == [
        f"not set the sysctl {name}, which is not of its NUMA plan"
        for name in ("net.ipv4.conf.eth0/1.rp_filter", "vm.nr_hugepages")
    ]


def said(found: Pool) -> list[str]:
    return [
        each.removeprefix("gpu:pools:BareMetalPool 'p' must ").removesuffix(".")
        for each in told(RULE, found)
    ]
