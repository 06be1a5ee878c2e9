"""The rules on the table of holes in other words, and of what only looks like one."""

import pytest

from policies.rules import ALL
from tests.rehearsal.admission import cases_cilium, cases_spelling
from tests.rehearsal.admission.cases_spelling import Row

GOOD = [*cases_spelling.good(), *cases_cilium.good()]
BAD = [*cases_spelling.bad(), *cases_cilium.bad()]
_RULES = {rule.id: rule for rule in ALL}


def told(row: Row) -> list[str]:
    rule = _RULES[row[0]]
    assert rule.predicate is not None
    return rule.predicate(row[2], {**rule.defaults(), "today": "2026-11-21"})


@pytest.mark.parametrize("row", BAD, ids=lambda row: f"{row[0]}: {row[1]}")
def test_another_spelling_is_the_same_hole(row: Row) -> None:
    said = told(row)
    name = row[2]["metadata"]["name"]
    assert said
    assert all(each.startswith(f"{row[2]['kind']} '{name}'") for each in said)


@pytest.mark.parametrize("row", GOOD, ids=lambda row: f"{row[0]}: {row[1]}")
def test_what_only_looks_like_one_passes(row: Row) -> None:
    assert told(row) == []


def test_no_sentence_holds_a_part_of_a_secret() -> None:
    for row in cases_spelling.bad():
        if row[0] == cases_spelling.SECRETS:
            assert not any("hunter2" in said or "a1" in said for said in told(row))
