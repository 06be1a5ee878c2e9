"""The environments of this repository keep every rule that stops a preview."""

from datetime import date

import pytest

from policies.configuration import ConfiguredRule
from policies.environment import load
from policies.gates.judging import findings
from policies.language.rule import Manifest
from policies.verdicts import Resource
from settings import stack_file
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS
from tests.support.policies.environments import stack

TODAY = date(2026, 11, 22)


def broken(rules: tuple[ConfiguredRule, ...], manifests: tuple[Manifest, ...]) -> list[str]:
    """The sentences that stop a preview on a day on which the exemptions hold."""
    return [
        sentence
        for manifest in manifests
        for stack_at_hand in (None, manifests)
        for found in findings(
            manifest,
            rules,
            resource=Resource(kind=str(manifest["kind"]), name="it"),
            today=TODAY,
            stack=stack_at_hand,
        )
        if found.state == "violated"
        for sentence in found.sentences
    ]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_an_environment_keeps_every_mandatory_rule(environment: str) -> None:
    rules = load(stack_file(ROOT, environment)).rules

    assert broken(tuple(rules), stack(environment)) == []
