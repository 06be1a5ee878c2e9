"""The state of a stack once somebody knows what became of the steps that were pending."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fleet.resume.pending import (
    OPERATIONS,
    UNSEEN,
    Answer,
    on_its_way_s,
    pending,
    settled,
    to_read,
)

URN = "urn:pulumi:dev::gpu-fleet::hcloud:index/server:Server::cpu-1"
BEGUN: dict[str, Any] = {
    "urn": URN,
    "type": "hcloud:index/server:Server",
    "custom": True,
    "protect": True,
}
BEGUN |= {"inputs": {"name": "cpu-1", "userData": "{}", "__defaults": []}}
FOUND = [Answer(ids=("4711",))]


def state(*resources: dict[str, Any], operation: str = "creating") -> dict[str, Any]:
    begun = {"type": operation, "resource": BEGUN}
    manifest = {"time": "2026-11-23T18:00:00Z"}
    found = {"resources": [*resources], OPERATIONS: [begun], "manifest": manifest}
    return {"version": 3, "deployment": found}


def the_entries(before: dict[str, Any], answers: Sequence[Answer] = FOUND) -> list[dict[str, Any]]:
    after = settled(before, answers)
    assert pending(after) == []
    found: list[dict[str, Any]] = after["deployment"]["resources"]
    return found


def test_what_was_found_has_what_was_asked_for_until_it_is_read() -> None:
    (entry,) = the_entries(state())
    assert (entry["id"], entry["protect"], entry["initErrors"]) == ("4711", True, [UNSEEN])
    assert entry["outputs"] == {"name": "cpu-1", "userData": "{}"}
    assert [*to_read(settled(state(), FOUND), state())] == [URN]


def test_what_was_not_found_is_forgotten() -> None:
    assert the_entries(state(), [Answer()]) == []


def test_what_the_state_has_already_stays_as_it_is() -> None:
    known = {**BEGUN, "id": "4711"}
    assert the_entries(state(known)) == [known]


def test_one_that_is_too_many_is_to_be_deleted_whether_protected_or_not() -> None:
    known = {**BEGUN, "id": "4000"}
    first, second = the_entries(state(known))
    assert first == known
    assert (second["id"], second["delete"], "protect" in second) == ("4711", True, False)


def test_of_two_that_were_being_made_one_stays() -> None:
    """As two killed updates leave them, where a provider has filled in other names."""
    before = state()
    earlier = {**BEGUN, "inputs": {**BEGUN["inputs"], "name": "cpu-1-b"}}
    operations = before["deployment"][OPERATIONS]
    operations += [operations[0], {"type": "creating", "resource": earlier}]
    assert [each.inputs["name"] for each in pending(before)] == ["cpu-1", "cpu-1-b"]
    first, second = the_entries(before, [Answer(ids=("4711",)), Answer(ids=("4712",))])
    assert (first["id"], "delete" in first) == ("4711", False)
    assert (second["id"], second["delete"]) == ("4712", True)


def test_one_that_nobody_can_use_is_to_be_deleted() -> None:
    (entry,) = the_entries(state(), [Answer(ids=("AKIA",), useless=True)])
    assert (entry["id"], entry["delete"]) == ("AKIA", True)
    assert [*to_read(settled(state(), [Answer(ids=("A",), useless=True)]), state())] == []


def test_one_whose_place_was_emptied_before_takes_it() -> None:
    gone = {**BEGUN, "id": "4000", "pendingReplacement": True}
    (entry,) = the_entries(state(gone))
    assert entry["id"] == "4711"


def test_what_was_being_changed_is_read() -> None:
    known = {**BEGUN, "id": "4711"}
    before = state(known, operation="updating")
    assert [*to_read(settled(before, [Answer()]), before)] == [URN]


@pytest.mark.parametrize(("ago_s", "waits_s"), [(10, 50), (61, 0), (-5, 60)])
def test_what_was_asked_for_may_be_on_its_way_for_a_minute(ago_s: int, waits_s: int) -> None:
    now = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)
    written = {"manifest": {"time": (now - timedelta(seconds=ago_s)).isoformat()}}
    before = state()
    before["deployment"] |= written
    assert on_its_way_s(before, now) == waits_s
    assert on_its_way_s(settled(before, [Answer()]), now) == 0


def test_the_entries_of_before_are_not_touched() -> None:
    before = state()
    settled(before, FOUND)
    assert before == state()
