"""`fleet explain WORD`: a key of the stack file, a rule, or a line of the plans, and why."""

import difflib
import json as json_text
from dataclasses import asdict
from typing import Annotated

import typer

from fleet.cli.completing import environments, words
from fleet.cli.place import ENVIRONMENT_HELP, ROOT, Json
from fleet.cli.printing import refuse, show

HELP = """\
Explain a stack file's key, a rule, or a plan's line.

\b
Examples:
  fleet explain pools.dgx.sharing  # a key, and its value in each stack
  fleet explain cost/crossover     # a rule, also one of your own
  fleet explain isolcpus           # a kernel argument or kubelet field

Exit code 2 if the name is unknown.
"""


def explain(
    word: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="A path of the stack file, a rule's id, or the name of a line of a plan.",
            autocompletion=words,
        ),
    ],
    *,
    environment: Annotated[
        str | None,
        typer.Option(
            "--env",
            metavar="ENV",
            help=f"{ENVIRONMENT_HELP[:-1]}. Default: all.",
            autocompletion=environments,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Explain a key of the stack file, a rule, or a line of the plans."""
    from fleet.reference.explanation import UnknownKeyError
    from settings import SettingsError

    try:
        explained = _of_stack_file(word, environment, json=json) or _of_plans(word, json=json)
        if not explained:
            _of_names(word, environment, json=json)
    except (SettingsError, UnknownKeyError) as error:
        refuse(error)


def _of_stack_file(word: str, environment: str | None, *, json: bool) -> bool:
    """Explain a rule by its id, or a key by its path; false where the word is neither."""
    from fleet.reference.explanation import key_answers, keys_below, rule_answer
    from fleet.reference.tables import key_lines, keys_lines, rule_lines

    if rule := rule_answer(ROOT, word, environment):
        if json:
            typer.echo(json_text.dumps(asdict(rule), indent=2, default=dict))
        else:
            show(rule_lines(rule))
        return True
    if below := keys_below(word):
        if json:
            found = [{"path": key.path, "of": key.of, "meaning": key.meaning} for key in below]
            typer.echo(json_text.dumps(found, indent=2))
        else:
            show(keys_lines(word, below))
        return True
    answers = key_answers(ROOT, word, environment)
    if answers and json:
        typer.echo(json_text.dumps([asdict(each) for each in answers], indent=2))
    elif answers:
        show(key_lines(answers))
    return bool(answers)


def _of_plans(word: str, *, json: bool) -> bool:
    """Explain a line of the plans; false where no plan has it."""
    from fleet.plan.explanation import Refusal, UnknownLineError
    from fleet.plan.explanation import explain as explanations
    from fleet.plan.subject import SubjectError
    from fleet.plan.tables import explanation_lines

    try:
        found = explanations(word)
    except UnknownLineError:
        return False
    except SubjectError as error:
        refuse(error)
    if isinstance(found, Refusal):
        sentence = f"No plan of the catalogue has {found.line}: {found.reason}."
        typer.echo(json_text.dumps(asdict(found), indent=2) if json else sentence)
    elif json:
        typer.echo(json_text.dumps([asdict(each) for each in found], indent=2))
    else:
        show(explanation_lines(found))
    return True


def _of_names(word: str, environment: str | None, *, json: bool) -> None:
    """Explain the keys with a name, such as mig_layout, or offer what has nearly that name."""
    from fleet.plan.explanation import line_names
    from fleet.reference.explanation import known_words, named, own_rule_ids

    for path in named(word):
        _of_stack_file(path, environment, json=json)
    if not named(word):
        owned = own_rule_ids(ROOT, environment) if "/" in word else ()
        known = [*owned, *known_words(), *line_names()]
        near = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
        offer = f"nearest: {', '.join(near)}" if near else "docs/stack-file.md and docs/policies.md"
        refuse(f'"{word}" is no key of a stack file, no rule and no line of a plan; {offer}.')


explain.__doc__ = HELP
