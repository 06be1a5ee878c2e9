"""The end of an environment: what works on rented machines then, and what is said of a bad end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rehearsal import rented_work
from rehearsal.ending import Ending, take_down
from rehearsal.extras import TakenDown
from rehearsal.karpenter.instances import Instances, Launch
from rehearsal.nodes import NODE_CLAIMS
from rehearsal.twin import Twin
from settings import Settings, load
from tests.conftest import ROOT
from tests.unit.rehearsal.faults.test_money import machine

CLAIM = {
    "metadata": {
        "name": "burst-1",
        "uid": "1",
        "deletionTimestamp": "2026-11-26T12:00:00Z",
        "finalizers": ["karpenter.sh/termination"],
    }
}
GROUP = NODE_CLAIMS.rpartition("/")[0]


@dataclass
class Cluster:
    """Its pods run as soon as their gang is there, on a machine each; it has one NodeClaim."""

    directory: Path
    works: bool = True
    gangs: list[dict[str, Any]] = field(default_factory=list)

    def get(self, path: str) -> dict[str, Any]:
        if path == "/apis":
            return {"groups": [{"preferredVersion": {"groupVersion": "karpenter.sh/v1"}}]}
        if path == GROUP:
            return {"resources": [{"name": "nodeclaims", "kind": "NodeClaim", "verbs": ["list"]}]}
        return {}

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        if path == NODE_CLAIMS:
            return [CLAIM]
        names = [f"volcano.sh/job-name={each['metadata']['name']}" for each in self.gangs]
        asked = query.get("labelSelector") in names and self.works
        return [{"status": {"phase": "Running"}}] * 2 if asked else []

    def create(self, _collection: str, manifest: dict[str, Any]) -> None:
        self.gangs.append(manifest)
        for id_ in ("i-1", "i-2"):
            launch = Launch(digest="", errors=[], instances=[id_])
            Instances(self.directory).add(id_, launch, [machine(id_, 0.0)], "x")


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load(ROOT / "stacks/Pulumi.dev.yaml")


def ended(cluster: Cluster, settings: Settings, act: Callable[[], TakenDown]) -> Ending:
    engine = SimpleNamespace(
        directory=cluster.directory,
        state=list,
        processes=SimpleNamespace(check=lambda: None),
    )
    twin = SimpleNamespace(
        engine=engine, control_plane=SimpleNamespace(api=cluster), lakefs=lambda: None
    )
    return take_down(cast("Twin", twin), settings, lambda *_given: act(), lambda _text: None)


def test_an_end_that_hangs_says_what_is_left_what_hangs_and_what_was_protected(
    tmp_path: Path, settings: Settings
) -> None:
    failed = TakenDown(
        protected={"dgx": "2 BareMetalHost"},
        resources=232,
        left=("Queue burst (resources in the state)",),
        failed="fleet destroy: 1 rented machine is still there: burst-1.",
    )
    found = ended(Cluster(tmp_path), settings, lambda: failed)
    assert found.protected == {"dgx": "2 BareMetalHost"}
    assert found.hanging == ("NodeClaim burst-1 (karpenter.sh/termination)",)
    assert found.left == (*failed.left, "machine i-1", "machine i-2")
    assert [*found.problems()] == [
        failed.failed,
        (
            "After `fleet destroy` is left: Queue burst (resources in the state), machine i-1, "
            "machine i-2."
        ),
        "After `fleet destroy` finalizers hold: NodeClaim burst-1 (karpenter.sh/termination).",
    ]


def test_a_gang_is_at_work_on_rented_machines_when_the_end_begins(
    tmp_path: Path, settings: Settings
) -> None:
    cluster, seen = Cluster(tmp_path), []

    def act() -> TakenDown:
        seen.extend(cluster.gangs)
        return TakenDown(protected={}, resources=1, left=())

    found = ended(cluster, settings, act)
    (gang,) = seen
    annotations = gang["spec"]["tasks"][0]["template"]["metadata"]["annotations"]
    assert annotations["fleet.gpu/runs-for"] == "24h"
    assert found.drained == ("i-1", "i-2")


def test_a_gang_that_does_not_run_is_said_and_the_end_is_rehearsed_all_the_same(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rented_work, "RUNS_WITHIN_S", 0.0)
    gone = TakenDown(protected={}, resources=232, left=())
    found = ended(Cluster(tmp_path, works=False), settings, lambda: gone)
    assert (found.drained, found.resources) == ((), 232)
    assert next(found.problems()).startswith("research-burst/destroyed-at-work did not run within")
