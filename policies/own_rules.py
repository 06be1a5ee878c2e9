"""Rules of one's own: a folder of Python files that the stack file names, one rule a file.

    gpu-fleet:policies:
      rules: {folder: ./rules}              # from the stack file's folder

A rule `acme/no-latest` is the `RULE` of `acme/no_latest.py` in the folder, in the types of
`policies.language.rule`, and is held wherever those of `policies.rules` are. The files are Python
that the engine runs with the rights of whoever runs it: they need the review that the program does.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, invalidate_caches
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import get_args

from jsonschema import Draft202012Validator

from policies.language.rule import Level, Rule
from settings.yaml_reading import path_from_here

KEY = "rules"
"""The key of the folder among the settings of rules."""
SCHEMA: Mapping[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["folder"],
    "description": "Rules of your own: Python files that run with the rights of the program.",
    "properties": {
        "folder": {
            "type": "string",
            "minLength": 1,
            "title": "a folder, from the stack file's folder",
            "examples": ["./rules"],
            "description": "The folder of the rules, from the stack file's folder.",
        }
    },
}
RESERVED = ("level", "exemptions", "advisory_in")
_PACKAGE = "own_rules"
_PART = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
_ID = re.compile(rf"{_PART}/{_PART}")
_TAKEN = ("queues", "queue-pods")
"""Packs whose policies in the cluster would have the names of others."""


class OwnRulesError(ValueError):
    """Every mistake in a folder of rules, one sentence each that begins with the file."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, kw_only=True)
class OwnRule:
    """A rule, its file, and what the file's docstring says behind its first line."""

    rule: Rule
    file: Path
    details: str


def pattern(shipped: Sequence[Rule]) -> str:
    """Return a regular expression for the ids that rules of one's own may have."""
    packs = "|".join(sorted({each.id.partition("/")[0] for each in shipped}))
    return rf"^(?!({packs})/){_PART}/{_PART}$"


def load(folder: Path, shipped: Sequence[Rule]) -> tuple[OwnRule, ...]:
    """Return the rules of a folder; raises OwnRulesError with every mistake."""
    shown = path_from_here(folder)
    if not folder.is_dir():
        raise OwnRulesError([f"{shown} is no folder; allowed: a folder of rules."])
    _forget(folder.resolve())
    found: list[OwnRule] = []
    mistakes: list[str] = []
    for file in _files(folder):
        try:
            found.append(_loaded(file, folder, shipped))
        except OwnRulesError as error:
            mistakes += error.mistakes
    if not found and not mistakes:
        mistakes = [f"{shown} has no rules; `fleet rules new` writes one."]
    if mistakes:
        raise OwnRulesError(mistakes)
    return tuple(found)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of rules; those with an underscore in front are for rules to share."""
    for file in sorted(folder.rglob("*.py")):
        if not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts):
            yield file


def _forget(folder: Path) -> None:
    """Make the folder a package of which nothing is loaded yet."""
    for name in [name for name in sys.modules if name.partition(".")[0] == _PACKAGE]:
        del sys.modules[name]
    package = ModuleType(_PACKAGE)
    package.__path__ = [str(folder)]
    sys.modules[_PACKAGE] = package
    invalidate_caches()


def _loaded(file: Path, folder: Path, shipped: Sequence[Rule]) -> OwnRule:
    shown, parts = path_from_here(file), file.relative_to(folder).with_suffix("").parts
    module = _module(file, parts)
    rule = getattr(module, "RULE", None)
    if not isinstance(rule, Rule):
        seen = "has no RULE" if rule is None else f"has a RULE that is a {type(rule).__name__}"
        raise OwnRulesError([f"{shown} {seen}; allowed: RULE = Rule(…) of policies.language.rule."])
    mistakes = [*faults(rule), *_misplaced(rule, parts, shipped)]
    if mistakes:
        raise OwnRulesError([f"{shown}: {mistake}" for mistake in mistakes])
    _, _, details = (module.__doc__ or "").partition("\n\n")
    return OwnRule(rule=rule, file=file, details=details.strip())


def _module(file: Path, parts: Sequence[str]) -> ModuleType:
    try:
        return import_module(".".join([_PACKAGE, *parts]))
    except SyntaxError as error:
        place = f"{path_from_here(Path(error.filename or file))}:{error.lineno}"
        raise OwnRulesError([f"{place} is not Python: {error.msg}."]) from error
    except Exception as error:  # whatever a file does as it is loaded
        ours = [
            each for each in extract_tb(error.__traceback__) if each.filename == str(file.resolve())
        ]
        line = f":{ours[-1].lineno}" if ours else ""
        why = f"{type(error).__name__}: {error}".rstrip(".")
        raise OwnRulesError([f"{path_from_here(file)}{line} cannot be loaded: {why}."]) from error


def _misplaced(rule: Rule, parts: Sequence[str], shipped: Sequence[Rule]) -> Iterator[str]:
    """Yield what keeps a rule from its place among the shipped ones."""
    pack, _, name = rule.id.partition("/")
    path = f"{pack}/{name.replace('-', '_')}.py"
    yield from faults_of_id(rule.id, shipped)
    if _ID.fullmatch(rule.id) and list(parts) != path.removesuffix(".py").split("/"):
        yield f'the rule "{rule.id}" is in {"/".join(parts)}.py; allowed: {path}.'
    shared = {
        key: expression
        for each in shipped
        if each.admission
        for key, expression in each.admission.shared.items()
    }
    for key, expression in (rule.admission.shared if rule.admission else {}).items():
        if shared.get(key, expression) != expression:
            yield f'its shared variable "{key}" differs from that of other rules; rename it.'


def faults_of_id(rule_id: str, shipped: Sequence[Rule]) -> Iterator[str]:
    """Yield why a rule of one's own cannot have an id."""
    pack = rule_id.partition("/")[0]
    packs = sorted({each.id.partition("/")[0] for each in shipped})
    if not _ID.fullmatch(rule_id):
        yield f'its id is "{rule_id}"; allowed: pack/name in lower-case letters, digits, hyphens.'
    if pack in packs:
        yield f'the pack "{pack}" is the program\'s; allowed: a name beside {", ".join(packs)}.'
    if pack in _TAKEN or pack.endswith("-warn"):
        yield f'the pack "{pack}" has the name of another policy; allowed: another name.'


def faults(rule: Rule) -> Iterator[str]:
    """Yield what the author of a rule has forgotten, a sentence each."""
    if " must " not in rule.sentence or not rule.sentence.endswith("."):
        yield f'its sentence is "{rule.sentence}"; allowed: a sentence with "must" and a full stop.'
    if not rule.why.endswith("."):
        yield f'its why is "{rule.why}"; allowed: the reason, as a sentence with a full stop.'
    if not rule.source.startswith("https://"):
        yield f'its source is "{rule.source}"; allowed: an address with https:// that backs why.'
    if rule.level not in get_args(Level):
        yield f'its level is "{rule.level}"; allowed: {", ".join(get_args(Level))}.'
    if rule.predicate is None and rule.across is None:
        yield "it has neither a predicate nor across, so that no preview holds anybody to it."
    if rule.admission and rule.predicate is None:
        yield "it has CEL and no predicate, so that the gates would differ."
    if rule.admission and not rule.admission.kinds:
        yield "its admission has no kinds, so that the API server asks it of nothing."
    for name, form in rule.schema.items():
        yield from _of_setting(name, form)


def _of_setting(name: str, form: Mapping[str, object]) -> Iterator[str]:
    lacking = [key for key in ("type", "default", "description") if key not in form]
    if name in RESERVED:
        yield f'its setting "{name}" is one that every rule has; rename it.'
    if lacking:
        yield f'its setting "{name}" has no {" and no ".join(lacking)}.'
    elif not Draft202012Validator({**form}).is_valid(form["default"]):
        yield f'its setting "{name}" does not allow its own default, {form["default"]!r}.'
