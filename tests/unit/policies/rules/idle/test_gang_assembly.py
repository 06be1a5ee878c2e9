"""How long the first machines of a gang wait for the last."""

import pytest

from policies.language.rule import Manifest
from policies.rules.idle.gang_assembly import RULE
from tests.support.policies.node_pools import ABSENT, node_pool

AFTER = "spec.disruption.consolidateAfter"
MUST = "NodePool 'burst' must have spec.disruption.consolidateAfter of at least 5m."


def violations(manifest: Manifest, minutes: int = 5) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, {"assembly_minutes": minutes})


def pool_for(purpose: str, path: str = "", value: object = ABSENT) -> Manifest:
    pool = node_pool(path, value)
    pool["spec"]["template"]["metadata"] = {"labels": {"fleet.gpu/purpose": purpose}}
    return pool


@pytest.mark.parametrize(
    ("path", "value"),
    [(AFTER, "4m"), (AFTER, "299s"), (AFTER, "soon"), (AFTER, ABSENT), ("spec.disruption", ABSENT)],
)
def test_a_training_pool_that_gives_a_machine_back_too_early_is_refused(
    path: str, value: object
) -> None:
    assert violations(pool_for("training", path, value)) == [MUST]


@pytest.mark.parametrize("value", ["5m", "10m", "1h", "Never"])
def test_a_training_pool_that_waits_for_the_gang_passes(value: str) -> None:
    assert violations(pool_for("training", AFTER, value)) == []


def test_the_configured_minutes_are_the_bound() -> None:
    assert violations(pool_for("training"), minutes=10) == []
    assert "at least 11m." in violations(pool_for("training"), minutes=11)[0]


def test_a_pool_without_gangs_may_be_quick() -> None:
    assert violations(pool_for("inference", AFTER, "0s")) == []
    assert violations(node_pool(AFTER, "0s")) == []
    assert violations({"kind": "NodePool"}) == []
