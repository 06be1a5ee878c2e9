"""The parts that all pools share: how Volcano schedules, queues, domains, priority classes."""

from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from components.platform.pool_domains import TIER, PoolDomains, PoolDomainsArgs
from components.platform.priority_classes import PriorityClasses
from components.platform.volcano import Volcano, VolcanoArgs
from settings.versions import VOLCANO
from tests.support.recorder import Registered, named, render

POOLS = {"research": "dgx", "scavenger": "dgx", "research-burst": "burst", "trial": None}


def volcano() -> Volcano:
    return Volcano("volcano", VolcanoArgs(pools=POOLS))


def release(resources: list[Registered]) -> Mapping[str, Any]:
    return named(resources, "Release")["volcano-release"].inputs


def custom() -> Mapping[str, Any]:
    found: Mapping[str, Any] = release(render(volcano))["values"]["custom"]
    return found


def scheduler() -> tuple[list[str], list[dict[str, dict[str, bool]]]]:
    """Return the actions in order, and the plugins of each tier with their switches."""
    found = yaml.safe_load(custom()["scheduler_config_override"])
    tiers = [{each.pop("name"): each for each in tier["plugins"]} for tier in found["tiers"]]
    return found["actions"].split(", "), tiers


def test_a_gang_larger_than_the_idle_capacity_gets_its_pods() -> None:
    actions, (first, second) = scheduler()
    assert actions[:2] == ["enqueue", "allocate"]
    asked = {"overcommit", "capacity", "proportion", "sla"} & {*first, *second}
    assert asked == {"capacity"}, "enqueue asks these, and all but a quota look at idle machines"
    assert first["capacity"] == {"enableJobEnqueued": False}


def test_a_job_beyond_the_quota_of_its_namespace_gets_no_pods() -> None:
    actions, (first, _) = scheduler()
    assert "enqueue" in actions
    assert "resourcequota" in first


def test_queues_are_reclaimed_by_weight_whatever_gangs_they_hold() -> None:
    actions, (first, second) = scheduler()
    assert {"preempt", "reclaim"} <= set(actions)
    assert not first["gang"]["enableReclaimable"], "a whole gang would keep all that it holds"
    assert not first["gang"]["enablePreemptable"]
    assert "capacity" in first, "in a second tier it would not be asked once the first found some"
    assert "capacity" not in second


def test_no_share_of_owned_machines_is_kept_for_jobs_that_wait_for_rented_ones() -> None:
    _, (first, second) = scheduler()
    assert "proportion" not in {*first, *second}, "it shares all machines by what is asked for"


def test_a_gang_with_hard_topology_is_tried_only_where_it_fits_whole() -> None:
    _, tiers = scheduler()
    assert any("network-topology-aware" in tier for tier in tiers)


def test_a_queues_namespace_decides_the_pool_of_its_pods_and_their_scheduler() -> None:
    found = yaml.safe_load(custom()["admission_config_override"])["resourceGroups"]
    assert {each.pop("schedulerName") for each in found} == {"volcano"}
    assert found == [
        {"resourceGroup": "any", "object": {"key": "namespace", "value": ["trial"]}},
        {
            "resourceGroup": "burst",
            "object": {"key": "namespace", "value": ["research-burst"]},
            "labels": {"fleet.gpu/pool": "burst"},
        },
        {
            "resourceGroup": "dgx",
            "object": {"key": "namespace", "value": ["research", "scavenger"]},
            "labels": {"fleet.gpu/pool": "dgx"},
        },
    ]
    assert {"/pods/mutate", "/podgroups/mutate"} <= set(custom()["enabled_admissions"].split(","))


def test_pods_outside_the_queues_start_without_volcanos_webhook() -> None:
    (expression,) = custom()["webhooks_namespace_selector_expressions"]
    assert expression == {"key": "fleet.gpu/team", "operator": "Exists"}


def test_volcano_is_pinned_chart_and_images_alike() -> None:
    found = release(render(volcano))
    assert (found["chart"], found["version"]) == ("volcano", VOLCANO.version)
    assert found["repositoryOpts"] == {"repo": VOLCANO.repository}
    assert found["values"]["basic"]["image_tag_version"] == f"v{VOLCANO.version}"


def test_each_pool_with_gpus_is_a_domain_of_gangs_and_waits_for_volcano() -> None:
    def program() -> None:
        PoolDomains("pools", PoolDomainsArgs(pools=["dgx", "burst"], crds=volcano().release))

    found = named(render(program), "HyperNode")
    assert set(found) == {"pools-dgx", "pools-burst"}
    burst = found["pools-burst"]
    selector = {"labelMatch": {"matchLabels": {"fleet.gpu/pool": "burst"}}}
    assert burst.inputs["spec"] == {
        "tier": TIER,
        "members": [{"type": "Node", "selector": selector}],
    }
    assert any(urn.endswith("::volcano-release") for urn in burst.depends_on)
    assert burst.ignore_changes == ("spec.members",), "fleet-pool-domains writes into them"


def test_what_changes_the_domains_may_do_nothing_else() -> None:
    def program() -> None:
        PoolDomains("pools", PoolDomainsArgs(pools=["dgx", "burst"], crds=volcano().release))

    resources = render(program)
    (role,) = named(resources, "ClusterRole").values()
    assert role.inputs["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]},
        {
            "apiGroups": ["topology.volcano.sh"],
            "resources": ["hypernodes"],
            "resourceNames": ["pool-burst", "pool-dgx"],
            "verbs": ["get", "patch"],
        },
    ]
    (deployment,) = named(resources, "Deployment").values()
    spec: Any = deployment.inputs["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert container["command"][-2:] == ["burst", "dgx"]
    assert spec["template"]["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_without_a_pool_with_gpus_no_program_runs_for_domains() -> None:
    def program() -> None:
        PoolDomains("pools", PoolDomainsArgs(pools=[], crds=volcano().release))

    assert not named(render(program), "Deployment")


def test_production_goes_before_research_before_interactive_before_scavenger() -> None:
    classes = named(render(lambda: PriorityClasses("priority")), "PriorityClass")
    values = {name: int(str(each.inputs["value"]).split(".")[0]) for name, each in classes.items()}
    ordered = sorted(values, key=lambda name: values[name], reverse=True)
    assert ordered == [
        "priority-production",
        "priority-research",
        "priority-interactive",
        "priority-scavenger",
    ]
    assert values["priority-scavenger"] < 0, "a pod without a class goes before it"
    assert classes["priority-scavenger"].inputs["preemptionPolicy"] == "Never"
    assert not any(each.inputs["globalDefault"] for each in classes.values())


@pytest.mark.parametrize("program", ["scheduler", "controller", "admission"])
def test_the_loss_of_one_node_stops_no_program_of_volcanos(program: str) -> None:
    found = custom()
    assert found[f"{program}_replicas"] == 2
    assert found[f"{program}_resources"]["requests"].keys() == {"cpu", "memory"}
    (term,) = found[f"{program}_affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    selector = term["podAffinityTerm"]["labelSelector"]["matchLabels"]
    assert selector == {"app": f"volcano-{program}"}, "the label of its pods in the chart"
    assert found["leader_elect_enable"] is True, "two schedulers would place one pod twice"
