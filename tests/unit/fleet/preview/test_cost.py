"""What a change costs a day, and what nobody knows the price of."""

import pytest

from fleet.preview.markdown import markdown
from tests.unit.fleet.preview.changes import (
    burst,
    cpu,
    limit,
    server,
    summary,
)
from tests.unit.fleet.preview.events import (
    component,
    shown,
)


def test_what_always_runs_and_what_may_burst_are_priced_apart() -> None:
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
    assert "Budget 3,000 USD a day, and all of it running would cost 9,552" in text
