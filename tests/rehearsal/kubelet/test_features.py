"""What kubelet says of its features in a Node's status, and who goes by it."""

from typing import Any

from rehearsal.nodes import MERGE, NODES
from tests.support.rehearsal.kubelets import Kubelets, wait

ALL_RESTART = "RestartAllContainersOnContainerExits"
OFF = {"featureGates": {ALL_RESTART: False}}


def restarts_all() -> list[dict[str, Any]]:
    """The containers of a training pod that starts all of them anew where its first one fails."""
    exits = {"operator": "In", "values": [42]}
    rule = {"action": "RestartAllContainers", "exitCodes": exits}
    container = {"name": "main", "image": "example", "restartPolicy": "Never"}
    return [{**container, "restartPolicyRules": [rule]}]


def status(kubelets: Kubelets, node: str) -> dict[str, Any]:
    return dict((kubelets.api.get(f"{NODES}/{node}") or {})["status"])


def told(kubelets: Kubelets, node: str) -> list[str]:
    """Wait until kubelet has written the Node's status; return the features that it declares."""
    wait(lambda: "features" in status(kubelets, node), "kubelet writes the status of its Node")
    return list(status(kubelets, node).get("declaredFeatures", []))


def test_a_node_declares_what_its_kubelet_has_by_default(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    assert told(kubelets, node) == [
        "ExtendWebSocketsToKubelet",
        "InPlacePodLevelResourcesVerticalScaling",
        "InPlacePodVerticalScalingInitContainers",
        ALL_RESTART,
    ]
    assert status(kubelets, node)["features"] == {"supplementalGroupsPolicy": True}


def test_the_scheduler_finds_a_node_for_a_pod_that_restarts_all_its_containers(
    kubelets: Kubelets,
) -> None:
    kubelets.node("gex44")
    kubelets.create("a", None, {}, containers=restarts_all())

    assert kubelets.runs("a") == {}


def test_a_gate_that_the_configuration_turns_off_is_not_declared_and_its_pods_are_refused(
    kubelets: Kubelets,
) -> None:
    node = kubelets.node("gex44")
    assert ALL_RESTART in told(kubelets, node)
    kubelets.configure(node, OFF)
    wait(lambda: ALL_RESTART not in told(kubelets, node), "the feature is declared no longer")
    kubelets.create("a", node, {}, containers=restarts_all())

    assert kubelets.refusal("a") == (
        "PodFeatureUnsupported",
        f"Pod was rejected: Pod requires node features that are not available: {ALL_RESTART}",
    )


def test_a_pod_with_strict_supplemental_groups_runs(kubelets: Kubelets) -> None:
    strict = {"supplementalGroupsPolicy": "Strict"}
    kubelets.create("bound", kubelets.node("gex44"), {}, securityContext=strict)
    kubelets.create("scheduled", None, {}, securityContext=strict)

    assert kubelets.runs("bound") == {}
    assert kubelets.runs("scheduled") == {}


def test_kubelet_says_it_again_where_somebody_took_it_away(kubelets: Kubelets) -> None:
    node = kubelets.node("gex44")
    said = told(kubelets, node)
    nothing = {"status": {"declaredFeatures": None, "features": None}}
    kubelets.api.request("PATCH", f"{NODES}/{node}/status", nothing, headers=MERGE)

    assert told(kubelets, node) == said
