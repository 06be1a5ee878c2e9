"""What a job of the smoke set did, and whether that is what its kind must do."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from policies.environment import load
from rehearsal.api import Api, ApiServerError
from rehearsal.smoke import followed
from rehearsal.smoke.followed import Followed
from rehearsal.smoke.jobs import OWNED, REFUSED, RENTED, SmokeJob, smoke_jobs
from settings import stack_file
from tests.conftest import ROOT

FORBIDDEN = (
    "jobs.batch \"smoke-refused\" is forbidden: ValidatingAdmissionPolicy 'fleet-{0}' with binding "
    "'fleet-{0}' denied request: "
)
DENIED = (
    f"{FORBIDDEN.format('numa')}numa/admissible-shape: Job 'smoke-refused' must ask for at most "
    "8 GPUs"
)
OTHER_RULE = (
    f"{FORBIDDEN.format('cost')}cost/required-labels: Job 'smoke-refused' must have the label team"
)
WEBHOOK = (
    'Internal error occurred: failed calling webhook "validatejob.volcano.sh": failed to call '
    'webhook: Post "https://127.0.0.1:1/jobs/validate": connect: connection refused'
)
OF_A_WEBHOOK = (
    'admission webhook "validatejob.volcano.sh" denied the request: spec.maxRetry cannot be 0'
)
HALF_A_CORE = {
    "phase": "Failed",
    "reason": "SMTAlignmentError",
    "message": "Pod was rejected: requested 7 cpus",
}


class FakeApi:
    """A cluster whose nodes are of the pool that their name begins with."""

    def __init__(
        self, job: Mapping[str, Any] | None = None, *, denies: ApiServerError | None = None
    ) -> None:
        self.job = job or {}
        self.denies = denies
        self.lists: dict[str, list[dict[str, Any]]] = {}

    def create(self, _path: str, _body: object) -> bool:
        if self.denies:
            raise self.denies
        return True

    def get(self, path: str) -> Mapping[str, Any]:
        if path.startswith("/api/v1/nodes/"):
            pool = path.rpartition("/")[2].partition("-")[0]
            return {"metadata": {"labels": {"fleet.gpu/pool": pool}}}
        return self.job

    def items(self, path: str, **_query: str) -> list[dict[str, Any]]:
        return self.lists.get(path, [])


def of_kind(kind: str) -> SmokeJob:
    settings = load(stack_file(ROOT, "dev")).settings
    return next(job for job in smoke_jobs(settings) if job.kind == kind)


def follow(kind: str, api: FakeApi) -> Followed:
    found = Followed(api=cast("Api", api), job=of_kind(kind))
    found.create()
    return found


def pod(job: SmokeJob, node: str = "", **status: object) -> dict[str, Any]:
    label = "volcano.sh/job-name" if "tasks" in job.manifest["spec"] else followed.JOB_LABELS[0]
    name = job.name.partition("/")[2]
    metadata = {"namespace": job.namespace, "labels": {label: name}}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": status}


def in_phase(phase: str) -> dict[str, Any]:
    return {"status": {"state": {"phase": phase}}}


def test_a_gang_starts_when_all_of_its_pods_run_and_not_before() -> None:
    api = FakeApi(in_phase("Running"))
    gang = follow(OWNED, api)
    first, second = pod(gang.job, "dgx-1", phase="Running"), pod(gang.job, phase="Pending")
    gang.look([first, second])
    assert gang.starts_after_s is None
    gang.look([first, pod(gang.job, "dgx-2", phase="Running")])
    assert gang.starts_after_s is not None
    assert gang.outcome is None
    api.job = in_phase("Completed")
    gang.look([pod(gang.job, "dgx-1", phase="Succeeded"), pod(gang.job, phase="Succeeded")])
    assert (gang.result.outcome, gang.result.nodes) == ("ended", ("dgx-1", "dgx-2"))
    assert gang.result.as_it_must
    assert gang.problem == ""


def test_pods_of_another_job_are_none_of_its_own() -> None:
    gang = follow(OWNED, FakeApi(in_phase("Running")))
    gang.look([pod(of_kind(RENTED), "burst-1", phase="Running")] * 2)
    assert gang.starts_after_s is None
    assert gang.nodes == {}


def test_a_job_on_the_machines_of_another_pool_is_a_problem() -> None:
    gang = follow(OWNED, FakeApi(in_phase("Completed")))
    gang.look([pod(gang.job, node, phase="Succeeded") for node in ("dgx-1", "cpu-1")])
    assert gang.problem == (
        "gang on owned machines: job research/smoke-gang-owned was put on cpu-1, which is not of "
        "pool dgx."
    )


def test_what_the_api_server_refuses_is_refused_in_the_words_of_the_rule() -> None:
    refused = follow(REFUSED, FakeApi(denies=ApiServerError(422, "Invalid", DENIED)))
    assert refused.problem == ""
    assert refused.result.said == (
        "by the API server: numa/admissible-shape: Job 'smoke-refused' must ask for at most 8 GPUs"
    )


@pytest.mark.parametrize(
    ("error", "outcome", "says"),
    [
        (ApiServerError(422, "Invalid", OTHER_RULE), "refused", "cost/required-labels: Job"),
        (ApiServerError(500, "InternalError", WEBHOOK), "failed", "failed calling webhook"),
        (ApiServerError(403, "Forbidden", OF_A_WEBHOOK), "failed", "cannot be 0"),
        (
            ApiServerError(404, "NotFound", "the server could not find the requested resource"),
            "failed",
            "404 NotFound: the server could not find",
        ),
    ],
    ids=["another rule", "a webhook that is down", "a webhook", "a kind that is not there"],
)
def test_only_the_rule_that_it_must_break_refuses_the_job_that_must_be_refused(
    error: ApiServerError, outcome: str, says: str
) -> None:
    refused = follow(REFUSED, FakeApi(denies=error))
    assert refused.result.outcome == outcome
    assert not refused.result.as_it_must
    assert says in refused.problem


@pytest.mark.parametrize("reason", ["OutOfcpu", "UnexpectedAdmissionError", "Evicted"])
def test_a_pod_that_fails_for_another_reason_is_not_refused_by_kubelet(reason: str) -> None:
    refused = follow(REFUSED, FakeApi())
    refused.look([pod(refused.job, "dgx-1", phase="Failed", reason=reason, message="no")])
    assert refused.result.outcome == "failed"
    assert refused.problem.endswith(f"and failed: on dgx-1: {reason}: no.")


def test_what_a_kubelet_refuses_is_refused_with_its_reason() -> None:
    refused = follow(REFUSED, FakeApi())
    refused.look([pod(refused.job, "dgx-1", **HALF_A_CORE)])
    assert refused.problem == ""
    assert refused.said == (
        "by kubelet on dgx-1: SMTAlignmentError: Pod was rejected: requested 7 cpus"
    )


def test_a_job_that_must_be_refused_and_runs_is_a_problem() -> None:
    complete = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    refused = follow(REFUSED, FakeApi(complete))
    refused.look([pod(refused.job, "dgx-1", phase="Succeeded")])
    assert refused.problem == (
        "refused: job research/smoke-refused must be refused by numa/admissible-shape or by "
        "kubelet, and ran."
    )


def test_a_job_that_must_run_and_is_refused_is_a_problem_with_the_reason() -> None:
    gang = follow(OWNED, FakeApi(in_phase("Running")))
    gang.look([pod(gang.job, "dgx-1", **HALF_A_CORE)])
    assert gang.problem.startswith(
        "gang on owned machines: job research/smoke-gang-owned was refused by kubelet on dgx-1: "
        "SMTAlignmentError"
    )


@pytest.mark.parametrize("kind", [OWNED, RENTED])
def test_a_job_that_waits_too_long_says_what_schedulers_and_karpenter_say(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "DEADLINE_S", 0)
    monkeypatch.setattr(followed, "RENTED_DEADLINE_S", 0)
    api = FakeApi(in_phase("Pending"))
    launched = {
        "type": "Launched",
        "status": "False",
        "message": "We currently do not have sufficient p5e.48xlarge capacity",
    }
    claim = {"metadata": {"name": "burst-x"}, "status": {"conditions": [launched]}}
    api.lists["/apis/karpenter.sh/v1/nodeclaims"] = [claim]
    gang = follow(kind, api)
    message = "2/2 tasks in gang unschedulable"
    waits = {"type": "PodScheduled", "status": "False", "message": message}
    gang.look([pod(gang.job, phase="Pending", conditions=[waits])] * 2)
    assert f"{message}. NodeClaim burst-x: Launched: We currently do not have" in gang.problem
    assert gang.result.outcome == "failed"


def test_a_job_of_which_volcano_makes_no_pods_says_what_events_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(followed, "DEADLINE_S", 0)
    api = FakeApi(in_phase("Pending"))
    about = {"namespace": "research", "name": "smoke-gang-owned"}
    event = {"type": "Warning", "involvedObject": about, "message": "exceeded quota: gpus"}
    other = {"type": "Warning", "involvedObject": {**about, "name": "x"}, "message": "not this"}
    api.lists["/api/v1/events"] = [other, event]
    gang = follow(OWNED, api)
    gang.look([])
    assert gang.problem.endswith("it has not ended after 0 s: exceeded quota: gpus.")
