"""Faults on a real control plane with Karpenter, each as `fleet rehearse --fault` puts it in."""

import time
from collections.abc import Iterator
from functools import partial

import pytest

from rehearsal.controllers.controller import Controllers
from rehearsal.faults import replay
from rehearsal.faults.boot import GIVEN_UP_AFTER_S, BootHangs
from rehearsal.faults.run import doubled
from rehearsal.faults.scene import Fault, Hit, Scene
from rehearsal.faults.servers import RENEW_DEADLINE_S, WATCHERS, ServerKilled
from rehearsal.faults.spot import SpotEnds
from rehearsal.faults.work import Gang
from rehearsal.karpenter.launch import sell_out
from rehearsal.karpenter.machines import hung
from rehearsal.moves.watch import COLLECTIONS, Watch
from rehearsal.nodes import NODE_CLAIMS
from rehearsal.smoke.jobs import RENTED, SmokeJob
from tests.conftest import ROOT
from tests.support.rehearsal.renting import DEADLINE_S, Ground

JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "metadata": {"namespace": "default", "name": "g"}}
GANG = Gang(
    job=SmokeJob(kind=RENTED, manifest=JOB, pool="burst", queue="", gpus=16),
    rented=True,
    members=2,
)
TOLERATED = [{"key": "nvidia.com/gpu", "operator": "Exists"}]


@pytest.fixture(scope="module")
def scene(ground: Ground) -> Iterator[Scene]:
    """Two pods that make a gang, on a reserved machine and on a spot machine."""
    sell_out(ground.directory, [])
    ground.install()
    ground.clear()
    for _ in range(GANG.members):
        pod = ground.pod(tolerations=TOLERATED)
        labels = {"metadata": {"labels": {"volcano.sh/job-name": "g"}}}
        ground.patch(f"/api/v1/namespaces/default/pods/{pod}", labels)
        ground.wait(partial(ground.bound, pod), "a pod waits")
    watch = Watch(ground.api, {**COLLECTIONS, "NodeClaim": NODE_CLAIMS, "Gang": NODE_CLAIMS})
    watch.start()
    place = Controllers(
        api=ground.api,
        directory=ground.directory,
        processes=ground.processes,
        environment=ground.environment,
        root=ROOT,
    )
    yield Scene(
        api=ground.api,
        directory=ground.directory,
        processes=ground.processes,
        controllers=place,
        watch=watch,
        gangs=(GANG,),
    )
    watch.stop()


def put_in(scene: Scene, fault: Fault, within_s: float = DEADLINE_S) -> tuple[float, Hit]:
    """Goes through a fault; returns when it began, and what it hit."""
    began, deadline = scene.watch.seconds, time.monotonic() + within_s
    hit = fault.inject(scene)
    while not fault.over(scene):
        assert time.monotonic() < deadline, "the fault does not end"
        fault.step(scene)
        time.sleep(0.1)
    return began, hit


def test_a_control_plane_that_is_killed_loses_doubles_and_cordons_nothing(scene: Scene) -> None:
    machines = {claim["metadata"]["uid"] for claim in scene.now["NodeClaim"].values()}
    pods = {pod["metadata"]["uid"] for pod in GANG.pods(scene.now)}
    for name in ("etcd", "kube-apiserver"):
        fault = ServerKilled(name=name, down_s=2.0, settles_s=2.0)
        began, hit = put_in(scene, fault)
        assert replay.wrong_cordons([*scene.watch.seen], began, hit) == ()
    assert {claim["metadata"]["uid"] for claim in scene.now["NodeClaim"].values()} == machines
    assert {pod["metadata"]["uid"] for pod in GANG.pods(scene.now)} == pods
    assert doubled(scene) == ()
    scene.processes.check()


def test_what_would_believe_an_old_watch_is_started_again(scene: Scene) -> None:
    fault = ServerKilled(name="kube-apiserver", down_s=RENEW_DEADLINE_S + 1, settles_s=2.0)
    began, hit = put_in(scene, fault)
    assert set(WATCHERS) <= set(fault.restarted)
    assert set(WATCHERS) <= set(scene.processes.running())
    assert replay.wrong_cordons([*scene.watch.seen], began, hit) == ()


@pytest.mark.slow
def test_no_node_is_unreachable_because_the_api_server_was_away(scene: Scene) -> None:
    """After 40 s a controller manager that lives on sees no Lease in time, and taints them all."""
    fault = ServerKilled(name="kube-apiserver", down_s=40.0, settles_s=60.0)
    began, hit = put_in(scene, fault, within_s=180.0)
    assert replay.wrong_cordons([*scene.watch.seen], began, hit) == ()
    nodes = scene.now["Node"].values()
    assert not [node for node in nodes if "unreachable" in str(node["spec"].get("taints"))]


def test_a_spot_machine_that_ec2_takes_back_is_tainted_and_drained_before_it_ends(
    scene: Scene,
) -> None:
    began, hit = put_in(scene, SpotEnds())
    (node,) = hit.nodes
    seen = [*scene.watch.seen]

    found = replay.milestones(seen, began, hit)

    assert found["tainted"] <= found["pods evicted"] < scene.watch.seconds
    assert "karpenter.sh/disrupted" in {
        key for each in seen if each.key == node for key in replay.keys(each.found)
    }
    assert replay.wrong_cordons(seen, began, hit) == ()


@pytest.mark.slow
def test_a_machine_that_never_joins_is_given_up_and_another_one_takes_its_place(
    scene: Scene, ground: Ground
) -> None:
    fault = BootHangs()
    began, hit = scene.watch.seconds, fault.inject(scene)
    (node,) = hit.nodes
    ground.wait(lambda: node not in GANG.nodes(scene.now), "the pod is not evicted")
    pod = ground.pod(tolerations=TOLERATED)  # as its owner makes it anew

    deadline = time.monotonic() + 2 * DEADLINE_S
    while not fault.over(scene):
        assert time.monotonic() < deadline, "the fault does not end"
        fault.step(scene)
        time.sleep(0.1)

    hangs = hung(scene.directory)
    fault.end(scene)
    ground.wait(lambda: ground.bound(pod), "no other machine has come")
    assert hangs
    assert hangs.ended is not None
    left_out = sum(seconds for _, seconds, _ in scene.clock.left_out)
    assert 800 < left_out < GIVEN_UP_AFTER_S
    assert replay.wrong_cordons([*scene.watch.seen], began, hit) == ()
    assert doubled(scene) == ()
