"""The reference of the stack file: current, and without gaps."""

import re

import pytest

from fleet.reference.files import PAGE, page_text
from fleet.reference.page import page
from policies.docs_page import PAGE as RULES_PAGE
from policies.environment import load
from policies.rules import ALL
from settings.keys import SECTIONS, keys
from settings.names import PROJECT
from settings.parse import SECTIONS as PARSED
from tests.conftest import ROOT


def test_the_written_page_is_what_the_types_say() -> None:
    assert PAGE.read_text() == page_text(), "`make docs` writes it anew"


def test_every_section_that_is_parsed_has_its_keys_here() -> None:
    assert {*SECTIONS, "policies"} == set(PARSED)
    for section in PARSED:
        assert f"\n## {PROJECT}:{section}\n" in page()


@pytest.mark.parametrize("key", keys(), ids=lambda key: f"{key.path}-{key.of}")
def test_every_key_has_a_meaning_and_an_example(key: object) -> None:
    assert key.meaning  # type: ignore[attr-defined]  # pytest hands a Key over
    assert key.meaning[0].isupper() or key.meaning[0] in "`12"  # type: ignore[attr-defined]  # a Key
    assert key.meaning.endswith(".")  # type: ignore[attr-defined]  # a Key
    assert key.example is not None  # type: ignore[attr-defined]  # a Key


def test_the_file_with_the_examples_is_valid() -> None:
    assert load(ROOT / "settings" / "example.yaml").settings.environment == "example"


def test_a_key_has_its_unit_default_and_allowed_values() -> None:
    assert (
        "- **`consolidate_after_minutes`** (aws; whole number (minutes), required): Karpenter "
        "removes a node on which no pod has run for so long.\n"
        "  Allowed: a whole number from 1 to 10080.\n"
        "  Example: `consolidate_after_minutes: 10`\n"
    ) in page()


def test_rules_are_linked_to_headings_that_are_there() -> None:
    headings = re.findall(r"^## (.+)$", RULES_PAGE.read_text(), flags=re.MULTILINE)
    anchors = {heading.replace("/", "") for heading in headings}
    linked = re.findall(r"policies\.md#(\S+?)\)", page())
    assert len(linked) == len(ALL)
    assert set(linked) <= anchors
