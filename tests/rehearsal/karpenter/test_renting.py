"""Machines come for pods that wait, boot from their user data, and go; Karpenter decides it all."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from rehearsal import refusals
from rehearsal.karpenter import instances
from rehearsal.karpenter.launch import sell_out
from rehearsal.karpenter.services import warn_of_interruption
from rehearsal.nodes import NODE_CLAIMS
from tests.support.rehearsal.rented import POOLS
from tests.support.rehearsal.renting import CLASS, Ground

HASH = "karpenter.k8s.aws/ec2nodeclass-hash"


@pytest.fixture(autouse=True)
def empty(ground: Ground) -> None:
    """Each test begins without a machine, and with a Karpenter that remembers nothing."""
    sell_out(ground.directory, [])
    ground.install()
    ground.clear()
    ground.kill()
    ground.install()


def is_gone(ground: Ground, path: str) -> bool:
    return ground.api.get(path) is None


def condition(claim: dict[str, Any], kind: str) -> dict[str, Any]:
    found = claim.get("status", {}).get("conditions", [])
    return next((each for each in found if each["type"] == kind), {})


def test_pods_that_wait_get_machines_that_have_booted(ground: Ground) -> None:
    """Reserved capacity first; dev has one machine of it."""
    first = ground.pod()
    ground.wait(lambda: ground.bound(first), "the first pod is bound to no node")
    second = ground.pod()
    ground.wait(lambda: ground.bound(second), "the second pod is bound to no node")

    capacity = {machine.capacity: machine for machine in ground.alive()}
    assert {*capacity} == {"reserved", "spot"}
    ground.wait(
        lambda: all(condition(each, "Initialized")["status"] == "True" for each in ground.claims()),
        "a machine is not initialized",
    )
    nodes = {node["metadata"]["name"]: node for node in ground.nodes()}
    node = nodes[ground.bound(second)]
    spot = capacity["spot"]
    assert node["spec"]["providerID"] == f"aws:///us-east-1b/{spot.id}"
    assert node["metadata"]["labels"]["karpenter.sh/nodepool"] == "burst-spot"
    keys = {taint["key"] for taint in node["spec"]["taints"]}
    assert "nvidia.com/gpu" in keys
    assert not keys & {"karpenter.sh/unregistered", "node.cilium.io/agent-not-ready"}
    has_what_its_provider_writes(ground)
    assert spot.placement_group is None
    assert spot.profile == "fleet-dev-burst-node"


def has_what_its_provider_writes(ground: Ground) -> None:
    """The class is found good and kept from being deleted; machines carry the hash of its fields.

    The AWS provider's own controllers write both (pkg/controllers/nodeclass). A machine whose hash
    is not that of its class has drifted.
    """
    found = ground.api.get(CLASS) or {}
    ready = condition(found, "Ready")
    assert (ready["status"], ready["observedGeneration"]) == (
        "True",
        found["metadata"]["generation"],
    )
    assert found["metadata"]["finalizers"] == ["karpenter.k8s.aws/termination"]
    written = found["metadata"]["annotations"]
    hashes = {each["metadata"]["annotations"][HASH] for each in ground.claims()}
    assert hashes == {written[HASH]}
    assert written[f"{HASH}-version"]


def test_a_machine_whose_user_data_is_bad_never_joins_and_is_given_up(ground: Ground) -> None:
    good = (ground.api.get(CLASS) or {})["spec"]["userData"]
    ground.patch(CLASS, {"spec": {"userData": '{"ignition": {"version": "3.4.0"}'}})
    try:
        pod = ground.pod()
        ground.wait(lambda: refusals.read(ground.directory), "no machine was refused")
        (reason,) = refusals.read(ground.directory).values()
        assert "JSON" in reason or "kubelet" in reason or "Ignition" in reason
        (machine,) = ground.alive()
        assert ground.nodes() == []
        (claim,) = ground.claims()
        assert condition(claim, "Registered")["reason"] == "NodeNotFound"
        ground.api.delete(f"/api/v1/namespaces/default/pods/{pod}", dependents="Background")

        _grow_old(ground, claim["metadata"]["name"])

        ground.wait(lambda: not ground.claims(), "Karpenter has not given it up")
        ended = next(each for each in instances.read(ground.directory) if each.id == machine.id)
        assert ended.ended is not None
    finally:
        ground.patch(CLASS, {"spec": {"userData": good}})


def _grow_old(ground: Ground, claim: str) -> None:
    """Lets Karpenter's fifteen minutes be over for a machine that has not registered."""
    path = f"{NODE_CLAIMS}/{claim}"
    conditions = (ground.api.get(path) or {})["status"]["conditions"]
    then = (datetime.now(UTC) - timedelta(minutes=15)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for each in conditions:
        if each["type"] == "Registered":
            each["lastTransitionTime"] = then
    ground.patch(f"{path}/status", {"status": {"conditions": conditions}})


@pytest.mark.slow
def test_what_is_sold_out_is_an_error_and_the_next_pool_is_taken(ground: Ground) -> None:
    sell_out(ground.directory, [{"capacity": "spot"}])
    reserved = ground.pod()
    ground.wait(lambda: ground.bound(reserved), "the reserved machine did not come")
    pool = ground.api.get(f"{POOLS}/burst-spot") or {}
    spec = {**pool["spec"], "weight": 10}
    for each in spec["template"]["spec"]["requirements"]:
        if each["key"] == "karpenter.sh/capacity-type":
            each["values"] = ["on-demand"]
    kind = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool"}
    other = {**kind, "spec": spec, "metadata": {"name": "other"}}
    assert ground.api.create(POOLS, other)
    try:
        pod = ground.pod()
        ground.wait(lambda: ground.bound(pod), "the pod is bound to no node")

        assert {machine.capacity for machine in ground.alive()} == {"reserved", "on-demand"}
        events = ground.api.items("/api/v1/events")
        (message,) = {
            each["message"] for each in events if each["reason"] == "InsufficientCapacityError"
        }
        assert "do not have sufficient p5e.48xlarge capacity" in message
    finally:
        ground.clear()
        ground.api.delete(f"{POOLS}/other")


def launched(claim: dict[str, Any]) -> bool:
    return bool((claim.get("status") or {}).get("providerID"))


def test_a_controller_that_is_killed_doubles_no_machine(ground: Ground) -> None:
    """Before it has noted the launch it may take it for one that failed, where the reservation is
    full: it then ends the claim, makes another and collects the machine minutes later."""
    pod = ground.pod()
    ground.wait(lambda: [*map(launched, ground.claims())] == [True], "no machine was launched")

    ground.kill()
    ground.install()

    ground.wait(lambda: ground.bound(pod), "the pod is bound to no node")
    assert len(ground.alive()) == 1
    assert len(ground.claims()) == 1


@pytest.mark.slow
def test_another_release_of_flatcar_makes_machines_drift(ground: Ground) -> None:
    """They stay for their job, by the pool's budget; without the budget they are replaced."""
    pod = ground.pod()
    ground.wait(lambda: ground.bound(pod), "the pod is bound to no node")
    (before,) = ground.alive()
    found = ground.api.get(CLASS) or {}
    (term,) = found["spec"]["amiSelectorTerms"]
    newer = {**term, "name": "Flatcar-stable-4593.9.9-hvm"}
    pool = ground.api.get(f"{POOLS}/burst-reserved") or {}
    try:
        ground.patch(CLASS, {"spec": {"amiSelectorTerms": [newer]}})

        drifted = (condition(claim, "Drifted").get("reason") for claim in ground.claims())
        ground.wait(lambda: "AMIDrift" in _reasons(ground), f"it does not drift: {[*drifted]}")
        assert [machine.id for machine in ground.alive()] == [before.id]

        ground.patch(
            f"{POOLS}/burst-reserved", {"spec": {"disruption": {"budgets": [{"nodes": "1"}]}}}
        )
        ground.wait(lambda: _images(ground) - {before.image}, "it is not replaced")
        ground.wait(
            lambda: before.id not in {machine.id for machine in ground.alive()},
            "the old machine stays",
        )
    finally:
        ground.patch(CLASS, {"spec": {"amiSelectorTerms": [term]}})
        budgets = pool["spec"]["disruption"]["budgets"]
        ground.patch(f"{POOLS}/burst-reserved", {"spec": {"disruption": {"budgets": budgets}}})


def _reasons(ground: Ground) -> list[str]:
    return [condition(claim, "Drifted").get("reason", "") for claim in ground.claims()]


def _images(ground: Ground) -> set[str]:
    return {machine.image for machine in ground.alive()}


@pytest.mark.slow
def test_a_spot_machine_that_aws_takes_back_is_drained_and_ended(ground: Ground) -> None:
    reserved = ground.pod()
    ground.wait(lambda: ground.bound(reserved), "the first pod waits")
    pod = ground.pod()
    ground.wait(lambda: ground.bound(pod), "the second pod waits")
    (spot,) = (machine for machine in ground.alive() if machine.capacity == "spot")

    warn_of_interruption(ground.directory, spot.id, "us-east-1")

    ground.wait(
        lambda: spot.id not in {machine.id for machine in ground.alive()},
        "Karpenter has not read the warning",
    )


@pytest.mark.slow
def test_nothing_is_left_where_everything_is_deleted(ground: Ground) -> None:
    pod = ground.pod()
    ground.wait(lambda: ground.bound(pod), "the pod is bound to no node")
    for name in ("burst-reserved", "burst-spot"):
        ground.patch(f"{POOLS}/{name}", {"spec": {"limits": {"nvidia.com/gpu": "0"}}})
    ground.clear()

    assert ground.alive() == []
    for path in (f"{POOLS}/burst-reserved", f"{POOLS}/burst-spot", CLASS):
        ground.api.delete(path, dependents="Background")
        ground.wait(partial(is_gone, ground, path), f"{path} hangs")
