"""The rule on versions whose support ends soon."""

from policies.rules.isolation.ending_versions import RULE
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.policies.shipped_pools import pool
from tests.support.policies.version_ends import answers


def test_what_ends_within_sixty_days_is_listed_and_not_refused() -> None:
    ends = ["Kubernetes 1.36 ends on 2027-06-28."]
    assert answers(RULE, pool("ccx33", "batch"), "2027-04-28") == []
    assert answers(RULE, pool("ccx33", "batch"), "2027-04-29") == ends
    assert answers(RULE, pool("ccx33", "batch"), "2027-06-28") == ends
    assert answers(RULE, pool("ccx33", "batch"), "2027-06-29") == [], "the other rule's"
    assert RULE.level == "advisory"


def test_how_many_days_ahead_is_a_setting() -> None:
    assert answers(RULE, pool("ccx33", "batch"), "2027-04-28", days=61) != []


def test_an_extension_of_ones_own_ends_with_its_branch() -> None:
    found = pool(driver="580-open", driver_extension=OWN_DRIVER, fabric_manager=OWN_FABRIC_MANAGER)
    assert "NVIDIA's driver 580 ends on 2028-06-30." in answers(RULE, found, "2028-06-30")


def test_an_object_that_is_no_pool_has_no_versions() -> None:
    assert answers(RULE, {"kind": "Pod", "metadata": {"name": "p"}}, "2026-08-28") == []
