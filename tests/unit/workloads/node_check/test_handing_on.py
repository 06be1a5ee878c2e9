"""What the findings become: metrics, the node's condition and its taint."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.workloads.dgx_tree import PLAN
from workloads.node_check import metrics
from workloads.node_check.__main__ import arguments, confirmed, hand_on
from workloads.node_check.drift import Drift
from workloads.node_check.node_api import MESSAGE_CHARACTERS, condition, taint_patch
from workloads.node_check.plan import PlanFileError, parse

NOW, BEFORE = "2026-11-21T12:00:00Z", "2026-11-20T08:00:00Z"
OTHERS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
OURS = {"key": "fleet.gpu/drift", "value": "sysctl", "effect": "NoSchedule"}


def drift(check: str = "sysctl", **changed: Any) -> Drift:
    given = {"what": "It", "seen": "so", "expected": "otherwise", "remedy": "act", **changed}
    return Drift(check=check, **given)


def node(*taints: dict[str, str], **known: str) -> dict[str, Any]:
    conditions = [{"type": "Ready", "status": "True"}]
    if known:
        conditions.append({"type": "NodeDrift", **known})
    return {
        "metadata": {"name": "dgx-01", "resourceVersion": "42"},
        "spec": {"taints": [*taints]},
        "status": {"conditions": conditions},
    }


def test_metrics_count_the_drifts_of_each_check() -> None:
    found = [drift(), drift(), drift("fabric", critical=True)]
    lines = metrics.exposition(parse(json.dumps(PLAN)), found, 1795262400.4).splitlines()
    assert [line for line in lines if not line.startswith("#")] == [
        "fleet_node_check_timestamp_seconds 1795262400",
        'fleet_node_check_plan_info{hardware="dgx-h200",purpose="training",numa_plan="8c1f02aa"} 1',
        'fleet_node_check_drift{check="fabric",level="critical"} 1',
        'fleet_node_check_drift{check="sysctl",level="warning"} 2',
        "fleet_node_check_drifts 3",
    ]


def test_a_figure_that_is_not_verified_is_counted_apart() -> None:
    found = [drift(), drift("bar1", unverified=True)]
    lines = metrics.exposition(None, found, 1795262400.4).splitlines()
    assert 'fleet_node_check_drift{check="bar1",level="unverified"} 1' in lines
    assert "fleet_node_check_drifts 1" in lines


def test_the_node_hears_of_certain_drifts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    class Recorder:
        def report(self, drifts: Any, _now: str, *, judged: bool) -> None:
            heard.append((list(drifts), judged))

    monkeypatch.setattr("workloads.node_check.__main__._api", lambda _node: Recorder())
    plan, doubted = parse(json.dumps(PLAN)), drift("bar1", unverified=True)
    assert hand_on(arguments(["--node", "dgx-01"]), plan, [doubted]) == 0
    assert hand_on(arguments(["--node", "dgx-01"]), plan, [doubted, drift()]) == 1
    assert heard == [([], True), ([drift()], True)]


def test_the_plan_of_a_machine_that_was_booted_earlier_can_still_be_read() -> None:
    later = {"absent_kernel_arguments", "unverified"}
    earlier = {key: value for key, value in PLAN.items() if key not in later}
    assert parse(json.dumps(earlier)).unverified == ()


def test_a_metrics_file_is_replaced_whole_and_everybody_may_read_it(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    metrics.write(folder, "a 1\n")
    metrics.write(folder, "a 2\n")
    (file,) = folder.iterdir()
    assert (file.name, file.read_text()) == ("fleet-node-check.prom", "a 2\n")
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_fault_that_may_settle_by_itself_counts_when_it_is_seen_twice() -> None:
    irq, slow = drift("irq-affinity", what="NIC"), drift("clocks", what="GPU 2")
    assert confirmed([drift(), irq], []) == [drift()]
    assert confirmed([irq, slow], [irq]) == [irq]
    assert confirmed([irq], [drift("irq-affinity", what="another NIC")]) == []


def test_a_condition_says_all_sentences_and_when_it_began() -> None:
    found = condition(node(status="False", lastTransitionTime=BEFORE), [drift(), drift("x")], NOW)
    assert found == {
        "type": "NodeDrift",
        "status": "True",
        "reason": "DriftFound",
        "message": "It is so, expected otherwise: act. It is so, expected otherwise: act.",
        "lastHeartbeatTime": NOW,
        "lastTransitionTime": NOW,
    }


def test_a_condition_that_stays_keeps_its_beginning() -> None:
    found = condition(node(status="True", lastTransitionTime=BEFORE), [drift()], NOW)
    assert (found["lastTransitionTime"], found["lastHeartbeatTime"]) == (BEFORE, NOW)


def test_a_machine_as_planned_says_so() -> None:
    found = condition(node(), [], NOW)
    assert (found["status"], found["message"]) == ("False", "The machine is as planned.")


def test_a_machine_without_a_plan_is_unknown() -> None:
    assert condition(node(), [drift("plan")], NOW, judged=False)["status"] == "Unknown"


def test_a_message_is_bounded() -> None:
    assert len(condition(node(), [drift()] * 200, NOW)["message"]) == MESSAGE_CHARACTERS


def test_a_taint_is_added_beside_the_others() -> None:
    assert taint_patch(node(*OTHERS), [drift()]) == {
        "metadata": {"resourceVersion": "42"},
        "spec": {"taints": [*OTHERS, OURS]},
    }


def test_a_taint_is_taken_away_alone() -> None:
    patch = taint_patch(node(OURS, *OTHERS), [])
    assert patch == {"metadata": {"resourceVersion": "42"}, "spec": {"taints": OTHERS}}


def test_a_taint_that_is_right_is_left_alone() -> None:
    assert taint_patch(node(*OTHERS), []) is None
    assert taint_patch(node(*OTHERS, OURS), [drift()]) is None


def test_a_node_whose_first_drift_changes_gets_the_new_value() -> None:
    patch = taint_patch(node(OURS), [drift("fabric")])
    assert patch is not None
    assert patch["spec"]["taints"] == [{**OURS, "value": "fabric"}]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("no JSON", "is no JSON: "),
        ("[]", "holds list, expected an object"),
        ({"cpus": {"online": "0-3"}}, "cpus.housekeeping is None, expected <class 'str'>"),
        ({"gpus": {}}, r"gpus is \{\}, expected a list"),
        ({"irqs": ["x"]}, r"irqs\[0\] is 'x', expected an object"),
        ({"kernel_arguments": [1]}, r"kernel_arguments is \[1\], expected a list of strings"),
        ({"sysctls": []}, r"sysctls is \[\], expected an object"),
        ({"cpus": {**PLAN["cpus"], "online": "3-0"}}, 'the range "3-0" ends before it begins'),
    ],
)
def test_a_plan_that_cannot_be_read_is_one_sentence(changed: Any, message: str) -> None:
    text = changed if isinstance(changed, str) else json.dumps({**PLAN, **changed})
    with pytest.raises(PlanFileError, match=message):
        parse(text)
