"""A plugin of pytest: every rule is made wrong in one way, and it is told whose tests notice.

`python -m pytest -p tests.sweeps.rule_mutation …` with MUTATION (one of MUTATIONS) and NOTICED (a
file to write) in the environment. As each rule has a test file of its own, all rules are wrong at
once; behind the first failure of a file its other tests are skipped.
"""

import json
import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from policies.language.rule import Rule
from policies.rules import ALL
from tests.conftest import ROOT

Predicate = Callable[..., list[str]]

FOLDER = ROOT / "tests" / "unit" / "policies"
_noticed: set[str] = set()


def _silent(_rule: Rule, _predicate: Predicate) -> Predicate:
    return lambda *_: []


def _inverted(rule: Rule, predicate: Predicate) -> Predicate:
    return lambda *asked: [] if predicate(*asked) else [rule.sentence]


PARTS = ("predicate", "across")
MUTATIONS = {
    f"{what} {part}": (part, mutate)
    for part in PARTS
    for what, mutate in (("silent", _silent), ("inverted", _inverted))
}
"""Which part of a rule is made wrong, and how."""


def module_of(rule: Rule) -> Any:
    """The module of a rule."""
    return next(
        module
        for name, module in list(sys.modules.items())
        if name.startswith("policies.rules.") and getattr(module, "RULE", None) is rule
    )


def file_of(rule: Rule) -> str:
    """The test file of a rule, below the folder of the tests of policies."""
    pack, name = module_of(rule).__name__.split(".")[2:]
    return f"rules/{pack}/test_{name}.py"


def pytest_configure() -> None:
    """Makes every rule wrong before a test module is imported."""
    name, mutate = MUTATIONS[os.environ["MUTATION"]]
    for rule in ALL:
        module = module_of(rule)
        right = getattr(rule, name)
        if right is None:
            continue
        wrong = mutate(rule, right)
        object.__setattr__(rule, name, wrong)
        for known, value in list(vars(module).items()):
            if value is right:
                setattr(module, known, wrong)


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(FOLDER).as_posix()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Does not ask further where somebody has noticed."""
    if _file(item) in _noticed:
        pytest.skip("noticed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Remembers the file of a test that fails."""
    report = yield
    if report.failed:
        _noticed.add(_file(item))
    return report


def pytest_sessionfinish() -> None:
    """Writes the names of the files that have noticed."""
    Path(os.environ["NOTICED"]).write_text(json.dumps(sorted(_noticed)))
