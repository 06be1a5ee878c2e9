"""What a machine becomes that boots: its Node, and how the parts of its boot data meet."""

import dataclasses
import json

import pytest

from hardware.catalogue import load
from ignition.boot.node import BootedNode, boot
from ignition.write.render import tuning_ignition, with_merge
from tests.support.ignition.nodes import PURPOSE_OF, node, user_data

GIB = 1024**3


def booted(name: str) -> BootedNode:
    result = boot(user_data(node(name)), load(name))
    assert result.problems == ()
    assert result.node is not None
    return result.node


def test_a_dgx_becomes_a_node_with_what_is_left_of_it() -> None:
    dgx = booted("dgx-h200")
    assert dgx.capacity == {
        "cpu": "224",
        "memory": f"{2048 * GIB // 1024}Ki",
        "ephemeral-storage": f"{1788 * GIB // 1024}Ki",
        "pods": "110",
        "hugepages-2Mi": "0",
        "hugepages-1Gi": "64Gi",
        "nvidia.com/gpu": "8",
    }
    assert dgx.allocatable["cpu"] == str(224 - 16)
    assert dgx.allocatable["memory"] == f"{(2048 - 13 - 64) * GIB // 1024}Ki"
    assert dgx.allocatable["ephemeral-storage"] == str(1788 * GIB - 1788 * GIB // 10)
    assert dgx.allocatable["nvidia.com/gpu"] == "8"


def test_a_node_bears_the_labels_taints_and_name_of_its_boot_data() -> None:
    p5e = booted("p5e.48xlarge")
    assert p5e.labels == dict(sorted(node("p5e.48xlarge").labels.items()))
    assert p5e.taints == (
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
    )
    assert p5e.hostname == "node-01"


def test_cpu_sets_are_those_of_the_plan() -> None:
    dgx, planned = booted("dgx-h200"), node("dgx-h200").plan
    assert (dgx.housekeeping_cpus, dgx.workload_cpus) == (planned.housekeeping, planned.workload)


def test_hugepages_are_counted_on_each_numa_node() -> None:
    assert booted("p5e.48xlarge").hugepages == {
        "hugepages-1Gi": (16, 16),
        "hugepages-2Mi": (2564, 2564),
    }


def test_a_machine_without_gpus_offers_none() -> None:
    ccx = booted("ccx33")
    assert "nvidia.com/gpu" not in ccx.capacity
    assert ccx.taints == ()
    assert ccx.allocatable["cpu"] == "6"


def test_what_ignition_decided_is_named() -> None:
    assert "capacity.hugepages-1Gi" in booted("dgx-h200").decided_by_ignition
    assert "allocatable.cpu" in booted("dgx-h200").decided_by_ignition
    assert "capacity.hugepages-1Gi" not in booted("ccx33").decided_by_ignition


@pytest.mark.parametrize("name", PURPOSE_OF)
def test_the_plain_part_alone_joins_nothing(name: str) -> None:
    result = boot(tuning_ignition(node(name)), load(name))
    assert result.node is None
    assert result.problems == (
        "/etc/kubernetes/join.yaml is not written, so kubeadm cannot join; merge the secret part",
    )


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("#cloud-config", "the user data is not JSON"),
        ("[]", "the user data has no ignition section"),
        ('{"variant":"flatcar"}', "give Ignition JSON, not Butane"),
        ('{"ignition":{"version":"2.3.0"}}', 'has ignition.version "2.3.0"'),
        ('{"ignition":{"version":"3.5.0"}}', "sure to read 3.0.0 to 3.4.0"),
        ('{"ignition":{"version":"3.4.0"},"storage":{"files":[{}]}}', 'the path ""'),
        ('{"ignition":{"version":"3.4.0"},"storage":[]}', "storage must be a JSON object"),
        ('{"ignition":{"version":"3.4.0"},"systemd":{"units":[1]}}', "a list of JSON objects"),
        ('{"ignition":{"version":"3.4.0","config":{"merge":[{"source":"data:x"}]}}}', "no comma"),
        (
            '{"ignition":{"version":"3.4.0","config":{"replace":{"source":"data:,x"}}}}',
            "a merged configuration is not JSON",
        ),
    ],
)
def test_what_ignition_would_not_read_is_one_sentence(config: str, says: str) -> None:
    result = boot(config, load("ccx33"))
    assert len(result.problems) == 1
    assert says in result.problems[0]


def test_a_configuration_that_merges_itself_is_refused() -> None:
    config = with_merge(tuning_ignition(node("ccx33")), "s3://a/b")
    result = boot(config, load("ccx33"), fetch=lambda _: config.encode())
    assert result.problems == ("ignition.config.merge refers to itself; break the circle",)


def test_boot_data_of_another_machine_is_refused() -> None:
    problems = boot(user_data(node("dgx-h200")), load("p5e.48xlarge")).problems
    assert any("irqaffinity names CPUs" in problem or "SMT" in problem for problem in problems)
    assert any("hardware=dgx-h200 stands on a p5e.48xlarge" in problem for problem in problems)


def test_gpu_boot_data_on_a_machine_without_gpus_is_refused() -> None:
    problems = boot(user_data(node("dgx-h200")), load("ccx33")).problems
    assert any("has no GPU; remove nvidia-drivers-570-open" in problem for problem in problems)


def test_a_gpu_extension_on_arm_is_refused() -> None:
    grace = dataclasses.replace(load("dgx-h200"), arch="arm64")
    problems = boot(user_data(node("dgx-h200")), grace).problems
    assert any("is built for amd64 alone, not for arm64" in problem for problem in problems)


def test_the_intel_iommu_on_an_amd_machine_is_refused() -> None:
    amd = dataclasses.replace(load("dgx-h200"), cpu_vendor="amd")
    problems = boot(user_data(node("dgx-h200")), amd).problems
    assert any('"intel_iommu=on" does nothing on amd' in problem for problem in problems)


def test_a_percentage_of_memory_is_reserved_where_no_manager_sums_it() -> None:
    of = node("ccx33")
    kubelet = {**of.plan.kubelet}
    kubelet["evictionHard"] = {**of.plan.kubelet["evictionHard"], "memory.available": "25%"}  # type: ignore[dict-item]  # a mapping by its own tests
    of = dataclasses.replace(of, plan=dataclasses.replace(of.plan, kubelet=kubelet))
    result = boot(user_data(of), of.hardware)
    assert result.node is not None
    assert result.node.allocatable["memory"] == f"{(32 - 8 - 2) * GIB // 1024}Ki"


def test_a_key_that_ignition_does_not_know_is_named() -> None:
    config = json.loads(user_data(node("ccx33")))
    config["networkd"] = {}
    config["storage"]["files"][0]["Contents"] = {}
    problems = boot(json.dumps(config), load("ccx33")).problems
    assert set(problems) == {
        "networkd is no key of Ignition 3.4, which passes over it; remove it",
        "storage.files.Contents is no key of Ignition 3.4, which passes over it; write contents",
    }
