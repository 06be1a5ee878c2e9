"""Volcano's real programs with the configuration, the account and the rights that the fleet ships.

The tests at the end take away rights, end programs and delete the Release.
"""

import json
import signal
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from rehearsal import controller_report
from rehearsal.controller_report import ControllerReport
from rehearsal.controllers.controller import started
from rehearsal.errors import RehearsalError
from rehearsal.moves.jobs import RunningJob
from rehearsal.moves.lost import ended_jobs
from rehearsal.moves.start import Started, start
from rehearsal.moves.watch import Watch
from rehearsal.providers.values import plain
from tests.rehearsal.controllers.conftest import JOBS, PODS, WHOLE, Fleet, gang
from toolchain.build import versions

QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/research/podgroups"
DOMAIN = "/apis/topology.volcano.sh/v1alpha1/hypernodes/pool-dgx"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MANAGER_ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/volcano-controllers"
AGAIN = [{"event": "PodEvicted", "action": "RestartJob"}]


def reports(fleet: Fleet) -> dict[str, ControllerReport]:
    found = controller_report.read(
        fleet.api, fleet.place.directory, versions=versions, environment={"volcano": "1.14.1"}
    )
    return {each.name: each for each in found}


@pytest.fixture
def ended(fleet: Fleet) -> Iterator[None]:
    """Ends the jobs of the test."""
    yield
    for job in fleet.api.items(JOBS):
        fleet.end(job["metadata"]["name"])


def test_the_controllers_open_the_queue(fleet: Fleet) -> None:
    path = f"{QUEUES}/research"
    fleet.until(lambda: (fleet.api.get(path) or {})["status"].get("state") == "Open", "not open")


def test_a_gang_waits_until_there_are_machines_for_all_of_it(fleet: Fleet, ended: None) -> None:
    fleet.gang("three", 3)

    def waits() -> bool:
        groups = fleet.api.items(GROUPS)
        conditions = [each for group in groups for each in group["status"].get("conditions") or ()]
        return any(each["type"] == "Unschedulable" for each in conditions)

    fleet.until(waits, "Volcano says nothing of the gang")
    assert fleet.running("three") == 0, "two machines are free, and a gang of three needs three"
    merge = {"Content-Type": "application/merge-patch+json"}
    path, spec = "/api/v1/nodes/dgx-away", {"spec": {"unschedulable": None}}
    fleet.api.request("PATCH", path, spec, headers=merge)
    fleet.until(lambda: fleet.running("three") == 3, "three machines are free for a gang of three")
    fleet.api.request("PATCH", path, {"spec": {"unschedulable": True}}, headers=merge)


def mutated(fleet: Fleet) -> dict[str, Any]:
    """A pod of the queue, as the API server would store it."""
    container = {"name": "one", "image": "one", "resources": {"limits": WHOLE}}
    pod = {"metadata": {"name": "one"}, "spec": {"containers": [container]}}
    made = fleet.api.request("POST", PODS, pod, query={"dryRun": "All"})
    spec: dict[str, Any] = made["spec"]
    return spec


def test_the_webhook_gives_a_pod_the_pool_and_the_scheduler_of_its_queue(fleet: Fleet) -> None:
    spec = mutated(fleet)
    assert spec["schedulerName"] == "volcano"
    assert spec["nodeSelector"] == {"fleet.gpu/pool": "dgx"}


def test_another_pool_of_a_queue_reaches_the_webhook_with_the_release(fleet: Fleet) -> None:
    before = dict(fleet.release.inputs)
    text = json.dumps(plain(before)).replace("fleet.gpu/pool: dgx", "fleet.gpu/pool: other")
    try:
        fleet.engine.updated(fleet.release, json.loads(text))
        other = {"fleet.gpu/pool": "other"}
        fleet.until(lambda: mutated(fleet)["nodeSelector"] == other, "it says the old pool")
    finally:
        fleet.engine.updated(fleet.release, before)


def test_the_webhook_refuses_what_volcano_refuses(fleet: Fleet) -> None:
    job = gang("short", 2, minAvailable=3)
    assert "'minAvailable' should not be greater than total replicas" in fleet.refusal(JOBS, job)
    spec = {"weight": 1, "capability": {"cpu": "1"}, "deserved": {"cpu": "2"}}
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "greedy"},
        "spec": spec,
    }
    assert "deserved should less equal than capability" in fleet.refusal(QUEUES, queue)


def test_a_gang_needs_what_its_limits_say(fleet: Fleet, ended: None) -> None:
    """Volcano itself counts requests alone: see the namespace that belongs to no team."""
    limits = {"nvidia.com/gpu": "8"}
    container = {"name": "train", "image": "train", "resources": {"limits": limits}}
    first = {"name": "first", "image": "train", "resources": {"limits": {"cpu": "1"}}}
    job = gang("limits", 2)
    job["spec"]["tasks"][0]["template"]["spec"] |= {
        "containers": [container],
        "initContainers": [first],
    }
    fleet.api.request("POST", JOBS, job)
    made = (fleet.api.get(f"{JOBS}/limits") or {})["spec"]["tasks"][0]["template"]["spec"]
    assert made["containers"][0]["resources"]["requests"] == limits
    assert made["initContainers"][0]["resources"]["requests"] == {"cpu": "1"}

    def needs(space: str) -> list[Any]:
        groups = fleet.api.items(GROUPS.replace("research", space))
        return [each["spec"]["minResources"].get("nvidia.com/gpu") for each in groups]

    fleet.until(lambda: needs("research") == ["16"], f"its group needs {needs('research')}")

    job["metadata"]["namespace"], job["spec"]["queue"] = "default", "default"
    fleet.api.request("POST", JOBS.replace("research", "default"), job)
    fleet.until(lambda: needs("default") == [None], "Volcano counts limits: this is done with")
    fleet.api.delete(f"{JOBS.replace('research', 'default')}/limits", dependents="Background")


def test_what_a_gang_asks_for_itself_stays(fleet: Fleet) -> None:
    asked = {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": "8"}}
    job = gang("asked", 2)
    container = job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]
    for resources in (asked, {"requests": {"cpu": "1"}}, {}):
        container["resources"] = resources
        made = fleet.api.request("POST", JOBS, job, query={"dryRun": "All"})
        (found,) = made["spec"]["tasks"][0]["template"]["spec"]["containers"]
        wanted = {**resources.get("limits", {}), **resources.get("requests", {})}
        assert found["resources"].get("requests", {}) == wanted


def test_a_pod_that_is_deleted_ends_first_and_its_gang_starts_anew(
    fleet: Fleet, ended: None
) -> None:
    fleet.gang("again", 2, policies=AGAIN)
    fleet.until(lambda: fleet.running("again") == 2, "the gang does not run")
    listed = fleet.api.request("GET", PODS)
    version = listed["metadata"]["resourceVersion"]
    (name, _) = sorted(pod["metadata"]["name"] for pod in fleet.pods("again"))
    fleet.api.delete(f"{PODS}/{name}", dependents="Background")
    assert list(phases(fleet, name, version)) == ["Running", "Failed"]

    def restarted() -> bool:
        job = fleet.api.get(f"{JOBS}/again") or {}
        return job["status"].get("retryCount") == 1 and fleet.running("again") == 2

    fleet.until(restarted, "the gang does not start anew")


def test_a_gang_that_starts_anew_is_one_job_that_a_change_has_ended(
    fleet: Fleet, ended: None
) -> None:
    job = RunningJob(manifest=gang("counted", 2, policies=AGAIN), hours=3.0)
    assert start(fleet.api, [job], lambda: None) == Started(jobs=(job,), not_running=())
    watch = Watch(fleet.api)
    watch.start()
    try:
        fleet.api.delete(f"{PODS}/counted-rank-0", dependents="Background")
        fleet.until(
            lambda: any(each.again_on for each in ended_jobs(watch.seen, [job])),
            "the gang does not start anew",
        )
    finally:
        watch.stop()
    (lost,) = ended_jobs(watch.seen, [job])
    assert (lost.name, lost.gang, lost.times) == ("research/counted", True, 1)
    assert (lost.gpus, lost.gpu_hours_lost) == (16, 48.0)
    assert {*lost.again_on} == {"dgx-0", "dgx-1"}


@pytest.mark.parametrize(
    ("spec", "ends"),
    [
        ({"policies": AGAIN, "maxRetry": 1}, "Failed"),
        ({"policies": [*AGAIN, {"event": "PodFailed", "action": "AbortJob"}]}, "Aborted"),
    ],
)
def test_an_interruption_ends_a_gang_that_allows_no_other_start(
    fleet: Fleet, ended: None, spec: dict[str, object], ends: str
) -> None:
    fleet.gang("once", 1, **spec)
    fleet.until(lambda: fleet.running("once") == 1, "the gang does not run")
    fleet.api.delete(f"{PODS}/once-rank-0", dependents="Background")

    def phase() -> str:
        return str((fleet.api.get(f"{JOBS}/once") or {})["status"]["state"]["phase"])

    fleet.until(lambda: phase() == ends, f"Volcano does not end it: {ends}")


def phases(fleet: Fleet, pod: str, version: str) -> Iterator[str]:
    """The phases through which a pod goes before it is gone."""
    query = f"?watch=1&resourceVersion={version}&fieldSelector=metadata.name={pod}"
    last = ""
    with fleet.api.client.stream("GET", f"{PODS}{query}") as lines:
        for line in lines.iter_lines():
            event = json.loads(line)
            if event["type"] == "DELETED":
                return
            phase = event["object"]["status"]["phase"]
            if phase != last:
                yield phase
            last = phase


def test_our_own_program_keeps_machines_that_take_no_work_out_of_the_pool(fleet: Fleet) -> None:
    def without() -> bool:
        members = (fleet.api.get(DOMAIN) or {})["spec"]["members"]
        match: Any = members[0]["selector"]["labelMatch"]
        return "dgx-away" in str(match.get("matchExpressions"))

    fleet.until(without, "fleet-pool-domains does not write into the HyperNode")


def test_each_has_the_rights_that_it_asks_for_and_the_report_says_which_it_uses(
    fleet: Fleet,
) -> None:
    found = reports(fleet)
    of_volcano = {"volcano-scheduler", "volcano-controllers", "volcano-admission"}
    assert set(found) == {*of_volcano, "fleet-pool-domains", "fleet-queue-entry"}
    for name, each in found.items():
        assert each.missing == (), name
        assert 0 < each.used <= each.rights, name
    assert found["fleet-pool-domains"].never_used == ()
    assert found["volcano-scheduler"].version == "1.14.1"
    never = found["volcano-scheduler"].never_used
    assert any("configmaps" in kind for kind in never)
    assert not [kind for kind in never if "watch" in kind and kind.endswith(" pods")]


def test_a_right_that_a_controller_lost_is_missing(fleet: Fleet, ended: None) -> None:
    role = fleet.api.get(MANAGER_ROLE) or {}
    rules = [rule for rule in role["rules"] if "pods" not in rule["resources"]]
    merge = {"Content-Type": "application/merge-patch+json"}
    fleet.api.request("PATCH", MANAGER_ROLE, {"rules": rules}, headers=merge)
    try:
        fleet.gang("refused", 1)
        fleet.until(
            lambda: "create pods in research" in reports(fleet)["volcano-controllers"].missing,
            "the report does not say what was refused",
        )
        (warning,) = reports(fleet)["volcano-controllers"].warnings
        assert "volcano-controllers has no right to" in warning
    finally:
        fleet.api.request("PATCH", MANAGER_ROLE, {"rules": role["rules"]}, headers=merge)


def test_a_controller_that_ends_by_itself_ends_the_rehearsal_and_comes_again(fleet: Fleet) -> None:
    records = {each.name: each for each in fleet.place.processes.records()}
    for name, number in (
        ("volcano-scheduler", signal.SIGKILL),
        ("volcano-admission", signal.SIGTERM),
    ):
        process = psutil.Process(records[name].pid)
        process.send_signal(number)
        fleet.until(lambda: name not in fleet.place.processes.running(), "it runs on")  # noqa: B023  # called at once
        with pytest.raises(RehearsalError, match=f"{name} has ended"):
            fleet.place.processes.check()
        fleet.engine.updated(fleet.release, dict(fleet.release.inputs))
        fleet.place.processes.check()


def test_with_the_release_its_programs_and_webhooks_go(fleet: Fleet) -> None:
    assert fleet.api.items(HOOKS)
    fleet.engine.delete(fleet.release)
    assert not [each for each in fleet.api.items(HOOKS) if "volcano" in each["metadata"]["name"]]
    ours = ["fleet-pool-domains", "fleet-queue-entry"]
    assert [each.name for each in started(fleet.place.directory)] == ours
    assert not [name for name in fleet.place.processes.running() if name.startswith("volcano")]
