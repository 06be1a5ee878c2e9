"""Each alert of a rule, and of an exemption, in the real promtool: what sets it off or not."""

from dataclasses import dataclass

import pytest
import yaml

from policies.configuration import configure
from policies.gates.alerts import ENDED, manifest
from policies.rules import ALL
from tests.support.monitoring.exporters import Series, steady
from tests.support.monitoring.kube_state_metrics import Pod
from tests.support.monitoring.promtool import Fires, Promtool
from tests.support.monitoring.situations import TRAIN, dgx, series, train
from tests.support.rule_facts import pool

RULES = configure(
    {
        "facts": {
            "pools": [
                pool("near", reserved_until="1970-01-03"),
                pool("far", reserved_until="1970-01-31"),
            ]
        },
        "cost/capacity-block": {"notice_days": 7},
        "cost/daily-budget": {"usd_per_day": 1000},
        "idle/gpu-node-pool": {
            "exemptions": [
                {
                    "resource": f"NodePool/{name}",
                    "owner": "research",
                    "reason": "images of 20 GB",
                    "until": until,
                }
                for name, until in (("old", "1969-12-31"), ("new", "1970-01-01"))
            ]
        },
    }
)
TEXT = yaml.safe_dump(manifest(RULES, namespace="monitoring")["spec"])


@dataclass(frozen=True, kw_only=True)
class Case:
    """An alert, a situation told in words, and what fires after `minutes`."""

    alert: str
    when: str
    series: list[Series]
    minutes: int
    fires: tuple[Fires, ...] = ()


def machines(number: int) -> list[Series]:
    """Nodes of eight GPUs, of which the tests' catalogue says 20 USD an hour and 480 a day."""
    return series(*(dgx(f"dgx-{each}", there=steady(1, minutes=150)) for each in range(number)))


def of_class(pod: Pod, qos_class: str) -> list[Series]:
    """A pod and its QoS class, as kube-state-metrics tells it."""
    labels = {"namespace": pod.namespace, "pod": pod.name, "uid": f"uid-{pod.name}"}
    classes = [
        Series(
            name="kube_pod_status_qos_class",
            labels={**labels, "qos_class": each},
            samples=steady(float(each == qos_class)),
        )
        for each in ("BestEffort", "Burstable", "Guaranteed")
    ]
    return series(pod, more=classes)


def swap(size: float) -> list[Series]:
    """A node's swap, as the node exporter tells it."""
    labels = {"kubernetes_node": "dgx-01", "instance": "10.10.0.1:9100"}
    return [
        Series(name="node_memory_SwapTotal_bytes", labels=labels, samples=steady(size, minutes=60))
    ]


BUDGET = "cost/daily-budget"
QOS, SWAP = "numa/guaranteed-qos", "numa/swap-off"
SHARED = (
    "Pod research/train-0 holds whole GPUs and is not Guaranteed, so that its CPUs and memory are "
    "on any NUMA node"
)
COSTS = "The GPU machines cost 1.44k USD a day, more than the environment's budget"
CASES = (
    Case(
        alert="ReservedCapacityEnds",
        when="one block has three days to go, and another the whole month",
        series=[],
        minutes=60,
        fires=(
            Fires(
                labels={"rule": "cost/capacity-block", "pool": "near"},
                sentence="The reserved machines of pool near are there for another 2d 23h 0m 0s",
            ),
        ),
    ),
    Case(
        alert="GpuPodNotGuaranteed",
        when="a burstable pod has held GPUs for half an hour",
        series=of_class(train(), "Burstable"),
        minutes=30,
        fires=(Fires(labels={"rule": QOS, **TRAIN}, sentence=SHARED),),
    ),
    Case(
        alert="GpuPodNotGuaranteed",
        when="the pod is Guaranteed",
        series=of_class(train(), "Guaranteed"),
        minutes=30,
    ),
    Case(
        alert="GpuPodNotGuaranteed",
        when="the pod has no GPUs",
        series=of_class(train(0), "Burstable"),
        minutes=30,
    ),
    Case(
        alert="GpuPodNotGuaranteed",
        when="the pod has ended",
        series=of_class(train(phase="Succeeded"), "Burstable"),
        minutes=30,
    ),
    Case(
        alert="GpuPodNotGuaranteed",
        when="the pod has run for five minutes",
        series=of_class(train(), "Burstable"),
        minutes=5,
    ),
    Case(
        alert="NodeHasSwap",
        when="a node has had swap for half an hour",
        series=swap(8 * 2**30),
        minutes=30,
        fires=(
            Fires(
                labels={"rule": SWAP, "kubernetes_node": "dgx-01"},
                sentence="Node dgx-01 has 8GiB of swap",
            ),
        ),
    ),
    Case(alert="NodeHasSwap", when="a node has none", series=swap(0), minutes=30),
    Case(
        alert="NodeHasSwap",
        when="a node has had swap for five minutes",
        series=swap(2**30),
        minutes=5,
    ),
    Case(
        alert="FleetCostOverBudget",
        when="three machines of 480 USD a day have stood for two hours",
        series=machines(3),
        minutes=120,
        fires=(Fires(labels={"rule": BUDGET}, sentence=COSTS),),
    ),
    Case(
        alert="FleetCostOverBudget",
        when="three machines have stood for half an hour",
        series=machines(3),
        minutes=30,
    ),
    Case(
        alert="FleetCostOverBudget",
        when="two machines have stood for two hours",
        series=machines(2),
        minutes=120,
    ),
    Case(
        alert=ENDED,
        when="one exemption has ended and the other lasts until the end of the day",
        series=[],
        minutes=23 * 60 + 59,
        fires=(
            Fires(
                labels={"rule": "idle/gpu-node-pool", "resource": "NodePool/old"},
                sentence=(
                    "The exemption of NodePool/old from idle/gpu-node-pool ended on 1969-12-31 "
                    "(research: images of 20 GB)"
                ),
            ),
        ),
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}: {case.when}")
def test_an_alert_of_a_rule_fires_when_it_should(case: Case, promtool: Promtool) -> None:
    assert promtool.policy(TEXT, case.alert, case.minutes, case.series, case.fires) == ""


def test_every_rule_with_an_alert_has_a_case_in_which_it_fires_and_one_in_which_not() -> None:
    fire = {case.alert for case in CASES if case.fires}
    stay_silent = {case.alert for case in CASES if not case.fires}
    watched = {rule.alert.name for rule in ALL if rule.alert}
    of_one = {rule.alert.name for rule in ALL if rule.alert and not rule.alert.of_reserved_pools}
    assert fire == {*watched, ENDED}
    assert stay_silent == of_one, "what is still far is silent beside what is near or has ended"


def test_promtool_has_nothing_against_the_alerts_of_the_rules(promtool: Promtool) -> None:
    assert promtool.check(TEXT) == ""
