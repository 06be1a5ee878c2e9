"""The check reads the plan of every machine of the catalogue, as it lies on the node."""

import json

import pytest

from hardware.cpuset import parse_list
from hardware.hardware import load, names
from ignition.expectations import expectations
from ignition.numa_plan import plan
from ignition.tuning import Tuning
from workloads.node_check.plan import parse


@pytest.mark.parametrize("name", names())
def test_the_plan_of_a_machine_can_be_read_back(name: str) -> None:
    hardware = load(name)
    driver = "570-open" if hardware.gpus else None
    decided = plan(hardware, Tuning(), "training")
    found = parse(json.dumps(expectations(hardware, decided, nvidia_driver=driver)))
    assert (found.hardware, found.digest, found.driver) == (name, decided.digest, driver)
    assert [gpu.index for gpu in found.gpus] == list(range(hardware.gpu_count))
    assert parse_list(found.cpus.online) == set().union(
        *(parse_list(node.cpus) for node in found.numa_nodes)
    )
    assert {irq.device for irq in found.irqs} <= {"gpu", "nic", "nvme"}
