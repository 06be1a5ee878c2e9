"""What each queue deserves of its pool, in whole GPUs."""

from hypothesis import given
from hypothesis import strategies as st

from components.platform.queue_shares import deserved
from settings import Queue

POOLS = {"dgx": 128, "burst": 64}
RENTED = {"burst"}


def test_the_queues_of_a_pool_share_it_by_weight_whatever_others_weigh() -> None:
    queues = {
        "production": Queue(weight=8, gpus=128, pool="dgx"),
        "research": Queue(weight=2, gpus=96, pool="dgx"),
        "scavenger": Queue(weight=1, gpus=64, pool="dgx"),
        "production-burst": Queue(weight=8, gpus=64, pool="burst"),
    }
    assert deserved(queues, POOLS, RENTED) == {
        "production": 93,
        "research": 23,
        "scavenger": 11,
        "production-burst": 64,
    }


def test_gpus_above_a_queues_bound_go_to_the_other_queues() -> None:
    queues = {
        "small": Queue(weight=6, gpus=16, pool="dgx"),
        "large": Queue(weight=1, gpus=128, pool="dgx"),
    }
    assert deserved(queues, POOLS, RENTED) == {"small": 16, "large": 112}


def test_a_queue_alone_deserves_no_more_than_it_may_hold() -> None:
    alone = {"alone": Queue(weight=1, gpus=96, pool="dgx")}
    assert deserved(alone, POOLS, RENTED) == {"alone": 96}, "Volcano's webhook refuses more"


def test_a_queue_without_a_pool_takes_back_owned_gpus_and_rents_beyond_them() -> None:
    queues = {
        "research": Queue(weight=3, gpus=128, pool="dgx"),
        "research-burst": Queue(weight=3, gpus=64, pool="burst"),
        "interactive": Queue(weight=1, gpus=64),
    }
    assert deserved(queues, POOLS, RENTED) == {
        "research": 96,
        "research-burst": 64,
        "interactive": 32,
    }


def test_where_all_is_rented_a_queue_without_a_pool_has_its_part_of_that() -> None:
    queues = {
        "burst": Queue(weight=3, gpus=64, pool="burst"),
        "interactive": Queue(weight=1, gpus=8),
    }
    assert deserved(queues, {"burst": 64}, RENTED) == {"burst": 56, "interactive": 8}


SHARES = st.builds(
    Queue,
    weight=st.integers(1, 65535),
    gpus=st.integers(1, 200),
    pool=st.sampled_from(["dgx", "burst", None]),
)


@given(st.dictionaries(st.text(max_size=2), SHARES, max_size=6))
def test_shares_are_never_more_than_a_bound_or_than_what_is_owned(
    queues: dict[str, Queue],
) -> None:
    found = deserved(queues, POOLS, RENTED)
    assert all(0 <= found[name] <= queue.gpus for name, queue in queues.items())
    rented = [name for name, queue in queues.items() if queue.pool in RENTED]
    assert sum(found[name] for name in rented) <= POOLS["burst"]
    assert sum(share for name, share in found.items() if name not in rented) <= POOLS["dgx"]
