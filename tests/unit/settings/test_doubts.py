"""Warnings about what a valid stack file says."""

from typing import Any

import pytest

from components.platform.priority_classes import CLASSES
from settings import parse
from settings.doubts import PROVIDERS, doubts
from settings.names import PRIORITIES
from tests.support.stack_settings import with_value

KEY = "pulumi:disable-default-providers"


def told(cidr: str = "10.10.0.0/16", providers: object = PROVIDERS, **more: str) -> list[str]:
    configuration: Any = with_value("sites.fra.cidr", cidr)
    configuration["sites"]["fra"] |= more
    document = {"config": {} if providers is None else {KEY: providers}}
    return [*doubts(document, parse("dev", configuration))]


@pytest.mark.parametrize("cidr", ["10.10.0.0/16", "172.20.0.0/16", "100.70.0.0/16"])
def test_a_private_range_of_a_hall_is_no_warning(cidr: str) -> None:
    assert told(cidr) == []


def test_a_public_range_of_a_hall_is_told_under_the_name_in_the_file() -> None:
    for more in ({}, {"was": "frankfurt"}):
        (warning,) = told("8.8.0.0/16", **more)
        assert warning.startswith('gpu-fleet:sites.fra.cidr is "8.8.0.0/16", a public range: ')


@pytest.mark.parametrize(
    ("providers", "missing"),
    [(["kubernetes"], "aws, hcloud"), ([], "kubernetes, aws, hcloud"), (None, "kubernetes, aws")],
)
def test_default_providers_left_on_are_told(providers: object, missing: str) -> None:
    (warning,) = told(providers=providers)
    assert warning.startswith(f"{KEY} leaves out {missing}")


@pytest.mark.parametrize("providers", [["*"], PROVIDERS, ["*", "aws"]])
def test_default_providers_that_are_off_are_no_warning(providers: object) -> None:
    assert told(providers=providers) == []


def test_a_priority_class_that_the_fleet_does_not_make_is_told_with_those_that_it_makes() -> None:
    path = "teams.research.queues.research.priorities"
    configuration: Any = with_value(path, ["research", "hgh"])
    (warning,) = doubts({"config": {KEY: PROVIDERS}}, parse("dev", configuration))
    assert warning.startswith(f"gpu-fleet:{path} has hgh, of which")
    assert "makes production, research, interactive, scavenger" in warning


def test_the_fleet_makes_the_priority_classes_that_the_settings_name() -> None:
    assert tuple(CLASSES) == PRIORITIES
