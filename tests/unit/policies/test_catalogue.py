"""The page of all rules says what the rules say."""

import pytest

from policies.catalogue import PAGE, page
from policies.rules import ALL
from policies.rules.rule import Rule


def test_the_page_in_docs_is_the_one_that_the_rules_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m policies.catalogue`"


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_a_rule_is_complete(rule: Rule) -> None:
    assert rule.id.count("/") == 1
    assert " must " in rule.sentence
    assert rule.sentence.endswith(".")
    assert rule.why.endswith(".")
    assert rule.source.startswith("https://")
    assert all({"default", "description", "type"} <= set(form) for form in rule.schema.values())


def test_no_two_rules_share_an_id() -> None:
    assert len({rule.id for rule in ALL}) == len(ALL)
