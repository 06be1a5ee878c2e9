"""What Karpenter makes of the machines that were rented before a change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from hardware.catalogue import load
from rehearsal.api import Api
from rehearsal.karpenter.instances import BOOT_S, REAL_BOOT_S, Instance
from rehearsal.moves import rented
from rehearsal.moves.capacity import price_of
from rehearsal.moves.rented import Replacing, changed_since, twice_rented
from rehearsal.moves.watch import Seen, Watch
from tests.support.rehearsal.moves import claim, node, pod

BUDGET = "No allowed disruptions for disruption reason Drifted due to blocking budget"
POOL = "/apis/karpenter.sh/v1/nodepools/burst-spot"
CLASS = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/burst"
BEGAN, ENDED = 1_000_000.0, 1_000_100.0


@dataclass
class FakeApi:
    """An API server that has events."""

    events: list[dict[str, Any]]

    def items(self, _path: str, *, fieldSelector: str) -> list[dict[str, Any]]:  # noqa: N803  # the API server's
        kind = fieldSelector.rpartition("=")[2]
        return [each for each in self.events if each["involvedObject"]["kind"] == kind]


@dataclass
class FakeWatch:
    """What a watch has seen last."""

    seen: list[Seen]
    rounds: int = 0
    later: Mapping[int, list[Seen]] = field(default_factory=dict)

    def latest(self, kind: str) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for each in self.seen:
            if each.kind == kind:
                found.pop(each.key, None)
                found |= {} if each.gone else {each.key: each.found}
        return found

    def go_on(self) -> None:
        self.rounds += 1
        self.seen += self.later.get(self.rounds, [])


def event(name: str, message: str, at: float, kind: str = "NodePool") -> dict[str, Any]:
    time = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    about = {"kind": kind, "name": name}
    return {"involvedObject": about, "message": message, "lastTimestamp": time}


def replacing(
    watch: FakeWatch, *events: dict[str, Any], paths: frozenset[str] = frozenset({CLASS})
) -> Replacing:
    return Replacing(
        api=cast("Api", FakeApi([*events])),
        watch=cast("Watch", watch),
        changed=paths,
        began=BEGAN,
        ended=ENDED,
        check=watch.go_on,
    )


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {"PAUSE_S": 0.001, "MARKED_S": 5, "REPLACED_S": 5}.items():
        monkeypatch.setattr(rented, name, seconds)


RUNS = (node("ip-1", pool="burst"), pod("rank-0", 0.0, on="ip-1"))


def test_a_marked_machine_stays_for_the_budget_of_its_node_pool() -> None:
    watch = FakeWatch([*RUNS, claim("ip-1", 0.0, drifted=False)], later={3: [claim("ip-1", 2.0)]})
    work = replacing(watch, event("burst-spot", BUDGET, ENDED - 30))
    work.wait()
    assert watch.rounds == 3, "until it was marked, and no longer"
    (left,) = work.left()
    assert (left.name, left.pool, left.node_pool) == ("ip-1", "burst", "burst-spot")
    assert (left.reason, left.blocked, left.by_budget) == ("AMIDrift", BUDGET, True)
    assert left.jobs == ("default/train",)


def test_what_karpenter_said_before_the_node_pool_changed_counts_no_more() -> None:
    work = replacing(FakeWatch([claim("ip-1", 0.0)]), event("burst-spot", BUDGET, ENDED - 30))
    assert work.left()[0].by_budget
    paths = frozenset({POOL})
    old = replacing(
        FakeWatch([claim("ip-1", 0.0)]), event("burst-spot", BUDGET, ENDED - 30), paths=paths
    )
    assert not old.left()[0].by_budget
    other = "No allowed disruptions for disruption reason Empty due to blocking budget"
    assert (
        not replacing(FakeWatch([claim("ip-1", 0.0)]), event("burst-spot", other, ENDED))
        .left()[0]
        .by_budget
    )


def test_the_wait_lasts_until_the_machine_is_gone() -> None:
    emptied = node("ip-1", 3.0, pool="burst")
    emptied.found["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    later = {
        2: [claim("ip-1", 2.0)],
        4: [emptied],
        9: [node("ip-1", 9.0, gone=True), claim("ip-1", 9.0, gone=True)],
    }
    watch = FakeWatch([*RUNS, claim("ip-1", 0.0, drifted=False)], later=later)
    work = replacing(watch)
    work.wait()
    assert (watch.rounds, work.left()) == (9, [])


def test_a_machine_without_such_a_period_is_kept_by_a_pod_in_karpenters_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = 'Pod "research/x" has "karpenter.sh/do-not-disrupt" annotation'
    watch = FakeWatch([*RUNS, claim("ip-1", 0.0)])
    work = replacing(watch, event("burst-ip-1", words, ENDED, kind="NodeClaim"))
    monkeypatch.setattr(rented, "REPLACED_S", 0.2)
    work.wait()
    assert watch.rounds > 5, "it could still begin"
    (left,) = work.left()
    assert (left.blocked, left.by_budget) == (words, False)


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ('Pod "research/x" has "karpenter.sh/do-not-disrupt" annotation', False),
        ("Pdb prevents pod evictions (PodDisruptionBudget=[research/x])", False),
        ("Not all pods would schedule, research/x => no instance type is large enough", True),
        ("Disruption is blocked through the karpenter.sh/do-not-disrupt annotation", True),
    ],
)
def test_no_pod_keeps_a_drifted_machine_that_has_a_termination_grace_period(
    words: str, holds: bool
) -> None:
    """Karpenter says it of machines that it would save, and replaces drifted ones all the same."""
    bounded = claim("ip-1", 0.0)
    bounded.found["spec"]["terminationGracePeriod"] = "24h"
    work = replacing(
        FakeWatch([*RUNS, bounded]), event("burst-ip-1", words, ENDED, kind="NodeClaim")
    )
    (left,) = work.left()
    assert left.blocked == (words if holds else "")


def test_nothing_is_waited_for_where_no_class_and_no_node_pool_has_changed() -> None:
    watch = FakeWatch([*RUNS, claim("ip-1", 0.0, drifted=False)])
    work = replacing(watch, paths=frozenset())
    work.wait()
    assert (watch.rounds, work.left()) == (0, [])
    assert changed_since({POOL: 1, CLASS: 4}, {POOL: 1, CLASS: 5}) == {CLASS}


def instance(name: str, launched: float, ended: float | None, capacity: str) -> Instance:
    return Instance(
        id=name,
        type="p5e.48xlarge",
        zone="us-east-1b",
        subnet="",
        address="",
        image="",
        capacity=capacity,
        token=name,
        template="",
        profile="",
        user_data="",
        launched=launched,
        ended=ended,
    )


def test_a_replaced_machine_ran_twice_for_a_real_boot_and_its_drain() -> None:
    price = load("p5e.48xlarge").usd_per_hour_as("on-demand")
    assert price is not None
    old = instance("old", BEGAN - 60, BEGAN + 40, "on-demand")
    new = instance("new", BEGAN + 10, None, "on-demand")
    usd = (REAL_BOOT_S + 30 - BOOT_S) / 3600 * price
    assert price_of(twice_rented([old, new], BEGAN, ENDED)) == (round(usd, 2), ())
    assert price_of(twice_rented([new], BEGAN, ENDED))[0] == 0, "it is one more than before"
    reserved = [instance("a", 0, BEGAN + 40, "reserved"), instance("b", BEGAN, None, "reserved")]
    assert price_of(twice_rented(reserved, BEGAN, ENDED))[0] == 0, "it is paid for"
