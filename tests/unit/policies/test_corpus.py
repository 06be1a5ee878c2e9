"""The corpus is whole, and docs/rule-accuracy.md says what the rules say of it."""

import json
from hashlib import sha256

import pytest

from policies.language.rule import Rule
from policies.rules import ALL
from tests import accuracy
from tests.support import corpus
from tests.support.corpus import Case

_LEAST = 3


@pytest.fixture(scope="module")
def tuned() -> list[Case]:
    return corpus.cases("tuned")


@pytest.fixture(scope="module")
def held_out() -> list[Case]:
    return corpus.cases("held_out")


def test_a_verdict_names_rules_that_exist(tuned: list[Case], held_out: list[Case]) -> None:
    known = {rule.id for rule in ALL}
    for case in [*tuned, *held_out]:
        assert {case.about, *case.breaks, *case.open} <= known, case.id
        assert all({"apiVersion", "kind", "metadata"} <= set(one) for one in case.objects), case.id
    for one in corpus.public_references()["repositories"].values():
        for expected in one["files"].values():
            assert all({*each["breaks"], *each.get("open", ())} <= known for each in expected)


def test_the_hash_of_its_id_puts_a_case_into_its_half(
    tuned: list[Case], held_out: list[Case]
) -> None:
    for half, found in enumerate((tuned, held_out)):
        assert all(int(sha256(case.id.encode()).hexdigest(), 16) % 2 == half for case in found)
    names = [case.id for case in (*tuned, *held_out)]
    assert len(set(names)) == len(names) >= 300


@pytest.mark.parametrize("rule", corpus.SCOPE, ids=lambda rule: rule.id)
def test_a_rule_has_violations_and_near_misses(
    rule: Rule, tuned: list[Case], held_out: list[Case]
) -> None:
    about = [case for case in (*tuned, *held_out) if case.about == rule.id]
    bad = sum(rule.id in case.breaks for case in about)
    good = sum(case.speaks_of(rule.id) and rule.id not in case.breaks for case in about)
    assert min(bad, good) >= _LEAST, f"tests/corpus has {bad} violations, {good} near misses of it"


def test_the_page_of_accuracy_is_what_the_rules_say_now(
    tuned: list[Case], held_out: list[Case]
) -> None:
    public = json.loads(accuracy.MEASURED.read_text(encoding="utf-8"))

    said = accuracy.page(corpus.judged(tuned), corpus.judged(held_out), public)

    assert accuracy.PAGE.read_text(encoding="utf-8") == said, "run `make docs`"


def test_public_manifests_are_judged_as_the_page_says() -> None:
    folder = corpus.public_folder()
    if folder is None:
        pytest.skip(f"{corpus.PUBLIC_FOLDER} names no folder with clones of the repositories")
    public = json.loads(accuracy.MEASURED.read_text(encoding="utf-8"))

    now = accuracy.measured_public(folder)

    assert {**now, "date": public["date"]} == public, "run `make docs`"
