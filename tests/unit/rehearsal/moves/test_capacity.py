"""For how long pools had less than their queues deserve, and machines that ran twice."""

from hardware.catalogue import load
from rehearsal.moves.capacity import deserved_gpus, shortages, usd_of_twice
from rehearsal.moves.result import Shortage
from rehearsal.moves.watch import Seen
from settings import Settings, parse
from tests.support.rehearsal.moves import node
from tests.support.stack_settings import with_value

QUEUES = [{"metadata": {"name": "research"}, "spec": {"deserved": {"nvidia.com/gpu": "12"}}}]


def of_research() -> Settings:
    research = {"weight": 4, "gpus": 16, "pool": "dgx"}
    teams = {"research": {"cost_centre": "4100", "queues": {"research": research}}}
    return parse("dev", with_value("teams", teams))


def found(*seen: Seen, deserved: int = 12) -> tuple[Shortage, ...]:
    at_start = (node("dgx-01"), node("dgx-02"))
    shares = {**deserved_gpus(QUEUES), "research": deserved}
    return shortages((*at_start, *seen), shares, of_research(), 20.0)


def test_a_pool_is_short_while_a_machine_that_a_queue_deserves_is_cordoned() -> None:
    cordoned, back = node("dgx-01", 4.0, cordoned=True), node("dgx-01", 10.0)
    assert found(cordoned, back) == (Shortage(pool="dgx", held=12, least=8, seconds=6.0),)


def test_a_machine_that_is_not_ready_or_gone_counts_to_the_end() -> None:
    assert found(node("dgx-01", 15.0, ready=False))[0].seconds == 5.0
    assert found(node("dgx-01", 15.0, gone=True))[0].seconds == 5.0


def test_a_pool_that_keeps_what_its_queues_deserve_is_not_short() -> None:
    assert found(node("dgx-01", 4.0, cordoned=True), deserved=8) == ()
    assert found(deserved=999) == (), "it had no more at first"


def test_only_machines_beyond_the_most_of_before_and_after_ran_twice() -> None:
    price = load("dgx-h200").usd_per_hour
    assert price is not None
    hour = 3600.0
    both = (node("a"), node("b", hour), node("a", 3 * hour, gone=True))
    assert usd_of_twice(both, 4 * hour) == round(2 * price, 2)
    grown = (node("a"), node("b", hour))
    assert usd_of_twice(grown, 4 * hour) == 0.0
