"""The help of each verb: its group, its examples, and what a shell completes."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from fleet.cli.command import SECTIONS
from fleet.cli.main import app
from settings import environments
from tests.conftest import ROOT

COMMAND: Any = typer.main.get_command(app)


def leaves(command: Any, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of each command that does something."""
    below = getattr(command, "commands", None)
    if below is None:
        yield words
    for name, each in (below or {}).items():
        yield from leaves(each, *words, name)


VERBS = [*leaves(COMMAND)]
each_verb = pytest.mark.parametrize("verb", VERBS, ids=" ".join)


def shown(*words: str) -> str:
    return CliRunner().invoke(app, [*words, "--help"], terminal_width=80).stdout


def parse(words: list[str]) -> None:
    """Read a command line as the command does, without what it does; raises for a wrong one."""
    command, context, rest = COMMAND, None, words
    while hasattr(command, "commands"):
        context = command.make_context("fleet", list(rest), parent=context)
        rest = [*context._protected_args, *context.args]
        _, command, rest = command.resolve_command(context, rest)
    command.make_context("fleet", list(rest), parent=context)


def test_every_verb_stands_in_a_group() -> None:
    text = shown()
    titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert [title for title in titles if title in SECTIONS] == list(SECTIONS)
    assert "More" not in titles, "a verb without rich_help_panel"
    rows = re.findall(r"^  ([a-z][a-z-]*) {2,}[A-Z]", text, re.MULTILINE)
    assert sorted(rows) == sorted({verb[0] for verb in VERBS})


@each_verb
def test_each_help_has_examples_that_can_be_typed(verb: tuple[str, ...]) -> None:
    text = shown(*verb)
    lines = text.replace("\\\n", "").splitlines()
    found = [each[1] for line in lines if (each := re.search(r"(?:^ +|\| )(fleet .+)", line))]
    begins = " ".join(("fleet", *(word for word in verb if word != "show" or verb[0] != "plan")))
    assert any(example.startswith(begins) for example in found), text
    for example in found:
        parse(shlex.split(example, comments=True)[1:])


def test_an_example_with_a_wrong_option_would_be_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        parse(["rehearse", "dev", "--keeps"])


@each_verb
def test_h_is_help(verb: tuple[str, ...]) -> None:
    asked = CliRunner().invoke(app, [*verb, "-h"], terminal_width=80)
    assert (asked.exit_code, asked.stdout) == (0, shown(*verb))


def test_the_version_is_that_of_the_package_and_the_commit() -> None:
    asked = CliRunner().invoke(app, ["--version"])
    assert asked.exit_code == 0
    assert re.fullmatch(r"fleet \d+\.\d+\.\d+, commit [0-9a-f]{7,}(-dirty)?\n", asked.stdout)


def test_a_verb_that_does_not_exist_is_answered_with_the_nearest() -> None:
    asked = CliRunner().invoke(app, ["rehears"])
    assert asked.exit_code == 2
    assert asked.stderr == 'There is no verb "rehears"; did you mean "rehearse"?\n'


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    variables = {
        "_FLEET_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("fleet", *words)),
        "COMP_CWORD": str(len(words)),
    }
    return CliRunner().invoke(app, [], env=variables, prog_name="fleet").stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # typer would look for the shell that has started the tests, and there may be none
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    asked = CliRunner().invoke(app, ["--show-completion", shell], prog_name="fleet")
    assert asked.exit_code == 0
    assert f"_FLEET_COMPLETE=complete_{shell}" in asked.stdout


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("rehearse", ""), ["dev", "prod", "research"]),
        (("check", "--env", "p"), ["prod"]),
        (("plan", "prod/d"), ["prod/dgx"]),
        (("plan", "dgx-h2"), ["dgx-h200"]),
        (("plan", "diff", "dgx-h200", "dev/c"), ["dev/cpu"]),
        (("shape", "dev/dgx", "--purpose", "inf"), ["inference"]),
        (("reinstall", "prod", "d"), ["dgx"]),
        (("reinstall", "prod", "dgx", "dgx-16"), ["dgx-16"]),
        (("reinstall", "nowhere", ""), []),
        (("hardware", "show", "gex4"), ["gex44"]),
        (("explain", "isolc"), ["isolcpus"]),
        (("explain", "cost/cro"), ["cost/crossover"]),
        (("rehearse-s",), ["rehearse-stop"]),
    ],
    ids=" ".join,
)
def test_names_are_completed(words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(*words) == offered


@each_verb
def test_an_environment_is_completed_wherever_one_is_named(verb: tuple[str, ...]) -> None:
    command = COMMAND
    for word in verb:
        command = command.commands[word]
    takes = [param for param in command.params if param.metavar in ("ENV", "[ENV]...")]
    for param in takes:
        found = [item.value for item in param.shell_complete(None, "")]
        assert found == [*environments(ROOT)], f"{verb}: give {param.name} its autocompletion"
