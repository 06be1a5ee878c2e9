"""A Karpenter that starts hears of prices before it hears where machine types are to be had."""

from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from rehearsal.karpenter.prices_first import PLACES, PRICES, PricesFirst


@pytest.fixture
def order() -> PricesFirst:
    order = PricesFirst()
    order.starts()
    return order


def test_the_first_answer_names_no_place_and_the_second_waits_for_all_prices(
    order: PricesFirst,
) -> None:
    with ThreadPoolExecutor() as pool:
        for _start in range(2):
            assert order.is_early(PLACES)
            second = pool.submit(order.is_early, PLACES)
            order.told("pricing:GetProducts")
            order.told("ec2:DescribeSpotPriceHistory")
            assert wait([second], timeout=0.1).not_done
            order.told("pricing:GetProducts")
            assert not second.result(timeout=5)
            order.starts()


def test_places_come_at_once_where_prices_were_told_before(order: PricesFirst) -> None:
    assert order.is_early(PLACES)
    for action in PRICES.elements():
        order.told(action)
    with ThreadPoolExecutor() as pool:
        assert not pool.submit(order.is_early, PLACES).result(timeout=5)


def test_nothing_else_waits_and_nobody_who_has_not_started(order: PricesFirst) -> None:
    assert not order.is_early("ec2:CreateFleet")
    assert not PricesFirst().is_early(PLACES)
