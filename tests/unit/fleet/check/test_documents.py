"""The quick reader of YAML and the careful one, which takes over where a text has an anchor."""

from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from fleet.check import documents as reader
from fleet.check.documents import Document, documents
from tests.conftest import ROOT

ANCHOR = "---\nanchored: &here {}\n"
SCALARS = """\
# a comment
plain: [a b, 1, -7, 0x1F, 017, 0o17, 08, 1.0, 1.5, 1e3, .5, 1_000, 8080:80, 2026-01-01, .inf, ~, '']
words: [yes, No, on, OFF, true, False, null, Null, nan, y]
quoted: ["1", 'true', "~", "a\\u00e9b", "\\x41"]
folded: >-
  one
  two
literal: |
  a: b
"a b": {empty: , nested: {deep: [[], [{}]]}}
"""
LISTED = """\
kind: List
items:
- {a: 1}

- items:
  - b: 2
  - c:
      items: [d,
        e]
"""


def lines(found: Document, value: Any) -> Sequence[Sequence[int]]:
    """The lines of all lists called `items`."""
    inside = value.get("items") if isinstance(value, dict) else None
    if not isinstance(inside, list):
        return []
    deeper = [each for item in inside for each in lines(found, item)]
    return [found.lines_of(inside), *deeper]


@pytest.mark.parametrize(
    "text",
    [
        *(SCALARS, LISTED, "", "# nothing\n---\n---\na: 1\n...\n", "text", "- 1\n- [2]\n"),
        *('{"a": [1, 2.0, null, true], "items": [{"b": 1},\n {"c": 2}]}', '["\\ud83d\\ude00"]'),
        *("1: a\n", "true: a\n", "? [a]\n: b\n", "<<: {a: 1}\nb: 2\n", "=: 1\n", "a: <<\n"),
        *("a: !!str 1\n", "a: ! 1\n", "[]: 1\n", "a:\n- b\n-\n"),
        (ROOT / "stacks/Pulumi.prod.yaml").read_text(),
    ],
)
def test_both_readers_find_the_same_values_at_the_same_lines(text: str) -> None:
    try:
        quick = list(documents(text))
    except yaml.YAMLError as error:
        with pytest.raises(type(error), match=r".*"):
            list(documents(f"{text}\n{ANCHOR}"))
        return
    careful = list(documents(f"{text}\n{ANCHOR}"))[:-1]

    assert repr([each.value for each in quick]) == repr([each.value for each in careful])
    assert [each.line for each in quick] == [each.line for each in careful]
    assert [lines(each, each.value) for each in quick] == [
        lines(each, each.value) for each in careful
    ]


@pytest.mark.parametrize("text", [SCALARS, LISTED], ids=["scalars", "a list"])
def test_plain_yaml_needs_no_careful_reader(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def careful(_text: str) -> None:
        pytest.fail("the careful reader was asked")

    monkeypatch.setattr(reader, "_carefully", careful)

    assert len(list(documents(text))) == 1


@pytest.mark.parametrize("more", ["", f"\n{ANCHOR}"], ids=["quick", "careful"])
def test_an_equals_sign_is_text(more: str) -> None:
    found = next(iter(documents(f'enum: [=, "!="]\nop: =\n=: 1\n{more}')))

    assert found.value == {"enum": ["=", "!="], "op": "=", "=": 1}


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        ("a: 1\na: 2\n", "the key 'a' is there twice"),
        ("a: {b: 1, b: 2}\n", "the key 'b' is there twice"),
        ('1: a\n"1": b\n', "the key '1' is there twice"),
        ('true: a\n"true": b\n', "the key 'true' is there twice"),
    ],
)
def test_a_mistake_in_a_later_document_leaves_the_earlier_ones(mistake: str, said: str) -> None:
    found = documents(f"good: 1\n---\n{mistake}")

    assert next(found).value == {"good": 1}
    with pytest.raises(yaml.YAMLError, match=said):
        next(found)


def test_the_corpus_reads_alike() -> None:
    for path in sorted((ROOT / "tests/corpus/tuned").rglob("*.yaml"))[:10]:
        text = path.read_text()
        assert [each.value for each in documents(text)] == [
            each.value for each in list(documents(text + ANCHOR))[:-1]
        ]


@pytest.mark.parametrize("more", ["", f"\n{ANCHOR}"], ids=["quick", "careful"])
def test_both_readers_refuse_what_is_too_deep(more: str) -> None:
    assert len(list(documents(f"{'[' * 200}{']' * 200}{more}"))) == 1 + bool(more)
    with pytest.raises(RecursionError):
        list(documents(f"{'[' * 600}{']' * 600}{more}"))
