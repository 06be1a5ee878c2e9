"""The rights of Karpenter's user beside those that its provider's own template grants.

Not proven by use: no IAM judges what the controller asks in a rehearsal.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from components.platform.karpenter import policies
from settings.versions import KARPENTER
from tests.support.karpenter_template import (
    CLONE,
    CLUSTER,
    NOT_TAKEN,
    OURS,
    QUEUE,
    REGION,
    ROLE,
    TAG,
    TEMPLATE,
    granted,
    reread,
)


@pytest.fixture
def ours() -> dict[str, Mapping[str, Any]]:
    documents: list[Any] = [
        policies.lifecycle(CLUSTER, REGION, [ROLE]),
        policies.discovery(REGION, QUEUE),
    ]
    return {each["Sid"]: each for document in documents for each in document["Statement"]}


def test_the_table_is_of_the_release_that_the_fleet_runs() -> None:
    assert f"v{KARPENTER.version}" == TAG, "read the template of the new release (its docstring)"


def test_every_statement_of_the_template_is_taken_or_left_out_for_a_reason() -> None:
    assert {*OURS, *NOT_TAKEN} == set(TEMPLATE)
    assert not set(OURS) & set(NOT_TAKEN)


@pytest.mark.parametrize("sid", OURS)
def test_actions_resources_and_conditions_are_the_templates(
    ours: Mapping[str, Mapping[str, Any]], sid: str
) -> None:
    assert granted(ours[OURS[sid]]) == TEMPLATE[sid]


def test_nothing_is_granted_beyond_the_template(ours: Mapping[str, Mapping[str, Any]]) -> None:
    assert set(ours) == set(OURS.values())


def test_the_table_and_each_value_of_a_condition_are_the_templates_own(
    ours: Mapping[str, Mapping[str, Any]],
) -> None:
    clone = os.environ.get(CLONE)
    if not clone:
        pytest.skip(f"{CLONE} names no clone of aws/karpenter-provider-aws")
    theirs = reread(Path(clone))
    assert {sid: granted(each) for sid, each in theirs.items()} == dict(TEMPLATE)
    for sid, own in OURS.items():
        conditions = ours[own].get("Condition", {})
        if (
            sid == "AllowPassingInstanceRole"
        ):  # theirs also names EC2 in China, where none is rented
            continue
        assert conditions == theirs[sid].get("Condition", {}), sid
