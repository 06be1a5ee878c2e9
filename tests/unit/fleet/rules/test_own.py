"""`fleet rules new`, `test`, `docs` and `exempt`, without an API server."""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app

OWNS = "acme/who-owns"


def fleet(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["rules", *words])
    return done.exit_code, done.output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the rule that `fleet rules new` writes, and no programs of the toolchain."""
    monkeypatch.setattr("toolchain.build.is_built", lambda _programs: False)
    code, said = fleet("new", OWNS, "--folder", str(tmp_path))
    assert code == 0, said
    return tmp_path


def test_a_new_rule_passes_its_own_cases(folder: Path) -> None:
    code, said = fleet("test", str(folder))

    assert code == 0, said
    assert "1 rule, 2 cases: each verdict is right at the preview" in said
    assert "not tried at an API server: build it with `make toolchain`" in said


def test_a_new_rule_writes_over_nothing_and_takes_no_name_of_the_program(folder: Path) -> None:
    for name, expected in (
        (OWNS, "is there already"),
        ("idle/mine", 'the pack "idle" is the program\'s'),
        ("mine", 'its id is "mine"; allowed: pack/name'),
        ("queues/mine", "has the name of another policy"),
    ):
        code, said = fleet("new", name, "--folder", str(folder))
        assert code == 2
        assert expected in said


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("verdict: bad", "verdict: good", "is good, and the preview says: "),
        ("labels: {owner: ada}", "labels: {}", "is good, and the preview says: "),
        (
            "metadata: {name: trainer, namespace: default}",
            "metadata: {name: trainer, labels: {owner: ada}}",
            "Deployment 'trainer' is bad, and the preview finds nothing.",
        ),
        ("verdict: bad", "verdikt: bad", "case 2 has no verdict; allowed: good or bad."),
        ("verdict: bad", "verdict: maybe", "case 2 has the verdict 'maybe'; allowed: good or bad."),
        ("  object:\n", "  objekt:\n", "case 2 has no object; allowed: a manifest"),
        ("- verdict: bad", "#", "who_owns.yaml has no bad object"),
    ],
)
def test_what_the_cases_show_or_lack_is_a_sentence(
    folder: Path, before: str, after: str, expected: str
) -> None:
    file = folder / "acme/who_owns.yaml"
    text = file.read_text()
    if after == "#":
        text, after = text[: text.index(before)], ""
    file.write_text(text.replace(before, after))

    code, said = fleet("test", str(folder))

    assert code == 1
    assert expected in said


@pytest.mark.parametrize(
    ("answer", "kind"), [("True", "bool"), ("'must not be'", "str"), ("[1]", "list")]
)
def test_a_predicate_that_answers_with_no_sentences_is_told_of_in_one(
    folder: Path, answer: str, kind: str
) -> None:
    file = folder / "acme/who_owns.py"
    file.write_text(file.read_text().replace("    return []", f"    return {answer}"))

    code, said = fleet("test", str(folder))

    assert code == 1
    assert f"the predicate of acme/who-owns answers with {kind} on Deployment" in said
    assert "allowed: a list of sentences, empty for what keeps the rule." in said


def test_without_the_extra_the_cases_are_tried_and_the_server_is_not(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    for name in [name for name in sys.modules if name.startswith(("rehearsal.", "fleet.rules."))]:
        monkeypatch.delitem(sys.modules, name)

    code, said = fleet("test", str(folder))

    assert code == 0, said
    assert "not tried at an API server: `pip install 'gpu-fleet[rehearsal]'`" in said


def test_a_verb_that_needs_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    for name in [name for name in sys.modules if name.startswith(("rehearsal", "fleet.env"))]:
        monkeypatch.delitem(sys.modules, name)

    done = CliRunner().invoke(app, ["envs"])

    assert done.exit_code == 2
    assert "This needs the module psutil: `pip install 'gpu-fleet[rehearsal]'`" in done.output


def test_a_rule_on_kubernetes_without_cel_is_named(folder: Path) -> None:
    file = folder / "acme/who_owns.py"
    text = file.read_text()
    file.write_text(text[: text.index("    # the same at")] + ")\n")

    code, said = fleet("test", str(folder))

    assert code == 0
    assert "acme/who-owns judges objects of Kubernetes and has no CEL" in said


def test_a_rule_that_throws_is_named_with_its_line(folder: Path) -> None:
    file = folder / "acme/who_owns.py"
    file.write_text(file.read_text().replace("    if manifest", "    1 / 0\n    if manifest"))

    code, said = fleet("test", str(folder))

    assert code == 1
    assert "the rule failed on Deployment 'trainer' with ZeroDivisionError at who_owns.py:" in said


def test_the_page_has_the_rule_with_what_its_file_says(folder: Path) -> None:
    assert fleet("docs", str(folder))[0] == 0

    page = (folder / "README.md").read_text()
    assert f"## {OWNS}\n" in page
    assert "What people must know to keep the rule" in page


def test_an_exemption_is_checked_and_printed_for_the_stack_file() -> None:
    soon = str(datetime.now(UTC).date() + timedelta(days=90))
    words = ["--owner", "ada", "--reason", "a demo", "--namespace", "desk", "--until"]
    code, said = fleet("exempt", "idle/notebooks", "Notebook/ada", *words, soon)
    assert code == 0
    assert "gpu-fleet:policies:\n    idle/notebooks:\n      exemptions:" in said
    assert "resource: Notebook/ada" in said
    for rule, resource, day, expected in (
        ("idle/notebok", "Notebook/ada", soon, 'did you mean "idle/notebooks"?'),
        ("idle/notebooks", "ada", soon, 'exemptions[0].resource is "ada"'),
        ("idle/notebooks", "Notebook/ada", "2099-02-31", "a day of the calendar"),
        ("idle/notebooks", "Notebook/ada", "2020-01-31", "--until is 2020-01-31; allowed: a day"),
        ("idle/notebooks", "Notebook/ada", "2099-01-31", "--until is 2099-01-31; allowed: a day"),
    ):
        code, said = fleet("exempt", rule, resource, *words, day)
        assert code == 2
        assert expected in said


def test_an_exemption_says_where_it_is_and_a_kind_that_nobody_knows_is_told_of() -> None:
    soon = str(datetime.now(UTC).date() + timedelta(days=90))
    words = ["--owner", "ada", "--reason", "a demo", "--until", soon]

    code, said = fleet("exempt", "idle/notebooks", "Notebook/ada", *words)
    assert code == 2
    assert 'is "Notebook/ada"; with it, namespace or namespace_label must say where.' in said

    label = ("--namespace-label", "fleet.gpu/stage=sandbox")
    code, said = fleet("exempt", "idle/notebooks", "Notebook/ada", *words, *label)
    assert code == 0
    assert "namespace_label: fleet.gpu/stage=sandbox" in said
    assert "No rule" not in said

    code, said = fleet("exempt", "idle/job-deadline", "Deploymnt/legacy", *words, *label)
    assert code == 0
    assert 'knows the kind "Deploymnt". Did you mean "Deployment"?' in said


def test_an_exemption_that_the_stack_file_would_refuse_is_not_printed() -> None:
    soon = str(datetime.now(UTC).date() + timedelta(days=90))
    words = ["--owner", "ada", "--reason", "a probe", "--until", soon]
    asked = ["exempt", "isolation/host-access", "Pod/probe", *words, "--namespace"]

    code, said = fleet(*asked, "research")
    assert (code, 'is "research"; allowed: a namespace of no queue' in said) == (2, True)
    assert fleet(*asked, "bench")[0] == 0
