"""The rule on versions whose support has ended."""

from policies.rules.isolation.supported_versions import RULE
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.policies.shipped_pools import pool
from tests.support.policies.version_ends import answers, with_driver


def test_what_has_ended_is_refused_from_the_day_after() -> None:
    assert answers(RULE, with_driver("535"), "2026-06-30") == []
    assert answers(RULE, with_driver("535"), "2026-07-01") == [
        "NVIDIA's driver 535 ended on 2026-06-30."
    ]
    assert answers(RULE, pool(), "2027-06-29") == [
        "Kubernetes 1.36 ended on 2027-06-28.",
        "NVIDIA's driver 570 ended on 2026-02-28.",
    ]
    assert RULE.level == "mandatory"


def test_a_pool_without_gpus_has_no_driver_that_could_end() -> None:
    assert answers(RULE, pool("ccx33", "batch"), "2027-06-29") == [
        "Kubernetes 1.36 ended on 2027-06-28."
    ]


def test_an_extension_of_ones_own_ends_with_its_branch() -> None:
    found = pool(driver="580-open", driver_extension=OWN_DRIVER, fabric_manager=OWN_FABRIC_MANAGER)
    ended = "NVIDIA's driver 580 ended on 2028-06-30."
    assert ended not in answers(RULE, found, "2028-06-30")
    assert ended in answers(RULE, found, "2028-07-01")


def test_a_version_that_nobody_here_knows_is_refused_with_the_place_to_add_it() -> None:
    assert answers(RULE, with_driver("700-open"), "2026-01-01") == [
        "NVIDIA's driver 700 has no last day of support in settings/support.py."
    ]


def test_an_object_that_is_no_pool_has_no_versions() -> None:
    assert answers(RULE, {"kind": "Pod", "metadata": {"name": "p"}}, "2026-10-28") == []
