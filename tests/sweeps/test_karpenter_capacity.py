"""The memory that we take Karpenter to count on a machine, against the code of its AWS provider."""

import json
import subprocess
from typing import Any

import pytest

from hardware.catalogue import Hardware, load, names
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from policies.environment import load as load_environment
from policies.facts import pool_facts
from settings import stack_file
from settings.karpenter import DAEMONS_MIB, DEFAULT_OVERHEAD, node_memory_mib, reservations
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS, resources, resources_with_efa
from toolchain.build import ensure

RENTED = [name for name in names() if load(name).kind == "aws"]


def karpenter(machine: Hardware, spec: object, overhead: float) -> dict[str, Any]:
    """What Karpenter counts on a machine of the class with this spec."""
    question = {
        "type": {
            "name": machine.name,
            "arch": machine.arch,
            "vcpus": machine.cpu_count,
            "memory_mib": machine.memory_gib * 1024,
            "gpus": machine.gpu_count,
            "efa": machine.efa_interfaces,
        },
        "spec": _whole(spec),
        "overhead": overhead,
    }
    program = ensure(("karpenter-capacity",), console=None).path("karpenter-capacity")
    answer = subprocess.run(
        [program, "batch"], input=json.dumps(question), capture_output=True, text=True, check=True
    )
    found = json.loads(answer.stdout)
    assert isinstance(found, dict)
    return found


def _whole(value: Any) -> Any:
    """A value with integers in place of the floats that Pulumi's protocol makes of them."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) else value


@pytest.mark.slow
@pytest.mark.parametrize("overhead", [DEFAULT_OVERHEAD, 0.025, 0.0333])
@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("name", RENTED)
def test_we_count_as_karpenter_does(name: str, purpose: Purpose, overhead: float) -> None:
    machine = load(name)
    made = plan(machine, Tuning(housekeeping_cores_per_numa_node=3), purpose)

    found = karpenter(machine, {"amiFamily": "Custom", "kubelet": reservations(made)}, overhead)

    assert found["memory_mib"] == node_memory_mib(machine, made, overhead)
    assert found["gpus"] == machine.gpu_count


@pytest.mark.slow
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_node_pool_can_launch_every_shape_that_is_called_admissible(environment: str) -> None:
    """The class and the value of the chart are those that the program registers."""
    settings = load_environment(stack_file(ROOT, environment)).settings
    made: list[Any] = [each.inputs for each in resources(environment)]
    (release,) = (each for each in made if each.get("name") == "karpenter")
    overhead = release["values"]["settings"]["vmMemoryOverheadPercent"]
    for name, pool in settings.pools.items():
        if not pool.rented:
            continue
        (spec,) = (
            each["spec"]
            for each in made
            if each.get("kind") == "EC2NodeClass" and each["metadata"]["name"] == name
        )
        counted = karpenter(pool.hardware, spec, overhead)
        facts = pool_facts(pool, settings.versions)
        for shape in facts["shapes"]:
            assert shape["memory_mib"] + DAEMONS_MIB <= counted["memory_mib"]
            assert shape["cpus"] <= int(counted["cpu"])
        assert facts["memory_mib_per_gpu"] * counted["gpus"] <= counted["memory_mib"]


@pytest.mark.slow
def test_karpenter_counts_an_efa_interface_for_each_card() -> None:
    (spec,) = (
        each.inputs["spec"]
        for each in resources_with_efa()
        if each.inputs.get("kind") == "EC2NodeClass"
    )
    assert karpenter(load("p5e.48xlarge"), spec, 0.025)["efa"] == 32
