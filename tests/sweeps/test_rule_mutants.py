"""Proof that the tests of the rules bite: a rule that is made wrong breaks its own test file."""

import json
import os
import subprocess
import sys
from pathlib import Path

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


@pytest.fixture(scope="module")
def noticed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, frozenset[str]]:
    """By mutation: the test files that fail where every rule is wrong in that way."""
    folder = tmp_path_factory.mktemp("mutants")
    own = {str(file_of(rule)) for rule in ALL}
    files = sorted({*own, *(str(FOLDER / "rules" / name) for name in FURTHER.values())})
    plugins = ("no:cacheprovider", "no:xdist", "tests.unit.policies.mutation")
    options = [word for plugin in plugins for word in ("-p", plugin)]
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *options, *files]
    running = {}
    for number, mutation in enumerate(MUTATIONS):
        told = folder / f"{number}.json"
        environment = {**os.environ, "MUTATION": mutation, "NOTICED": str(told)}
        environment.pop("PYTEST_ADDOPTS", None)
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        running[mutation] = (process, told)
    found = {}
    for mutation, (process, told) in running.items():
        output, _ = process.communicate()
        assert told.is_file(), output
        found[mutation] = frozenset(json.loads(told.read_text()))
    return found


def test_every_rule_has_a_test_file_of_its_own() -> None:
    missing = [rule.id for rule in ALL if not (ROOT / file_of(rule)).is_file()]

    assert missing == []
    assert len({file_name(rule) for rule in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("rule", "mutation"),
    [
        pytest.param(rule, mutation, id=f"{rule.id}-{mutation}")
        for rule in ALL
        for mutation, (part, _) in MUTATIONS.items()
        if getattr(rule, part) is not None
    ],
)
def test_a_rule_that_is_made_wrong_is_noticed(
    noticed: dict[str, frozenset[str]], rule: Rule, mutation: str
) -> None:
    assert {file_name(rule), FURTHER.get(rule.id)} & noticed[mutation]
