"""Whether Volcano lets in jobs for which there are no machines yet."""

from typing import Any

import pytest
import yaml

from policies.rules.idle.enqueue import RULE
from tests.support.policies.asked import Resource, said_in
from tests.support.policies.environments import stack
from tests.support.policies.machines import host, node_pool

RELEASE = "Release 'volcano' must let jobs in for which there are no machines yet"


def volcano(actions: str = "enqueue, allocate", *plugins: dict[str, Any]) -> Resource:
    text = yaml.safe_dump({"actions": actions, "tiers": [{"plugins": list(plugins)}]})
    return release({"custom": {"scheduler_config_override": text}})


def release(values: dict[str, Any]) -> Resource:
    return {
        "kind": "kubernetes:helm.sh/v3:Release",
        "metadata": {"name": "volcano"},
        "spec": {"chart": "volcano", "values": values},
    }


@pytest.mark.parametrize("name", ["overcommit", "proportion", "capacity"])
def test_a_plugin_that_counts_machines_must_have_no_vote_on_who_is_let_in(name: str) -> None:
    asks = {"name": name}

    assert said_in(RULE, [volcano("enqueue, allocate", asks), node_pool()]) == [
        f"{RELEASE}: the plugin {name} must have enableJobEnqueued false."
    ]
    silent = {**asks, "enableJobEnqueued": False}
    assert said_in(RULE, [volcano("enqueue, allocate", silent), node_pool()]) == []


def test_without_enqueue_nobody_is_held_back() -> None:
    assert said_in(RULE, [volcano("allocate, backfill", {"name": "overcommit"}), node_pool()]) == []


def test_a_plugin_that_counts_a_quota_may_vote() -> None:
    quota = volcano("enqueue, allocate", {"name": "resourcequota"}, {"name": "gang"})

    assert said_in(RULE, [quota, node_pool()]) == []


@pytest.mark.parametrize(
    "values", [{}, {"custom": {}}, {"custom": {"scheduler_config_override": ""}}]
)
def test_the_charts_own_configuration_is_refused(values: dict[str, Any]) -> None:
    (sentence,) = said_in(RULE, [release(values), node_pool()])

    assert sentence.startswith(f"{RELEASE}: the chart's own")


def test_where_nothing_is_rented_machines_may_be_counted() -> None:
    assert said_in(RULE, [release({}), host()]) == []


def test_other_charts_are_left_alone() -> None:
    other = release({})
    other["spec"]["chart"] = "karpenter"

    assert said_in(RULE, [other, node_pool()]) == []


def test_volcanos_config_map_is_read_like_the_chart() -> None:
    text = yaml.safe_dump({"actions": "enqueue", "tiers": [{"plugins": [{"name": "overcommit"}]}]})
    found = {
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap"},
        "data": {"volcano-scheduler.conf": text},
    }

    (sentence,) = said_in(RULE, [found, node_pool()])

    assert sentence.startswith("ConfigMap 'volcano-scheduler-configmap' must let jobs in")


def test_a_configuration_that_nobody_can_read_is_refused() -> None:
    broken = release({"custom": {"scheduler_config_override": "actions: [enqueue"}})

    assert said_in(RULE, [broken, node_pool()]) == [
        f"{RELEASE}: the scheduler's configuration cannot be read as YAML."
    ]


def test_the_configuration_of_prod_lets_jobs_in_until_a_plugin_counts_machines() -> None:
    resources: list[Any] = list(stack("prod"))
    assert said_in(RULE, resources) == []

    (place,) = (
        number
        for number, each in enumerate(resources)
        if each["kind"].endswith(":Release") and each["spec"]["chart"] == "volcano"
    )
    found = resources[place]
    text = found["spec"]["values"]["custom"]["scheduler_config_override"]
    counting = text.replace("enableJobEnqueued: false", "enableJobEnqueued: true")
    assert counting != text
    resources[place] = release({"custom": {"scheduler_config_override": counting}})

    assert said_in(RULE, resources) == [
        f"{RELEASE}: the plugin capacity must have enableJobEnqueued false."
    ]
