"""An owner that somebody wrote into an object is not believed in a later request either."""

from collections.abc import Iterator
from typing import Any

import pytest

from policies.gates.admission import manifests
from tests.rehearsal.admission.cases_trust import endless
from tests.support.admission.objects import KINDS, Object, container, gpus, made, pod, template
from tests.support.admission.server import ADMITTED, NAMESPACE, Answer, Server
from tests.support.admission.verdicts import TODAY, configured

HOST, DEADLINE, WORLD = (
    next(rule for rule in ADMITTED if rule.id == rule_id)
    for rule_id in ("isolation/host-access", "idle/job-deadline", "isolation/open-to-world")
)
STRANGER = "system:serviceaccount:research:default"
RAY = "system:serviceaccount:kuberay-operator:kuberay-operator"
LEAVE = {
    "resource": "Deployment/legacy",
    "namespace": NAMESPACE,
    "owner": "desk",
    "reason": "old",
    "until": "2099-12-31",
}


def named(name: str, found: Object) -> Object:
    return {**found, "metadata": {**found["metadata"], "name": name}}


LEGACY = named("legacy", KINDS["Deployment"](template(container())))
RAY_JOB = made("ray.io/v1", "RayJob", {"suspend": True})
CRON_JOB = KINDS["CronJob"](template(container()))
CLUSTER = made("ray.io/v1", "RayCluster", {"suspend": True})
OWNERS = (LEGACY, RAY_JOB, CRON_JOB, CLUSTER)


def of(server: Server, owner: Object, name: str, found: Object) -> Object:
    """An object that says which object controls it; the garbage collector finds that one."""
    there = server.api.get(server.place(owner)) or {}
    said = {key: owner[key] for key in ("apiVersion", "kind")}
    said |= {key: there["metadata"][key] for key in ("name", "uid")}
    reference = {**said, "controller": True}
    found = named(name, found)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [reference]}}


PRIVILEGED = {**container(), "securityContext": {"privileged": True}}


def bare(found: Object) -> Object:
    """A template without an end."""
    del found["metadata"]["annotations"]
    return found


def cluster(worker: Object, **fields: Any) -> Object:
    group = {"groupName": "g", "replicas": 1, "template": bare(template(worker)), **fields}
    head = {"rayStartParams": {}, "template": bare(template(container()))}
    return made("ray.io/v1", "RayCluster", {"headGroupSpec": head, "workerGroupSpecs": [group]})


@pytest.fixture(scope="module")
def denying(server: Server) -> Iterator[Server]:
    """The server with the rules, one of which an exemption spares."""
    server.remove_policies()
    rules = configured([DEADLINE]) + configured([HOST, WORLD], exemptions=[LEAVE])
    server.install(manifests(rules, stage="deny", today=TODAY))
    for bad in (pod(PRIVILEGED), endless()):
        server.wait_for("a rule", lambda bad=bad: server.try_out(bad).by_policy)
    for owner in OWNERS:
        server.made(owner)
    yield server
    for owner in OWNERS:
        server.ask("DELETE", server.place(owner), propagationPolicy="Background")


def put(server: Server, found: Object, **changes: Any) -> Answer:
    """A later request of somebody, which leaves nothing."""
    return server.ask("PATCH", server.place(found), changes, user=STRANGER, dryRun="All")


def test_gpus_that_come_later_need_an_end(denying: Server) -> None:
    forged = of(denying, RAY_JOB, "forged", cluster(container()))
    assert denying.ask("POST", denying.path(forged), forged, user=STRANGER).taken

    assert put(denying, forged, spec=cluster(gpus())["spec"]).by_policy
    assert put(denying, forged, spec=cluster(container(), replicas=5)["spec"]).taken


def test_an_end_cannot_be_taken_from_a_job_by_an_owner_that_nobody_judged(denying: Server) -> None:
    job = KINDS["Job"](bare(template(gpus())))
    job["spec"].update(activeDeadlineSeconds=3600, suspend=True)
    forged = of(denying, CRON_JOB, "forged", job)
    assert denying.ask("POST", denying.path(forged), forged, user=STRANGER).taken

    assert put(denying, forged, spec={"activeDeadlineSeconds": None}).by_policy
    assert put(denying, forged, spec={"suspend": False}).taken


def test_what_an_operator_made_is_scaled_by_whoever_may(denying: Server) -> None:
    real = of(denying, RAY_JOB, "real", cluster(gpus()))
    assert denying.try_out(real, user=STRANGER).by_policy
    assert denying.ask("POST", denying.path(real), real, user=RAY).taken

    scaled = cluster(gpus(), replicas=5, scaleStrategy={"workersToDelete": ["a"]})
    assert put(denying, real, spec=scaled["spec"]).taken
    assert put(denying, real, metadata={"labels": {"seen": "yes"}}).taken
    assert put(denying, real, metadata={"finalizers": ["fleet.gpu/kept"]}).taken
    assert put(denying, real, status={"state": "ready"}).taken
    assert put(denying, real, spec=cluster({**gpus(), "image": "other"})["spec"]).by_policy


def test_an_exempt_deployment_lends_its_name_to_no_later_request(denying: Server) -> None:
    forged = of(denying, LEGACY, "forged", KINDS["Deployment"](template(container())))
    assert denying.ask("POST", denying.path(forged), forged, user=STRANGER).taken
    bad = KINDS["Deployment"](template(PRIVILEGED))

    assert put(denying, forged, spec=bad["spec"]).by_policy
    assert put(denying, forged, spec={"replicas": 3, "paused": True}).taken
    service = made("v1", "Service", {"ports": [{"port": 80}], "selector": {"a": "b"}})
    service = of(denying, LEGACY, "forged", service)
    assert denying.ask("POST", denying.path(service), service, user=STRANGER).taken
    assert put(denying, service, spec={"externalIPs": ["192.0.2.1"]}).by_policy


def runs(server: Server, found: Object, user: str) -> Object:
    """A pod that somebody made; it waits for a scheduler that nobody has, and none adopts it."""
    found["spec"].update(schedulerName="nobody")
    del found["metadata"]["labels"]["app"]
    assert server.ask("POST", server.path(found), found, user=user).taken
    return found


def beside(server: Server, found: Object, debugs: Object) -> Answer:
    patch = {"spec": {"ephemeralContainers": [debugs]}}
    place = server.place(found, "/ephemeralcontainers")
    return server.ask("PATCH", place, patch, user=STRANGER, dryRun="All")


def test_a_container_that_is_put_into_a_pod_is_judged_whoever_owns_the_pod(denying: Server) -> None:
    forged = runs(denying, of(denying, LEGACY, "forged", pod(container())), STRANGER)
    debugs = {"name": "debug", "image": container()["image"]}

    worse = {**debugs, "securityContext": {"privileged": True}}
    assert beside(denying, forged, worse).by_policy
    assert beside(denying, forged, debugs).taken
    assert denying.ask("DELETE", denying.place(forged), gracePeriodSeconds="0").taken


def test_a_pod_of_a_job_is_resized_and_looked_into(denying: Server) -> None:
    of_cluster = of(denying, CLUSTER, "pod", endless())
    real = runs(denying, of_cluster, RAY)
    debugs = {"name": "debug", "image": container()["image"]}

    assert beside(denying, real, debugs).taken
    amounts = {**real["spec"]["containers"][0]["resources"]["limits"], "cpu": "4"}
    smaller = {**gpus(), "resources": {"limits": amounts, "requests": amounts}}
    patch = {"spec": {"containers": [smaller]}}
    place = denying.place(real, "/resize")
    assert denying.ask("PATCH", place, patch, user=STRANGER, dryRun="All").taken
    assert denying.ask("DELETE", denying.place(real), gracePeriodSeconds="0").taken
