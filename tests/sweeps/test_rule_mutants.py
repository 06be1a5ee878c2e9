"""Proof that the tests of the rules bite: a rule that is made wrong breaks its own test file."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from policies.language.rule import Rule
from policies.rules import ALL
from tests.conftest import ROOT
from tests.sweeps.rule_mutation import FOLDER, MUTATIONS, file_of

# what a rule asks across a stack, in a file of its own
FURTHER = {"numa/shipped-plan": "rules/test_user_data.py"}


@cache
def noticed(mutation: str) -> frozenset[str]:
    """The test files that fail where every rule is wrong in one way."""
    files = [str(FOLDER / name) for name in sorted({*map(file_of, ALL), *FURTHER.values()})]
    plugins = ("no:cacheprovider", "no:xdist", "tests.sweeps.rule_mutation")
    options = [word for plugin in plugins for word in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *options, *files]
    with TemporaryDirectory() as folder:
        told = Path(folder, "noticed.json")
        environment = {**os.environ, "MUTATION": mutation, "NOTICED": str(told)}
        environment.pop("PYTEST_ADDOPTS", None)
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert told.is_file(), done.stdout
        return frozenset(json.loads(told.read_text()))


def test_every_rule_has_a_test_file_of_its_own() -> None:
    missing = [rule.id for rule in ALL if not (FOLDER / file_of(rule)).is_file()]

    assert missing == []


@pytest.mark.parametrize(
    ("rule", "mutation"),
    [
        pytest.param(
            rule,
            mutation,
            id=f"{rule.id}-{mutation}",
            marks=() if mutation.startswith("silent") else pytest.mark.slow,
        )
        for rule in ALL
        for mutation, (part, _) in MUTATIONS.items()
        if getattr(rule, part) is not None
    ],
)
def test_a_rule_that_is_made_wrong_is_noticed(rule: Rule, mutation: str) -> None:
    assert {file_of(rule), FURTHER.get(rule.id)} & noticed(mutation)
