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
from tests.unit.policies.mutation import MUTATIONS, file_name

FOLDER = Path("tests/unit/policies")
FURTHER = {
    "numa/shipped-plan": "test_user_data.py"
}  # what is asked across a stack, in its own file


def file_of(rule: Rule) -> Path:
    """The test file of a rule; the oldest stands one folder higher."""
    within = FOLDER / "rules" / file_name(rule)
    return within if (ROOT / within).is_file() else FOLDER / file_name(rule)


@cache
def noticed(mutation: str) -> frozenset[str]:
    """The test files that fail where every rule is wrong in one way."""
    own = {str(file_of(rule)) for rule in ALL}
    files = sorted({*own, *(str(FOLDER / "rules" / name) for name in FURTHER.values())})
    plugins = ("no:cacheprovider", "no:xdist", "tests.unit.policies.mutation")
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
    missing = [rule.id for rule in ALL if not (ROOT / file_of(rule)).is_file()]

    assert missing == []
    assert len({file_name(rule) for rule in ALL}) == len(ALL)


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
    assert {file_name(rule), FURTHER.get(rule.id)} & noticed(mutation)
