"""What every environment's cluster gets beside its pools."""

from collections.abc import Mapping
from typing import Any

import yaml

from components.platform.karpenter import Karpenter
from components.platform.priority_classes import PriorityClasses
from components.platform.queues import Queues, QueuesArgs, QueueShare
from components.platform.volcano import Volcano
from components.versions import KARPENTER_CRD, VOLCANO
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


def test_karpenters_crds_come_from_their_own_pinned_chart() -> None:
    found = release(render(lambda: Karpenter("karpenter")))
    assert (found["chart"], found["version"]) == (KARPENTER_CRD.name, KARPENTER_CRD.version)


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


def test_a_queue_has_its_weight_and_its_most_gpus_and_waits_for_volcano() -> None:
    def program() -> None:
        crds = Volcano("volcano").release
        share = QueueShare(weight=4, gpus=32)
        Queues("queues", QueuesArgs(queues={"research": share}, crds=crds))

    (queue,) = named(render(program), "Queue").values()
    assert queue.inputs["apiVersion"] == "scheduling.volcano.sh/v1beta1"
    assert queue.inputs["spec"] == {
        "weight": 4,
        "capability": {"nvidia.com/gpu": "32"},
        "reclaimable": True,
    }
    assert any(urn.endswith("::volcano-release") for urn in queue.depends_on)
