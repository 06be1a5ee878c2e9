"""What a change costs a day, and what nobody knows the price of."""

import pytest

from fleet.preview.markdown import markdown
from tests.support.preview.changes import (
    burst,
    cpu,
    limit,
    server,
    summary,
)
from tests.support.preview.engine_events import (
    SERVER,
    component,
    ignition,
    shown,
    step,
)


def test_machines_that_always_run_and_machines_that_may_burst_are_priced_apart() -> None:
    found = summary(
        *cpu(server("same", 1), server("create", 2)),
        *burst(limit("reserved", 8, 16)),
    ).cost
    assert found.fixed.before == pytest.approx(0.1897 * 1.16, abs=1e-4)
    assert found.fixed.after == pytest.approx(2 * found.fixed.before)
    assert (found.burst.before, found.burst.after) == pytest.approx((39.80, 79.60))
    assert found.unverified == ()


def test_a_price_that_nobody_has_confirmed_is_flagged() -> None:
    inputs = shown("dgx", "dgx-h200", "{}", "training")
    text = markdown(summary(component("same", "dgx", "BareMetalPool", old=inputs, new=inputs)))
    assert "price not verified: dgx-h200" in text


def test_hardware_without_a_price_is_not_taken_for_free() -> None:
    inputs = shown("old", "gone-from-the-catalogue", "{}")
    text = markdown(summary(component("same", "old", "HetznerPool", old=inputs, new=inputs)))
    assert "no price known, not in the sums: gone-from-the-catalogue" in text


def test_a_cost_over_the_budget_is_told() -> None:
    text = markdown(summary(*burst(limit("reserved", 8, 80))))
    assert "Budget 3,000 USD a day, but everything running at once would cost 9,552" in text


def test_rented_machines_cost_what_their_kind_of_capacity_costs() -> None:
    inputs = shown("burst", "p5en.48xlarge", ignition("p5en.48xlarge"), "training")
    pool = component("same", "burst", "AwsGpuPool", old=inputs, new=inputs)
    limits = (limit("reserved", 8, 8), limit("spot", None, 8), limit("on-demand", None, 8))

    found = summary(pool, *limits).cost.burst

    assert (found.before, found.after) == pytest.approx((41.61, 41.61 + 27.2 + 63.296))


def test_a_gateway_between_sites_costs_what_its_server_costs() -> None:
    gateway = step("create", SERVER, "hel1-server", new={"serverType": "ccx33"})
    found = summary(*cpu(server("same", 1)), gateway).cost
    assert found.fixed.after == pytest.approx(2 * found.fixed.before)
