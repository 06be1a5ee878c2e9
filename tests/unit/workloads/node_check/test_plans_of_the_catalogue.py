"""The check reads the plan of every machine of the catalogue, and accuses none that keeps to it.

The machine is made of the plan in the kernel's and kubeadm's own spelling; GPUs and their
interrupts have tests of their own.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from hardware.catalogue import load, names
from hardware.cpuset import parse_list
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Purpose, Tuning
from ignition.write.plan_json import expectations
from tests.support.cpu_masks import cpu_mask
from tests.support.workloads.dgx_tree import Dgx
from workloads.node_check.plan import parse

PURPOSES: tuple[Purpose, ...] = ("training", "inference")


def expected(name: str, purpose: Purpose) -> dict[str, Any]:
    """What lies on the node as /etc/fleet/plan.json."""
    hardware = load(name)
    driver = "570-open" if hardware.gpus else None
    decided = plan(hardware, Tuning(), purpose)
    found: dict[str, Any] = json.loads(
        json.dumps(expectations(hardware, decided, nvidia_driver=driver))
    )
    return found


@pytest.mark.parametrize("name", names())
def test_the_plan_of_a_machine_can_be_read_back(name: str) -> None:
    given = expected(name, "training")
    found = parse(json.dumps(given))
    assert (found.hardware, found.digest) == (name, given["digest"])
    assert [gpu.index for gpu in found.gpus] == list(range(len(load(name).gpus)))
    assert parse_list(found.cpus.online) == set().union(
        *(parse_list(node.cpus) for node in found.numa_nodes)
    )
    assert {irq.device for irq in found.irqs} <= {"gpu", "nic", "nvme"}


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("name", names())
def test_a_machine_that_is_as_its_plan_has_it_is_not_accused(
    tmp_path: Path, name: str, purpose: Purpose
) -> None:
    given = expected(name, purpose) | {"gpus": [], "irqs": [], "nvswitch": False}
    machine = Dgx(tmp_path, bare=True)
    machine.plan(**given)
    _kernel(machine, given)
    _nodes(machine, given)
    machine.write("proc/77/comm", "kubelet")
    machine.write("var/lib/kubelet/config.yaml", yaml.safe_dump({"kind": "X", **given["kubelet"]}))
    assert machine.sentences() == []


def _kernel(machine: Dgx, given: dict[str, Any]) -> None:
    machine.write("proc/cmdline", " ".join(["root=x", *given["kernel_arguments"], "console=ttyS0"]))
    for name, value in given["sysctls"].items():
        machine.write(f"proc/sys/{name.replace('.', '/')}", value.replace(" ", "\t"))
    policies = ("always", "madvise", "never")
    chosen = [f"[{each}]" if each == given["transparent_hugepages"] else each for each in policies]
    machine.write("sys/kernel/mm/transparent_hugepage/enabled", " ".join(chosen))
    machine.write("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave")
    if given["governor"]:
        machine.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", given["governor"])
    housekeeping = parse_list(given["cpus"]["housekeeping"])
    machine.write("proc/irq/default_smp_affinity", cpu_mask(housekeeping))
    machine.write("sys/devices/system/cpu/online", given["cpus"]["online"])


def _nodes(machine: Dgx, given: dict[str, Any]) -> None:
    for node in given["numa_nodes"]:
        folder = f"sys/devices/system/node/node{node['id']}"
        machine.write(f"{folder}/cpulist", node["cpus"])
        kib = int(node["memory_gib"] * 0.98 * 1024**2)
        machine.write(f"{folder}/meminfo", f"Node {node['id']} MemTotal: {kib} kB")
        for size, pages in ((1048576, node["hugepages_1gi"]), (2048, node["hugepages_2mi"])):
            machine.write(f"{folder}/hugepages/hugepages-{size}kB/nr_hugepages", str(pages))
