"""For how long pools had less than their queues deserve, and machines that ran twice."""

from dataclasses import replace

from hardware.catalogue import load
from rehearsal.moves.capacity import Shares, deserved_gpus, price_of, shortages, twice
from rehearsal.moves.result import Shortage
from rehearsal.moves.watch import Seen
from settings import Settings, parse
from tests.support.rehearsal.moves import node
from tests.support.stack_settings import with_value

UNPRICED = "ccx63"
QUEUES = [{"metadata": {"name": "research"}, "spec": {"deserved": {"nvidia.com/gpu": "12"}}}]


def of_research(**where: object) -> Settings:
    research = {"weight": 4, "gpus": 16, **(where or {"pool": "dgx"})}
    teams = {"research": {"cost_centre": "4100", "queues": {"research": research}}}
    return parse("dev", with_value("teams", teams))


AT_START = (node("dgx-01"), node("dgx-02"))


def found(
    *seen: Seen,
    deserved: int = 12,
    at_start: tuple[Seen, ...] = AT_START,
    before: Settings | None = None,
    after: Settings | None = None,
) -> tuple[Shortage, ...]:
    shares = {**deserved_gpus(QUEUES), "research": deserved}
    old, new = (Shares(settings=each or of_research(), deserved=shares) for each in (before, after))
    return shortages((*at_start, *seen), old, new, 20.0)


def test_a_pool_is_short_while_a_machine_that_a_queue_deserves_is_cordoned() -> None:
    cordoned, back = node("dgx-01", 4.0, cordoned=True), node("dgx-01", 10.0)
    assert found(cordoned, back) == (Shortage(pool="dgx", held=12, least=8, seconds=6.0),)


def test_a_machine_that_is_not_ready_or_gone_counts_to_the_end() -> None:
    assert found(node("dgx-01", 15.0, ready=False))[0].seconds == 5.0
    assert found(node("dgx-01", 15.0, gone=True))[0].seconds == 5.0


def test_a_pool_that_keeps_what_its_queues_deserve_is_not_short() -> None:
    assert found(node("dgx-01", 4.0, cordoned=True), deserved=8) == ()
    assert found(deserved=999) == (), "it had no more at first"


def test_a_queue_without_a_pool_and_one_of_several_hold_their_part_of_each() -> None:
    cordoned = node("dgx-01", 4.0, cordoned=True)
    rented = node("ip-1", pool="burst", hardware="p5en.48xlarge")
    for anywhere in ({"priorities": ["research"]}, {"pools": ["dgx", "burst"]}):
        several = of_research(**anywhere)
        (short,) = found(cordoned, at_start=(*AT_START, rented), before=several, after=several)
        assert (short.pool, short.held, short.least, short.seconds) == ("dgx", 12, 8, 16.0)


def test_instances_and_shares_are_parts_of_their_gpus() -> None:
    mig = {
        "nvidia.com/mig-1g.18gb": "16",
        "nvidia.com/mig-2g.35gb": "8",
        "nvidia.com/mig-3g.71gb": "8",
    }
    for offers in (mig, {"nvidia.com/gpu": "32"}):
        first = tuple(node(name, offers=offers) for name in ("dgx-01", "dgx-02"))
        (short,) = found(node("dgx-01", 4.0, cordoned=True, offers=offers), at_start=first)
        assert (short.held, short.least) == (12, 8)


def test_a_pool_that_the_change_removes_is_held_to_what_it_was() -> None:
    gone = (node("dgx-01", 5.0, gone=True), node("dgx-02", 5.0, gone=True))
    whole = of_research()
    without = replace(
        whole, pools={name: pool for name, pool in whole.pools.items() if name != "dgx"}, teams={}
    )
    (short,) = found(*gone, after=without)
    assert short == Shortage(pool="dgx", held=12, least=0, seconds=15.0)


def test_only_machines_beyond_the_most_of_before_and_after_ran_twice() -> None:
    price = load("dgx-h200").usd_per_hour
    assert price is not None
    hour = 3600.0
    both = (node("a"), node("b", hour), node("a", 3 * hour, gone=True))
    assert price_of(twice(both, 4 * hour)) == (round(2 * price, 2), ())
    grown = (node("a"), node("b", hour))
    assert price_of(twice(grown, 4 * hour)) == (0.0, ())


def test_hardware_without_a_known_price_is_named_where_it_ran_twice() -> None:
    assert load(UNPRICED).usd_per_hour is None
    assert price_of({(UNPRICED, ""): 2.0}) == (0.0, (UNPRICED,))
    assert price_of({(UNPRICED, ""): 0.0}) == (0.0, ()), "it did not run twice"
