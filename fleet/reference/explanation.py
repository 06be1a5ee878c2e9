"""Answers about a key of the stack file, or a rule, with what each environment says of it."""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin

from policies import own_rules
from policies.docs_page import allowed, gates
from policies.language.manifest import at, mapping
from policies.language.rule import Rule
from policies.own_rules import OwnRule, OwnRulesError
from policies.rules import ALL
from settings import SettingsError, environments, stack_file
from settings.forms import Sharing
from settings.gpu_sharing import SUITABLE, Suitable
from settings.keys import SECTIONS, Key, keys
from settings.names import PROJECT
from settings.stackfile import read
from settings.yaml_reading import path_from_here

_is_own_id = re.compile(own_rules.pattern(ALL)).match
_ANY = ("<name>", "*")


class UnknownKeyError(ValueError):
    """The words name no key of a stack file; a sentence with the nearest."""


@dataclass(frozen=True, kw_only=True)
class Value:
    """A value in an environment; `is_default` where the file does not say it."""

    environment: str
    path: str
    value: object
    is_default: bool


@dataclass(frozen=True, kw_only=True)
class KeyAnswer:
    """A key, as one kind of site or pool has it or several alike, and its values."""

    path: str
    kinds: tuple[str, ...]
    type: str
    unit: str
    allowed: str
    default: object
    required: bool
    meaning: str
    example: object
    suitable: Mapping[Sharing, Suitable]
    values: tuple[Value, ...]


@dataclass(frozen=True, kw_only=True)
class RuleAnswer:
    """A rule: why it is there, how it is held, and what each environment changes."""

    id: str
    sentence: str
    why: str
    source: str
    level: str
    gates: str
    settings: tuple[Mapping[str, str], ...]
    environments: tuple[Mapping[str, Any], ...]
    file: str = ""
    """Of a rule of one's own."""


def rule_answer(root: Path, word: str, environment: str | None) -> RuleAnswer | None:
    """Return the answer about a rule by its id, or by a path below `policies`.

    A rule of one's own is known to the environments whose stack files name its folder; raises
    SettingsError where the folder has mistakes and no other one has the rule.
    """
    name = word.removeprefix(f"{PROJECT}:").removeprefix("policies.").partition(".")[0]
    shipped = next((rule for rule in ALL if rule.id == name), None)
    if shipped is not None:
        return _rule_answer(shipped, "", list(_configs(root, environment)))
    if not _is_own_id(name):
        return None
    owned, mistakes = _owned(root, environment)
    having = {one: own for one, own in owned if own.rule.id == name}
    if having:
        own = next(iter(having.values()))
        configs = [each for each in _configs(root, environment) if each[0] in having]
        return _rule_answer(own.rule, str(path_from_here(own.file)), configs)
    if mistakes:
        raise SettingsError(mistakes)
    return None


def own_rule_ids(root: Path, environment: str | None) -> tuple[str, ...]:
    """Return the ids of the rules of one's own, of folders without mistakes."""
    return tuple(dict.fromkeys(own.rule.id for _, own in _owned(root, environment)[0]))


def _owned(root: Path, environment: str | None) -> tuple[list[tuple[str, OwnRule]], list[str]]:
    """Return the rules in the folders that stack files name, by environment, and mistakes."""
    found: list[tuple[str, OwnRule]] = []
    mistakes: list[str] = []
    for name, config in _configs(root, environment):
        folder = at(config, "policies", own_rules.KEY, "folder")
        if not isinstance(folder, str) or not folder:
            continue
        try:
            rules = own_rules.load((stack_file(root, name).parent / folder).resolve(), ALL)
        except OwnRulesError as error:
            mistakes += [each for each in error.mistakes if each not in mistakes]
        else:
            found += [(name, own) for own in rules]
    return found, mistakes


def _rule_answer(
    rule: Rule, file: str, configs: Sequence[tuple[str, Mapping[str, Any]]]
) -> RuleAnswer:
    return RuleAnswer(
        id=rule.id,
        sentence=rule.sentence,
        why=rule.why,
        source=rule.source,
        level=rule.level,
        gates=gates(rule),
        settings=tuple(_settings(rule)),
        environments=tuple(
            {"environment": one, "said": mapping(mapping(config.get("policies")).get(rule.id))}
            for one, config in configs
        ),
        file=file,
    )


def _settings(rule: Rule) -> Iterator[Mapping[str, str]]:
    for name, form in rule.schema.items():
        yield {
            "name": name,
            "default": str(form["default"]),
            "allowed": allowed(form),
            "meaning": str(form["description"]),
        }


def key_answers(root: Path, word: str, environment: str | None) -> tuple[KeyAnswer, ...]:
    """Return the answers about a path of the stack file, one for each form that kinds give it.

    Raises UnknownKeyError where the path begins with a section and there is no such key; no answer
    is for words that are no path.
    """
    parts = word.removeprefix(f"{PROJECT}:").split(".")
    configs = [*_configs(root, environment)]
    found = [key for key in keys() if _fits(parts, key) and _has(key, parts, configs)]
    if not found and parts[0] in SECTIONS:
        raise UnknownKeyError(_of_other_kinds(parts) or _nearest(parts))
    forms: dict[tuple[str, str, str], list[Key]] = {}
    for key in found:
        forms.setdefault((key.path, key.allowed, key.meaning), []).append(key)
    return tuple(_answer(alike, parts, configs) for alike in forms.values())


def keys_below(word: str) -> tuple[Key, ...]:
    """Return the keys in a section or in a mapping of it, such as `pools.dgx.tuning`."""
    parts = word.removeprefix(f"{PROJECT}:").split(".")
    names = {key.name for key in keys() if key.path.startswith(f"{parts[0]}.")}
    if len(parts) == 2 and parts[1] in names:
        return ()  # pools.sharing is no pool called sharing
    below = [key for key in keys() if _fits([*parts, key.name], key)]
    if not below and len(parts) == 1:  # a section of names
        below = [key for key in keys() if _fits([*parts, "*", key.name], key)]
    return tuple({(key.path, key.meaning): key for key in reversed(below)}.values())[::-1]


def named(word: str) -> tuple[str, ...]:
    """Return the paths of the keys with a name, such as `mig_layout`."""
    return tuple(dict.fromkeys(key.path for key in keys() if key.name.removesuffix("[]") == word))


def known_words() -> tuple[str, ...]:
    """Return the ids of rules and the names and paths of keys, from which a near one is offered."""
    paths = [key.path for key in keys()]
    names = [key.name.removesuffix("[]") for key in keys()]
    return tuple(dict.fromkeys([*(rule.id for rule in ALL), *names, *paths]))


def _answer(
    alike: Sequence[Key], parts: Sequence[str], configs: Sequence[tuple[str, Mapping[str, Any]]]
) -> KeyAnswer:
    key = alike[0]
    kinds = tuple(each.of for each in alike if each.of)
    return KeyAnswer(
        path=key.path,
        kinds=kinds,
        type=key.type_name,
        unit=key.unit,
        allowed=key.allowed,
        default=key.default,
        required=key.required,
        meaning=key.meaning,
        example=key.example,
        suitable={**SUITABLE} if key.name == "sharing" else {},
        values=tuple(
            value for name, config in configs for value in _values(name, config, key, kinds, parts)
        ),
    )


def _parts(key: Key) -> list[str]:
    return key.path.split(".")


def _fits(parts: Sequence[str], key: Key) -> bool:
    """Return whether words are the path of a key; any word is a `<name>`, `[0]` is `[]`."""
    wanted = _parts(key)
    return len(parts) == len(wanted) and all(
        want == "<name>" or want.removesuffix("[]") == re.sub(r"\[\d*\]$", "", part)
        for part, want in zip(parts, wanted, strict=True)
    )


def _has(key: Key, parts: Sequence[str], configs: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Return whether a kind's key is meant: that of the entries with the name, or of all kinds."""
    if key.of is None or len(parts) < 2 or parts[1] in _ANY:
        return True
    entries = [mapping(mapping(config.get(parts[0])).get(parts[1])) for _, config in configs]
    kinds = {str(entry["kind"]) for entry in entries if "kind" in entry}
    return not kinds or key.of in kinds


def _values(
    environment: str,
    config: Mapping[str, Any],
    key: Key,
    kinds: Sequence[str],
    parts: Sequence[str],
) -> Iterator[Value]:
    """Yield the values of a key in an environment, of each name that the words leave open."""
    section, *rest = parts
    if section not in config and key.required:
        return
    for path, value in _walk(config, "", _parts(key), [section, *rest], kinds):
        is_default = value is _ABSENT
        if not (is_default and key.required):
            shown = key.default if is_default else value
            yield Value(environment=environment, path=path, value=shown, is_default=is_default)


_ABSENT = object()


def _walk(
    value: Any, path: str, wanted: Sequence[str], parts: Sequence[str], kinds: Sequence[str]
) -> Iterator[tuple[str, object]]:
    if not wanted:
        yield path, value
        return
    (want, *wants), (part, *rest) = wanted, parts
    if not isinstance(value, Mapping):
        return
    if want == "<name>":
        names = value if part in _ANY else [part] if part in value else []
        for name in names:
            entry = value[name]
            if not kinds or not isinstance(entry, Mapping) or entry.get("kind", kinds[0]) in kinds:
                yield from _walk(entry, f"{path}.{name}", wants, rest, ())
        return
    name = want.removesuffix("[]")
    place = f"{path}.{name}".removeprefix(".")
    if name not in value:
        if not wants:
            yield place, _ABSENT
        return
    if not want.endswith("[]"):
        yield from _walk(value[name], place, wants, rest, kinds)
        return
    index = re.search(r"\[(\d+)\]$", part)
    for number, entry in enumerate(value[name]):
        if index is None or int(index[1]) == number:
            yield from _walk(entry, f"{place}[{number}]", wants, rest, kinds)


def _configs(root: Path, environment: str | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the keys of the environments without their prefix, also of files with mistakes."""
    for name in environments(root) if environment is None else [environment]:
        path = stack_file(root, name)
        try:
            document, _lines = read(path)
        except SettingsError:
            if environment is not None:
                raise
            continue
        own = document["config"].items()
        yield name, {key.removeprefix(f"{PROJECT}:"): value for key, value in own}


def _of_other_kinds(parts: Sequence[str]) -> str | None:
    """Return the sentence about a key that sites or pools of other kinds have; None without one."""
    kinds = sorted({str(key.of) for key in keys() if _fits(parts, key)})
    if not kinds:
        return None
    return (
        f'"{".".join(parts)}" is no key: `{parts[-1]}` is for {parts[0]} of kind '
        f"{' and '.join(kinds)}, and {parts[1]} is of another kind."
    )


def _nearest(parts: Sequence[str]) -> str:
    """Return the sentence about an unknown path: the nearest keys, or those that are there."""
    paths = tuple(dict.fromkeys(key.path for key in keys()))
    word = ".".join(parts)
    own = [path for path in paths if path.partition(".")[0] == parts[0]]
    same = [path for path in own if path.rpartition(".")[2] == parts[-1]]
    near = same or difflib.get_close_matches(word, own, n=3, cutoff=0.6)
    offered = [_with_names(path, parts) for path in near or own[:12]]
    says = "nearest" if near else "there are"
    return (
        f'"{word}" is no key of a stack file; {says}: {", ".join(offered)}; docs/stack-file.md has '
        "them all."
    )


def _with_names(path: str, parts: Sequence[str]) -> str:
    """Return a path with the names that somebody gave, where there are as many parts."""
    wanted = path.split(".")
    if len(wanted) != len(parts) or get_origin(SECTIONS[wanted[0]]) is not Mapping:
        return path
    return ".".join(
        part if want == "<name>" else want for want, part in zip(wanted, parts, strict=True)
    )
