"""The cases of rules of one's own: objects with the verdict that a rule must give.

The cases of `acme/no_latest.py` are in `acme/no_latest.yaml`. Where a rule needs it,
`settings.yaml` in the folder says what a stack file says below `gpu-fleet:policies`, such as facts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from policies.configuration import ConfiguredRule, PolicyConfigError, configure
from policies.gates.judging import findings
from policies.language import yaml_text
from policies.language.owners import believed
from policies.own_rules import OwnRule, OwnRulesError, load
from policies.rules import ALL
from policies.verdicts import Finding, Resource
from settings.yaml_reading import path_from_here

SETTINGS = "settings.yaml"
VERDICTS = ("good", "bad")


@dataclass(frozen=True, kw_only=True)
class Case:
    """An object of a file of cases; `place` is the file and the number of the case."""

    place: str
    is_good: bool
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Kind and name of the object, as sentences have them."""
        metadata = self.manifest.get("metadata") or {}
        return f"{self.manifest.get('kind')} '{metadata.get('name', '')}'"


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A rule with its cases, what is wrong with them at the preview, and what may be forgotten."""

    own: OwnRule
    configured: ConfiguredRule
    cases: tuple[Case, ...]
    mistakes: tuple[str, ...]
    notes: tuple[str, ...]


def tried(folder: Path, today: date) -> list[Tried]:
    """Return each rule of a folder with the verdicts that differ from its cases.

    Raises OwnRulesError with what keeps the rules from being loaded.
    """
    own = load(folder, ALL)
    configured = _configured(folder, own)
    found = []
    for each in own:
        cases, mistakes = _cases(each.file.with_suffix(".yaml"))
        asked = configured[each.rule.id]
        mistakes += _forgotten(each, cases) if not mistakes else []
        mistakes += [said for case in cases for said in _judged(asked, case, today)]
        found.append(
            Tried(
                own=each,
                configured=asked,
                cases=tuple(cases),
                mistakes=tuple(mistakes),
                notes=tuple(_without_cel(each, cases)),
            )
        )
    return found


def _configured(folder: Path, own: Sequence[OwnRule]) -> Mapping[str, ConfiguredRule]:
    file = folder / SETTINGS
    said = (_read(file) or {}) if file.exists() else {}
    if not isinstance(said, dict):
        raise OwnRulesError([f"{path_from_here(file)} is no mapping; allowed: settings of rules."])
    try:
        asked = configure(said, [*ALL, *(each.rule for each in own)])
    except PolicyConfigError as error:
        raise OwnRulesError([f"{path_from_here(file)}: {each}" for each in error.mistakes]) from (
            error
        )
    return {each.rule.id: each for each in asked}


def _read(file: Path) -> Any:
    try:
        return yaml_text.read(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        why = str(error).replace("\n", " ")
        raise OwnRulesError([f"{path_from_here(file)} is not YAML: {why}."]) from error


def _cases(file: Path) -> tuple[list[Case], list[str]]:
    shown = path_from_here(file)
    if not file.exists():
        return [], [f"{shown} is missing; it needs a good and a bad object for the rule."]
    said = _read(file)
    if not isinstance(said, list):
        return [], [f"{shown} is no list; allowed: a list of cases, each with verdict and object."]
    cases: list[Case] = []
    mistakes: list[str] = []
    for number, each in enumerate(said, 1):
        place = f"{shown}, case {number}"
        verdict = each.get("verdict") if isinstance(each, dict) else None
        manifest = each.get("object") if isinstance(each, dict) else None
        if verdict not in VERDICTS:
            seen = "has no verdict" if verdict is None else f"has the verdict {verdict!r}"
            mistakes.append(f"{place} {seen}; allowed: {' or '.join(VERDICTS)}.")
        elif not isinstance(manifest, dict) or not manifest.get("kind"):
            mistakes.append(f"{place} has no object; allowed: a manifest with its kind.")
        else:
            cases.append(Case(place=place, is_good=verdict == "good", manifest=manifest))
    return cases, mistakes


def _forgotten(own: OwnRule, cases: Sequence[Case]) -> list[str]:
    file = path_from_here(own.file.with_suffix(".yaml"))
    return [
        f"{file} has no {verdict} object; a rule needs one of each verdict."
        for verdict, is_good in (("good", True), ("bad", False))
        if not any(case.is_good is is_good for case in cases)
    ]


def _without_cel(own: OwnRule, cases: Sequence[Case]) -> Iterator[str]:
    """Yield that a rule on single objects of Kubernetes is not held by the API server."""
    judges = own.rule.predicate and any("apiVersion" in each.manifest for each in cases)
    if judges and own.rule.admission is None:
        yield (
            f"{path_from_here(own.file)}: {own.rule.id} judges objects of Kubernetes and has no "
            "CEL: the API server takes what the preview stops."
        )


def at_preview(asked: ConfiguredRule, case: Case, today: date) -> list[Finding]:
    """Return what the preview finds of an object of a case, alone and as a stack of its own."""
    resource = Resource(
        kind=str(case.manifest["kind"]), name=str((case.manifest.get("metadata") or {}).get("name"))
    )
    manifest = believed(case.manifest, ())
    found: list[Finding] = []
    for stack in (None, [manifest]):
        found += findings(manifest, [asked], resource=resource, today=today, stack=stack)
    return found


def _judged(asked: ConfiguredRule, case: Case, today: date) -> Iterator[str]:
    found = at_preview(asked, case, today)
    sentences = [sentence for each in found for sentence in each.sentences]
    if any(each.failed for each in found):
        yield f"{case.place}: {sentences[0]}"
    elif case.is_good and sentences:
        yield f"{case.place}: {case.name} is good, and the preview says: {sentences[0]}"
    elif not case.is_good and not sentences:
        yield f"{case.place}: {case.name} is bad, and the preview finds nothing."
