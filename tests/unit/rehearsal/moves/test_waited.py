"""Jobs for whose end a drain waits are ended in its place, and noted."""

import time
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from rehearsal.api import Api
from rehearsal.moves import waited
from rehearsal.moves.waited import DrainedJobs
from rehearsal.moves.watch import Seen, Watch
from tests.support.rehearsal.moves import node, pod

DEADLINE_S = 20.0
VOLCANO, BATCH = "batch.volcano.sh/v1alpha1", "batch/v1"


@dataclass
class FakeApi:
    """An API server that takes the end of a pod."""

    ended: list[str] = field(default_factory=list)

    def request(self, _method: str, path: str, *_: object, **__: object) -> None:
        self.ended.append(path.split("/")[-2])


@dataclass(frozen=True)
class FakeWatch:
    """What a watch has seen."""

    seen: tuple[Seen, ...]

    def latest(self, kind: str) -> dict[str, dict[str, Any]]:
        return {each.key: each.found for each in self.seen if each.kind == kind}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waited, "PATIENCE_S", 0.0)
    monkeypatch.setattr(waited, "POLL_S", 0.001)


def of(name: str, on: str, job: str, version: str = BATCH) -> Seen:
    found = pod(name, 0.0, on=on, job=job)
    metadata = found.found["metadata"]
    metadata["ownerReferences"][0]["apiVersion"] = version
    return found


def ended(*seen: Seen, count: int) -> tuple[set[str], set[str]]:
    """The pods that were ended, and the jobs that count as waited for."""
    api = FakeApi()
    drained = DrainedJobs(cast("Api", api), cast("Watch", FakeWatch(seen)))
    drained.start()
    deadline = time.monotonic() + DEADLINE_S
    while len(drained.waited) < count and time.monotonic() < deadline:
        time.sleep(0.001)
    drained.stop()
    return {*api.ended}, {each.job for each in drained.waited}


def emptied(name: str) -> Seen:
    found = node(name)
    found.found["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    return found


def test_a_drain_of_one_machine_waits_for_the_whole_gang_and_for_no_other_job() -> None:
    gang = (of("rank-0", "a", "gang", VOLCANO), of("rank-1", "b", "gang", VOLCANO))
    others = (of("solo", "a", "solo"), of("apart", "b", "apart"))
    assert ended(node("a", cordoned=True), node("b"), *gang, *others, count=3) == (
        {"rank-0", "rank-1", "solo"},
        {"default/gang", "default/solo"},
    )


def test_karpenters_drain_waits_for_pods_that_must_not_be_disrupted_alone() -> None:
    stays = of("stays", "ip-1", "stays")
    stays.found["metadata"]["annotations"] = {"karpenter.sh/do-not-disrupt": "true"}
    evicted = of("evicted", "ip-1", "evicted")
    assert ended(emptied("ip-1"), evicted, stays, count=1) == ({"stays"}, {"default/stays"})
