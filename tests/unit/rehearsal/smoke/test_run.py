"""The smoke set runs beside the rest of a rehearsal, and ends with it."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest

from policies.environment import load
from rehearsal.api import Api, ApiServerError
from rehearsal.errors import RehearsalError
from rehearsal.karpenter import instances
from rehearsal.machines import Refusal
from rehearsal.smoke import followed, renting, run
from rehearsal.smoke.jobs import smoke_set
from rehearsal.smoke.run import RunningSmoke, ready_machines, running
from settings import Settings, stack_file
from tests.conftest import ROOT
from tests.support.rehearsal import fleets
from tests.unit.rehearsal.smoke.test_followed import DENIED
from tests.unit.rehearsal.smoke.test_jobs import spanning
from tests.unit.rehearsal.smoke.test_rented import MACHINE as RENTED_MACHINE

MACHINE = replace(RENTED_MACHINE, launched=inf)


class FakeApi:
    """A cluster in which every job ends at once, and half a core is refused."""

    def __init__(self) -> None:
        self.made: dict[str, dict[str, Any]] = {}
        self.deleted: list[str] = []
        self.stays: dict[str, int] = {}
        self.breaks = False
        self.asked = 0

    def create(self, path: str, body: dict[str, Any]) -> bool:
        name = body["metadata"]["name"]
        if name == "smoke-refused":
            raise ApiServerError(422, "Invalid", DENIED)
        self.made[f"{path}/{name}"] = body
        return True

    def delete(self, path: str) -> dict[str, Any] | None:
        self.deleted.append(path)
        return {} if path in self.stays else None

    def get(self, path: str) -> dict[str, Any] | None:
        if path in self.stays:
            self.stays[path] -= 1
            if self.stays[path] < 0:
                del self.stays[path]
            return {"metadata": {}}
        if "/nodes/" in path:
            pool = path.rpartition("/")[2].partition("-")[0]
            return {"metadata": {"labels": {"fleet.gpu/pool": pool}}}
        if path not in self.made:
            return None
        if "volcano" in path:
            return {"status": {"state": {"phase": "Completed"}}}
        return {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}

    def items(self, path: str, **_query: str) -> list[dict[str, Any]]:
        self.asked += 1
        if self.breaks:
            raise RehearsalError("The API server cannot be reached.")
        return [pod for body in self.made.values() for pod in pods(body)] if "pods" in path else []


def pods(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Each pod of a job, on the machine of its pool with its number."""
    spec = body["spec"]
    task = spec["tasks"][0] if "tasks" in spec else {"replicas": 1, "template": spec["template"]}
    label = followed.JOB_LABELS["tasks" in spec]
    pool = task["template"]["spec"].get("nodeSelector", {}).get("fleet.gpu/pool", "dgx")
    metadata = {
        "namespace": body["metadata"]["namespace"],
        "labels": {label: body["metadata"]["name"]},
    }
    return [
        {
            "metadata": metadata,
            "spec": {"nodeName": f"{pool}-{number}"},
            "status": {"phase": "Succeeded"},
        }
        for number in range(task["replicas"])
    ]


@pytest.fixture
def api() -> FakeApi:
    return FakeApi()


@pytest.fixture
def settings() -> Settings:
    return load(stack_file(ROOT, "dev")).settings


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "POLL_S", 0.001)


def started(
    api: FakeApi, settings: Settings, folder: Path, watch: Callable[[], None] = lambda: None
) -> Any:
    return running(cast("Api", api), settings, fleets.dev(), folder, watch)


def silent(_text: str) -> None:
    pass


def test_all_jobs_are_made_at_once_and_followed_to_their_end(
    api: FakeApi, settings: Settings, tmp_path: Path
) -> None:
    with started(api, settings, tmp_path) as jobs:
        assert {path.rpartition("/")[2] for path in api.made} == {
            *("smoke-one-gpu", "smoke-gang-owned", "smoke-gang-rented")
        }
        jobs.wait(silent)
        found = jobs.result()
    assert {each.kind: each.outcome for each in found.runs} == {
        "one GPU": "ended",
        "gang on owned machines": "ended",
        "gang that rents": "ended",
        "refused": "refused",
    }
    assert found.left_out == {"slice": "no owned pool shares its GPUs"}
    assert found.problems == (
        (
            "gang that rents: job research-burst/smoke-gang-rented ran, and Karpenter rented no "
            "machine for it."
        ),
    )


def test_a_gang_that_spans_is_made_when_all_others_are_over(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    create = api.create

    def noted(path: str, body: dict[str, Any]) -> bool:
        if body["metadata"]["name"] == "smoke-gang-spans":
            made.extend(each.kind for each in jobs.result().runs if each.ends_after_s is None)
        return create(path, body)

    monkeypatch.setattr(api, "create", noted)
    with started(api, spanning(), tmp_path) as jobs:
        jobs.wait(silent)
        found = jobs.result()
    assert made == ["gang that spans"]
    assert [run.kind for run in found.runs] == ["one GPU", "refused", "gang that spans"]


def test_machines_that_do_not_go_are_a_problem(
    api: FakeApi, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "alive", lambda _directory: [MACHINE])
    monkeypatch.setattr(renting, "RENTED_DEADLINE_S", 0)
    with started(api, settings, tmp_path) as jobs:
        jobs.wait(silent)
        problems = jobs.result().problems
    assert any("do not go" in each for each in problems)


def test_nobody_waits_for_the_machines_of_a_gang_that_failed(
    api: FakeApi, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "alive", lambda _directory: [MACHINE])
    monkeypatch.setattr(followed, "RENTED_DEADLINE_S", 0)
    monkeypatch.setattr(followed, "ENDED", ("Complete",))  # no gang ends
    monkeypatch.setattr(followed, "DEADLINE_S", 0)
    with started(api, settings, tmp_path) as jobs:
        jobs.wait(silent)
        found = jobs.result()
    assert {run.kind for run in found.runs if run.outcome == "failed"} == {
        "gang on owned machines",
        "gang that rents",
    }
    assert not any("do not go" in each for each in found.problems)


def test_a_server_that_has_ended_ends_the_wait(
    api: FakeApi, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instances, "alive", lambda _directory: [MACHINE])

    def watch() -> None:
        if api.made:
            raise RehearsalError("kwok was killed by signal 9.")

    with (
        pytest.raises(RehearsalError, match="kwok was killed"),
        started(api, settings, tmp_path, watch) as jobs,
    ):
        jobs.wait(silent)
    asked = api.asked
    assert not jobs._thread.is_alive()  # nobody else sees it
    assert api.asked == asked


def test_an_error_of_the_thread_is_one_of_the_rehearsal(
    api: FakeApi, settings: Settings, tmp_path: Path
) -> None:
    api.breaks = True
    with (
        pytest.raises(RehearsalError, match="cannot be reached"),
        started(api, settings, tmp_path) as jobs,
    ):
        jobs.wait(silent)


def test_the_jobs_of_a_rehearsal_before_are_gone_before_they_are_made_anew(
    api: FakeApi, settings: Settings, tmp_path: Path
) -> None:
    path = "/apis/batch/v1/namespaces/research/jobs/smoke-one-gpu"
    api.stays[path] = 3
    with started(api, settings, tmp_path):
        assert path in api.deleted
        assert api.stays == {}
        assert path in api.made


def test_machines_that_did_not_come_up_take_no_job(settings: Settings) -> None:
    fleet = fleets.dev()
    assert ready_machines(settings, fleet) == {"dgx": 2, "burst": 2, "cpu": 3}
    refused = Refusal(name="burst", pool="burst", reasons=("no kubelet",))
    worse = replace(fleet, nodes=fleet.nodes[:0], refusals=(refused,))
    assert ready_machines(settings, worse) == {"dgx": 0, "burst": 0, "cpu": 0}


def test_the_line_of_the_phase_says_what_is_waited_for(api: FakeApi, settings: Settings) -> None:
    set_ = smoke_set(settings)
    jobs = RunningSmoke(
        api=cast("Api", api),
        settings=settings,
        directory=Path(),
        set_=set_,
        watch=lambda: None,
    )
    jobs.followed = [followed.Followed(api=cast("Api", api), job=job) for job in set_.jobs]
    jobs.followed[0].outcome = "ended"
    assert jobs.told == (
        "1 of 4 done, waiting for: gang on owned machines, gang that rents, refused"
    )
