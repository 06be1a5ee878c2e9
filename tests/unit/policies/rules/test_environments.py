"""The environments of this repository keep every rule that stops a preview."""

import pytest

from policies.configuration import ConfiguredRule
from policies.environment import load
from policies.language.rule import Manifest
from settings import stack_file
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS
from tests.support.policies.environments import stack


def broken(configured: ConfiguredRule, manifests: tuple[Manifest, ...]) -> list[str]:
    rule, settings = configured.rule, configured.settings
    alone = rule.predicate and [each for one in manifests for each in rule.predicate(one, settings)]
    across = rule.across and [
        each for one in manifests for each in rule.across(one, settings, manifests)
    ]
    return [*(alone or []), *(across or [])]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_keeps_every_mandatory_rule(environment: str) -> None:
    rules = load(stack_file(ROOT, environment)).rules
    mandatory = [each for each in rules if each.level == "mandatory"]

    said = {each.rule.id: broken(each, stack(environment)) for each in mandatory}

    assert {rule: sentences for rule, sentences in said.items() if sentences} == {}
