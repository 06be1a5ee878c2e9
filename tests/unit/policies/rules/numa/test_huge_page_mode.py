"""The rule on pools with each mode of transparent huge pages."""

from typing import Literal

import pytest

from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from policies.rules.numa.huge_page_mode import RULE
from tests.support.policies.shipped_pools import (
    Edit,
    argument,
    edited,
    file,
    pool,
    told,
    unit,
)

SYSFS = "/sys/kernel/mm/transparent_hugepage/enabled"
Mode = Literal["always", "madvise", "never"]
MODES: tuple[Mode, ...] = ("always", "madvise", "never")


@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("mode", MODES)
def test_a_mode_fits_every_purpose_but_one(purpose: Purpose, mode: Mode) -> None:
    found = pool(purpose=purpose, tuning=Tuning(transparent_hugepages=mode))
    unfit = (purpose, mode) in (("inference", "always"), ("training", "never"))

    must = f"gpu:pools:BareMetalPool 'p' must not have transparent_hugepage={mode} for its purpose."
    assert told(RULE, found) == ([must] if unfit else [])


@pytest.mark.parametrize("purpose", PURPOSES)
def test_the_mode_that_the_plan_derives_from_the_purpose_passes(purpose: Purpose) -> None:
    assert told(RULE, pool(purpose=purpose)) == []


def test_a_mode_that_was_written_by_hand_counts() -> None:
    served = pool(purpose="inference")

    assert told(RULE, edited(served, argument("quiet transparent_hugepage=always"))) != []


@pytest.mark.parametrize(
    "edit",
    [
        file("/etc/tmpfiles.d/thp.conf", f"w {SYSFS} - - - - never\n"),
        file("/opt/bin/thp", f"#!/bin/sh\necho never > {SYSFS}\n"),
        unit("thp.service", contents=f"[Service]\nExecStart=/bin/sh -c 'echo never >{SYSFS}'\n"),
    ],
)
def test_a_mode_that_is_written_after_boot_counts(edit: Edit) -> None:
    assert told(RULE, edited(pool(purpose="training"), edit)) == [
        f"gpu:pools:BareMetalPool 'p' must not write never to {SYSFS} for its purpose."
    ]
    assert told(RULE, edited(pool(purpose="inference"), edit)) == []
