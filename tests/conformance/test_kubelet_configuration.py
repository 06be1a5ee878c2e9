"""kubelet's own start-up checks, asked about what is rendered, refused and changed."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from hardware.catalogue import load
from ignition.boot import kubelet, kubelet_rules, kubelet_schema
from ignition.boot.config import BootConfig, BootFile
from ignition.boot.node import boot
from ignition.write.render import tuning_ignition
from tests.support.ignition.faults import PATCH, decoded, kubelet_and_plan, refusal
from tests.support.ignition.nodes import every_choice, node, user_data
from tests.support.kubelet_reference import Verdict, verdicts
from toolchain import kubelet_keys

Fields = Mapping[str, Any]
# of each type that a field can have: right values, wrong ones and those at a limit
VALUES: Mapping[str, tuple[Any, ...]] = {
    "bool": (True, False, "true", 1),
    "string": ("", "x", "none", "/a/b", "text", 5),
    "int32": (-2, -1, 0, 1, 2, 50, 100, 101, 70_000, 2**31, "5", 1.5),
    "int64": (-1, 0, 1, 65_536, 2**40, "x"),
    "uint32": (0, 5, -1, 2**31, 2**33),
    "float64": (0, 0.5, 1, 1.5, -1, "x"),
    "array": ([], 5, {}),
    "map": ({}, [], 5),
    "object": ({}, [], "x"),
    "duration": ("0s", "10", "10s", "1.5h", "-5s", "500ms", "200s", "2s", "100ms", "1h30m", "", 5),
    "duration or nanoseconds": ("5s", 5, "x"),
    "quantity": ("1Gi", 5, "x", "-1", "0"),
    "time": ("2020-01-01T00:00:00Z", "x"),
}
# what the computer of the test decides, not the configuration: Flatcar has control groups v2
_OF_THE_COMPUTER = ("failCgroupV1", "singleProcessOOMKill")
_STRICTER = re.compile(r"AllAlpha|AllBeta|tracing\.endpoint")

REFUSED: dict[str, Fields] = {
    "an unknown feature gate": {"featureGates": {"NotAGate": True}},
    "a gate that was removed": {"featureGates": {"CPUManager": False}},
    "a locked gate": {"featureGates": {"NodeSwap": False}},
    "a gate that is no boolean": {"featureGates": {"NodeSwap": "true"}},
    "parallel pulls one at a time": {"maxParallelImagePulls": 5, "serializeImagePulls": True},
    "no parallel pull": {"maxParallelImagePulls": 0},
    "critical pods outlast the shutdown": {
        "shutdownGracePeriod": "30s",
        "shutdownGracePeriodCriticalPods": "60s",
    },
    "a shutdown of less than a second": {"shutdownGracePeriod": "500ms"},
    "two kinds of shutdown": {
        "shutdownGracePeriod": "30s",
        "shutdownGracePeriodByPodPriority": [{"priority": 0, "shutdownGracePeriodSeconds": 10}],
    },
    "soft eviction without a time": {"evictionSoft": {"memory.available": "2Gi"}},
    "soft eviction of nothing": {"evictionSoftGracePeriod": {"memory": "1m"}},
    "eviction below zero": {"evictionMinimumReclaim": {"memory.available": "-1Gi"}},
    "images kept above what is removed": {
        "imageGCHighThresholdPercent": 70,
        "imageGCLowThresholdPercent": 80,
    },
    "images kept above the default": {"imageGCHighThresholdPercent": 75},
    "images removed before they are old": {"imageMaximumGCAge": "1m"},
    "pods below zero": {"podsPerCore": -1},
    "an invented swap behaviour": {"memorySwap": {"swapBehavior": "Foo"}},
    "a time without a unit": {"syncFrequency": "10"},
    "a time as a number": {"nodeStatusUpdateFrequency": 10},
    "a port that is none": {"readOnlyPort": 99_999},
    "a health port that is none": {"healthzPort": -1},
    "system-reserved without a cgroup": {"enforceNodeAllocatable": ["pods", "system-reserved"]},
    "kube-reserved without a cgroup": {"enforceNodeAllocatable": ["kube-reserved-compressible"]},
    "none beside pods": {"enforceNodeAllocatable": ["none", "pods"]},
    "pods without groups of their own": {"cgroupsPerQOS": False},
    "an invented hairpin": {"hairpinMode": "veth"},
    "log files that are one": {"containerLogMaxFiles": 1},
    "a log size that is none": {"containerLogMaxSize": "10 MB"},
    "an old TLS name": {"tlsMinVersion": "TLS1.2"},
    "an unknown cipher": {"tlsCipherSuites": ["TLS_NULL"]},
    "an authorisation that is gone": {"authorization": {"mode": "RBAC"}},
    "a sysctl of the host": {"allowedUnsafeSysctls": ["vm.swappiness"]},
    "a period of CPU time": {"cpuCFSQuotaPeriod": "2s"},
    "an invented format of logs": {"logging": {"format": "logfmt"}},
    "a quantity as a number": {"systemReserved": {"memory": 8}},
    "pids of a user namespace": {"userNamespaces": {"idsPerPod": 1000}},
    "run once": {"runOnce": True},
    "a gate without the one that it needs": {"featureGates": {"GangScheduling": True}},
    "an image that is too young to remove": {"imageMinimumGCAge": "-1s"},
    "memory kept without its gate": {"memoryReservationPolicy": "TieredReservation"},
    "an invented way to keep memory": {"memoryReservationPolicy": "All"},
    "a curve that nobody knows": {"tlsCurvePreferences": [1]},
    "a curve twice": {"tlsCurvePreferences": [23, 23]},
}


def rendered(of: Any) -> dict[str, Any]:
    """The kubelet configuration in the boot data of a node."""
    files = json.loads(tuning_ignition(of))["storage"]["files"]
    source = next(each["contents"]["source"] for each in files if each["path"] == PATCH)
    found: dict[str, Any] = json.loads(decoded(source))
    return found


def test_kubelet_starts_with_every_configuration_that_is_rendered() -> None:
    by_machine: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for label, each in every_choice():
        by_machine.setdefault(each.hardware.name, []).append((label, rendered(each)))
    refused: dict[str, Verdict] = {}
    for name, made in by_machine.items():
        found = verdicts([patch for _, patch in made], load(name))
        refused |= {
            label: each
            for (label, _), each in zip(made, found, strict=True)
            if each.error or each.ignored
        }
    assert sum(map(len, by_machine.values())) > 200
    assert refused == {}


@pytest.mark.parametrize("fault", REFUSED)
def test_what_kubelet_refuses_at_its_start_is_refused_before_the_boot(fault: str) -> None:
    fields = REFUSED[fault]
    assert verdicts([{**rendered(node("dgx-h200")), **fields}])[0].error
    problems = refusal(kubelet_and_plan(**fields))
    assert problems[0].startswith("kubelet: "), problems


def test_pulling_in_parallel_needs_no_second_field() -> None:
    fields = {"maxParallelImagePulls": 5}
    assert verdicts([fields])[0].error == ""
    assert judged(fields) == []


def test_a_field_that_kubelet_passes_over_is_refused() -> None:
    fields = {"logging": {"verbosty": 4}}
    found = verdicts([fields])[0]
    assert found.error == ""
    assert 'unknown field "logging.verbosty"' in found.ignored
    assert (
        "kubelet: logging.verbosty is no field of KubeletConfiguration; the nearest is "
        in "\n".join(judged(fields))
    )


def every_field() -> Iterator[dict[str, Any]]:
    """Each field with each value, alone; each feature gate on and off."""
    for place, kind in kubelet_schema.PLACES.items():
        for value in VALUES[kind]:
            made: Any = value
            for part in reversed(re.findall(r"[^.\[\]{}]+|\[\]|\{\}", place)):
                key = "memory.available" if "evict" in place else "memory"
                made = [made] if part == "[]" else {key if part == "{}" else part: made}
            yield made
    for gate in kubelet_schema.GATES:
        yield from ({"featureGates": {gate: on}} for on in (True, False))


def judged(fields: Fields) -> list[str]:
    """What the boot check says of a node's kubelet with these fields."""
    file = BootFile(path=PATCH, mode=0o644, source="data:,", text=json.dumps(fields))
    config = BootConfig(
        arguments=(),
        removed_arguments=(),
        files={PATCH: file},
        directories={},
        links={},
        units={},
        storage={},
    )
    problems: list[str] = []
    kubelet.check(config, PATCH.rpartition("/")[0], load("ccx33"), problems, worker=False)
    return problems


def test_nothing_that_kubelet_refuses_passes_the_boot_check_and_the_rules_refuse_no_more() -> None:
    cases = [each for each in every_field() if not each.keys() & set(_OF_THE_COMPUTER)]
    assert len(cases) > 1_500
    too_lax, too_strict = [], []
    for fields, verdict in zip(cases, verdicts(cases), strict=True):
        kept, wrong = kubelet_schema.objects(fields)
        rules = [*wrong, *kubelet_rules.problems(kept)]
        if verdict.error and not judged(fields):
            too_lax.append((fields, verdict.error))
        if rules and not verdict.error and not _STRICTER.search(rules[0]):
            too_strict.append((fields, rules))
    assert too_lax == []
    assert too_strict == []


def of_the_managers(patch: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes to what the CPU, memory and Topology Manager start with."""
    memory = patch["reservedMemory"]
    for cpus in ("", "0", "0-223", "300", "0-3,56-59", "3-0", "a"):
        yield {"reservedSystemCPUs": cpus}
    for reserved in ("4095Mi", "4097Mi", "0", "4Gi", "3000Gi", "4096"):
        yield {"kubeReserved": {"memory": reserved}}
        yield {"systemReserved": {"memory": reserved}}
    yield from ({"systemReserved": {name: "1Gi"}} for name in ("ram", "hugepages-1Gi", "cpu"))
    yield from ({"evictionHard": {"memory.available": each}} for each in ("2Gi", "10%", "0", "x"))
    yield from ({"reservedMemory": each} for each in ([], memory[:1], [*memory, memory[0]]))
    for limits in ({"memory": "6655Mi"}, {"hugepages-1Gi": "1Gi"}, {"ram": "6656Mi"}, {}):
        yield {"reservedMemory": [{**memory[0], "limits": limits}, memory[1]]}
    yield {"reservedMemory": [{**memory[0], "numaNode": 7}, memory[1]]}
    for options in ({"full-pcpus-only": "yes"}, {"align-by-socket": "true"}, {"x": "true"}):
        yield {"cpuManagerPolicyOptions": options}
    for name, policy in (
        ("cpu", "none"),
        ("cpu", "Static"),
        ("memory", "static"),
        ("topology", "x"),
    ):
        yield {f"{name}ManagerPolicy": policy}
    yield from (
        {"topologyManagerPolicyOptions": each}
        for each in ({"max-allowable-numa-nodes": "x"}, {"x": "true"}, {"prefer-closest": "1"})
    )


def test_a_machine_on_which_a_manager_of_kubelet_does_not_start_is_refused() -> None:
    hardware, patch = load("dgx-h200"), rendered(node("dgx-h200"))
    changes = list(of_the_managers(patch))
    found = verdicts([{**patch, **each} for each in changes], hardware)
    refused = [each for each, verdict in zip(changes, found, strict=True) if verdict.error]
    assert len(refused) >= len(changes) // 2
    for fields in refused:
        assert refusal(kubelet_and_plan(**fields)), fields


def test_the_gates_and_fields_in_the_project_are_those_of_the_pinned_kubelet() -> None:
    assert kubelet_keys.TARGET.read_text() == kubelet_keys.text()


def test_the_boot_data_of_the_table_boots_without_the_faults() -> None:
    assert boot(user_data(node("dgx-h200")), load("dgx-h200")).problems == ()
