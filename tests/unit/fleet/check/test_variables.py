"""`fleet check --values FILE --set VAR=value`: what envsubst and Flux fill in."""

from pathlib import Path

import pytest

from fleet.check.variables import Variables, VariablesError, variables
from tests.support.fleet_check import run

MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '%s'}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${A} and ${A}", "1 and 1"),
        ("${B:-two} ${B:=two} ${B-two} ${B:-}", "two two two "),
        ("$${A} $A $(A) ${}", "${A} $A $(A) ${}"),
        ("${A:-two}", "1"),
        ("${NONE}", "${NONE}"),
    ],
)
def test_a_variable_is_filled_in_as_envsubst_does(text: str, said: str) -> None:
    assert Variables(values={"A": "1"}).filled_in(text, "a.yaml") == said


def test_a_variable_without_a_value_is_told_once_with_its_first_place() -> None:
    Path("a.yaml").write_text(MAP % "${GPUS}" + "---\n" + MAP % "${GPUS} ${GPUS}")

    result = run("-f", "a.yaml", "--set", "OTHER=1")

    assert result.exit_code == 0
    told = " ".join(result.stdout.split())
    assert told.count("GPUS") == 2  # in its one sentence
    assert "a.yaml:4 and 2 more: GPUS has no value; set it: --set GPUS=…" in told
    assert (
        "2 objects against dev: nothing is broken in what was looked into, 1 not looked into"
        in told
    )
    assert run("-f", "a.yaml", "--set", "OTHER=1", "--strict").exit_code == 1


def test_without_values_a_script_keeps_its_variables() -> None:
    Path("a.yaml").write_text(MAP % "${HOME}")

    assert run("-f", "a.yaml", "--strict").stdout == "1 object against dev: all rules hold.\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("values.yaml", "A: 08\nB: yes\n"),
        ("values.json", '{"A": "08", "B": "yes"}'),
        ("values.env", "# of dev\nA=08\n\nexport B='yes'\n"),
    ],
)
def test_values_come_from_a_file_as_texts_and_words_go_first(name: str, text: str) -> None:
    Path(name).write_text(text)

    found = variables(Path(name), ["A=09=x"])

    assert found is not None
    assert found.values == {"A": "09=x", "B": "yes"}
    assert variables(None, []) is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("v.yaml", "a: {b: c}", "v.yaml has no values: allowed: a mapping from names to texts."),
        ("v.yaml", "- a", "v.yaml has no values: allowed: a mapping from names to texts."),
        ("v.yaml", "a: [", "v.yaml has no values: allowed: a mapping from names to texts."),
        ("v.env", "A=1\nhunter2\n", "v.env:2: it is no VAR=value."),
    ],
)
def test_a_file_without_values_is_refused_without_its_text(name: str, text: str, said: str) -> None:
    Path(name).write_text(text)

    with pytest.raises(VariablesError) as refused:
        variables(Path(name), [])
    assert str(refused.value) == said


def test_a_word_that_sets_nothing_is_refused_without_its_value() -> None:
    Path("a.yaml").write_text(MAP % "b")

    result = run("-f", "a.yaml", "--set", "1TOKEN=hunter2")

    assert result.exit_code == 2
    assert "--set 1TOKEN: allowed: VAR=value." in result.stderr
    assert "hunter2" not in result.output


def test_values_that_are_no_text_are_refused_in_a_sentence() -> None:
    Path("values.env").write_bytes(b"A=\xff\n")
    Path("a.yaml").write_text(MAP % "${A}")

    refused = run("-f", "a.yaml", "--values", "values.env")

    assert refused.exit_code == 2
    assert "values.env is no text in UTF-8 (byte 3); allowed:" in " ".join(refused.stderr.split())
