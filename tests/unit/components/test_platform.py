"""What every environment's cluster gets beside its pools."""

from collections.abc import Mapping
from typing import Any

import yaml

from components.platform.priority_classes import PriorityClasses
from components.platform.teams import QueueShare, Teams, TeamsArgs, TeamShare
from components.platform.volcano import Volcano
from components.versions import VOLCANO
from tests.recorder import Registered, named, render


def release(resources: list[Registered]) -> Mapping[str, Any]:
    (found,) = named(resources, "Release").values()
    return found.inputs


def test_a_gang_larger_than_the_idle_capacity_gets_its_pods() -> None:
    values = release(render(lambda: Volcano("volcano")))["values"]
    scheduler = yaml.safe_load(values["custom"]["scheduler_config_override"])
    actions = scheduler["actions"].split(", ")
    assert "allocate" in actions
    assert "enqueue" not in actions, "it would hold the gang back, and Karpenter never saw it"
    plugins = [plugin["name"] for tier in scheduler["tiers"] for plugin in tier["plugins"]]
    assert "overcommit" not in plugins, "it serves enqueue alone"
    assert not {"capacity", "proportion"} <= set(plugins), "the two contradict each other"
    assert "gang" in plugins


def test_volcano_is_pinned_chart_and_images_alike() -> None:
    found = release(render(lambda: Volcano("volcano")))
    assert (found["chart"], found["version"]) == ("volcano", VOLCANO.version)
    assert found["repositoryOpts"] == {"repo": VOLCANO.repository}
    assert found["values"]["basic"]["image_tag_version"] == f"v{VOLCANO.version}"


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


def teams() -> None:
    crds = Volcano("volcano").release
    research = TeamShare(
        cost_centre="4100",
        queues={"research": QueueShare(weight=4, gpus=32), "trial": QueueShare(weight=1, gpus=8)},
    )
    risk = TeamShare(cost_centre="4120", queues={"stress": QueueShare(weight=2, gpus=16)})
    Teams("teams", TeamsArgs(teams={"research": research, "risk": risk}, crds=crds))


def test_a_queue_has_its_weight_and_its_most_gpus_and_waits_for_volcano() -> None:
    queue = named(render(teams), "Queue")["teams-research-research"]
    assert queue.inputs["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert queue.inputs["spec"] == {
        "weight": 4,
        "capability": {"nvidia.com/gpu": "32"},
        "reclaimable": True,
    }
    assert any(urn.endswith("::volcano-release") for urn in queue.depends_on)


def test_a_team_has_a_namespace_and_its_queues_say_who_pays() -> None:
    resources = render(teams)
    space = named(resources, "Namespace")["teams-research"].inputs["metadata"]
    owner = {"fleet.gpu/team": "research", "fleet.gpu/cost-centre": "4100"}
    assert isinstance(space, dict)
    assert (space["name"], space["labels"]) == ("research", owner)
    labelled = {
        name: each.inputs["metadata"]["labels"]  # type: ignore[index]  # an object has metadata
        for name, each in named(resources, "Queue").items()
    }
    assert labelled["teams-research-trial"] == owner
    assert labelled["teams-risk-stress"]["fleet.gpu/team"] == "risk"


def test_jobs_without_a_queue_go_to_the_queue_of_the_teams_name_if_there_is_one() -> None:
    spaces = named(render(teams), "Namespace")
    metadata = {name: each.inputs["metadata"] for name, each in spaces.items()}
    annotations = metadata["teams-research"]["annotations"]  # type: ignore[index]  # as above
    assert annotations == {"scheduling.volcano.sh/queue-name": "research"}
    assert "annotations" not in metadata["teams-risk"]  # type: ignore[operator]  # as above
