"""The page of all rules says what the rules say."""

from dataclasses import replace

from policies.docs_page import PAGE, README, page, with_count
from policies.language.rule import Alert, Rule
from policies.rules import ALL
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool


def test_the_page_in_docs_is_the_one_that_the_rules_make() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


def test_the_readme_has_the_number_of_rules() -> None:
    text = README.read_text(encoding="utf-8")
    assert f"**{len(ALL)} policy rules.**" in text, "run `make docs`"
    assert f"**{len(ALL) + 1} policy rules.**" in with_count(text, [*ALL, ALL[0]])


def test_a_rule_names_the_gates_that_hold_it() -> None:
    rule = Rule(
        id="idle/watched",
        sentence="A watched pot must boil.",
        why="It is dinner.",
        source="https://example.com/",
        predicate=idle_gpu_node_pool.violations,
        admission=idle_gpu_node_pool.RULE.admission,
        alert=Alert(
            name="PotIsCold", expression="1", lasts_minutes=1, severity="warning", summary="Cold."
        ),
    )

    said = page([rule])

    assert "Gates: preview, admission, alert `PotIsCold`." in said
    assert "Gates: preview (of a whole stack)." in page([across_alone(rule)])


def across_alone(rule: Rule) -> Rule:
    return replace(rule, predicate=None, across=lambda *_: [], admission=None, alert=None)


def test_no_two_rules_share_an_id() -> None:
    assert len({rule.id for rule in ALL}) == len(ALL)
