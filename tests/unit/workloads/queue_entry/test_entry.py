"""Which gangs their own pods keep out of a queue, and who may come in."""

from typing import Any

import pytest

from settings.names import GPU
from workloads.controllers.queue_entry.entry import Gang, within

QUOTA = f"requests.{GPU}"


def pod(gpus: int = 8) -> dict[str, Any]:
    requests = {"cpu": "16", GPU: str(gpus)}
    return {"spec": {"containers": [{"name": "train", "resources": {"requests": requests}}]}}


def gang(name: str, *, pods: int, members: int, phase: str | None = "Pending") -> Gang:
    spec = {"minMember": members, "minResources": {GPU: str(8 * members), QUOTA: str(8 * members)}}
    group = {"metadata": {"name": name}, "spec": spec, "status": {"phase": phase}}
    return Gang(group=group, pods=[pod() for _ in range(pods)])


def let_in(*gangs: Gang, used: int, hard: int = 16) -> list[str]:
    quota = {"used": {QUOTA: str(used)}, "hard": {QUOTA: str(hard)}}
    return [each.name for each in within(gangs, quota)]


@pytest.mark.parametrize("phase", ["Pending", "", None])
def test_a_gang_that_has_its_pods_comes_in_although_they_fill_the_quota(phase: str | None) -> None:
    assert let_in(gang("whole", pods=2, members=2, phase=phase), used=16) == ["whole"]


def test_a_gang_without_pods_is_left_to_volcano() -> None:
    assert let_in(gang("none", pods=0, members=2), used=0) == []


@pytest.mark.parametrize("phase", ["Inqueue", "Running", "Unknown", "Completed"])
def test_a_gang_that_is_in_is_not_let_in_again(phase: str) -> None:
    assert let_in(gang("in", pods=2, members=2, phase=phase), used=16) == []


def test_a_gang_with_a_part_of_its_pods_comes_in_if_the_others_have_room() -> None:
    part = gang("part", pods=1, members=2)
    assert let_in(part, used=8) == ["part"]
    assert let_in(part, used=16) == [], "another holds what it lacks"


def test_what_an_operator_asks_for_by_the_bare_name_counts_too() -> None:
    part = gang("part", pods=1, members=2)
    del part.group["spec"]["minResources"][QUOTA]
    assert let_in(part, used=8) == ["part"]
    assert let_in(part, used=16) == []


def test_the_room_of_a_gang_that_is_in_and_has_no_pods_yet_is_its_own() -> None:
    inside = gang("in", pods=0, members=1, phase="Inqueue")
    assert let_in(gang("part", pods=1, members=2), inside, used=8) == []


def test_two_gangs_with_a_part_of_their_pods_do_not_share_room() -> None:
    gangs = (gang("older", pods=1, members=2), gang("newer", pods=1, members=2))
    assert let_in(*gangs, used=16, hard=24) == ["older"]


def test_amounts_are_read_as_kubernetes_writes_them() -> None:
    most = {"used": {QUOTA: "1992"}, "hard": {QUOTA: "2k"}}
    assert within([gang("part", pods=1, members=2)], most)


def test_a_quota_that_nobody_has_counted_yet_lets_in_whole_gangs_alone() -> None:
    whole, part = gang("whole", pods=2, members=2), gang("part", pods=1, members=2)
    assert [each.name for each in within([whole, part], {"hard": {QUOTA: "0"}})] == ["whole"]
