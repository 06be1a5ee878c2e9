"""The configuration of the rules: for each a level, settings and dated exemptions.

The form is the same in the stack file (`gpu-fleet:policies`) and in the pack's configuration file:

    idle/gpu-node-pool:
      level: advisory                       # mandatory, advisory or disabled
      max_consolidate_after_minutes: 10     # the rule's own settings, checked against its schema
      exemptions:
        - {resource: NodePool/burst, owner: research, reason: long warm-up, until: "2027-01-31"}
        - {resource: Deployment/old, namespace: research, …}   # or Job.batch.volcano.sh/old
        - {resource: "*", namespace_label: fleet.gpu/stage=sandbox, …}
      advisory_in: [research]               # namespaces in which a mandatory rule only warns
    facts:                                  # see policies.language.facts
      {pools: […], queues: […]}             # a program writes them
      kinds: […]                            # kinds of one's own that make pods
      controllers: […]                      # who may say who owns a pod
    rules: {folder: ./rules}                # rules of one's own, see policies.own_rules
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import cast, get_args

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from policies import own_rules
from policies.language.facts import KEY as FACTS
from policies.language.facts import NONE, Facts
from policies.language.facts import SCHEMA as FACTS_SCHEMA
from policies.language.manifest import at, items, mapping
from policies.language.rule import Level, Manifest, Rule
from policies.language.scopes import NAMESPACED, kind_and_group
from policies.rules import ALL
from settings.problems import Mistake, unknown_key

RuleSettings = Mapping[str, Mapping[str, object]]
"""Rule id -> `level`, `exemptions` and the rule's own settings; `facts`, for all rules; `rules`."""

Namespaces = Mapping[str, Mapping[str, object]]
"""The labels of the namespaces that are known, by name."""
NO_ONE: Namespaces = {}
PATH = "gpu-fleet:policies"
ANY = "*"
"""Every object, in an exemption of a namespace."""
_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "text that is not empty",
}
_DAY: dict[str, object] = {
    "type": "string",
    "format": "date",
    "title": "a day of the calendar",
    "examples": ["2027-01-31"],
}
_NAMESPACE: dict[str, object] = {
    "type": "string",
    "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$",
    "title": "the name of a namespace",
    "examples": ["research"],
}
_EXEMPTION: dict[str, object] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["resource", "owner", "reason", "until"],
    # everything, and an object by its name, is exempt only somewhere
    "if": {
        "properties": {
            "resource": {"pattern": rf"^(\*$|({'|'.join(NAMESPACED)})(\.[a-z0-9.-]+)?/[^:]*$)"}
        }
    },
    "then": {"anyOf": [{"required": ["namespace"]}, {"required": ["namespace_label"]}]},
    "properties": {
        "resource": {
            "type": "string",
            "pattern": "^([A-Za-z][A-Za-z0-9.:/_-]*/.+|\\*)$",
            "title": "the kind of an object or its Pulumi type, a slash, and its name",
            "examples": ["NodePool/burst", "aws:s3/bucket:Bucket/models"],
        },
        "namespace": {**_NAMESPACE},
        "namespace_label": {
            "type": "string",
            "pattern": "^[A-Za-z0-9./_-]+=[A-Za-z0-9._-]*$",
            "title": "a label of namespaces",
            "examples": ["fleet.gpu/stage=sandbox"],
        },
        "owner": {"type": "string", "minLength": 1},
        "reason": {"type": "string", "minLength": 1},
        "until": {**_DAY, "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    },
}


class PolicyConfigError(ValueError):
    """All mistakes of a configuration, one sentence each with its path."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True, kw_only=True)
class Exemption:
    """Lets an object, or a namespace, break one rule up to and including the day `until`."""

    resource: str
    """Kind and `metadata.name`: `NodePool/burst`, `aws:s3/bucket:Bucket/models`, or `*` for all.

    Of a Pulumi type the last word will do, by which sentences name a `Release/volcano`. A kind
    that several API groups have is that of Kubernetes, or `Job.batch.volcano.sh/train`.
    """
    owner: str
    reason: str
    until: date
    namespace: str = ""
    """Only there; empty for every namespace."""
    namespace_label: str = ""
    """Only in namespaces with this label, such as fleet.gpu/stage=sandbox."""

    @property
    def named(self) -> str:
        """Kind and name without an API group."""
        if self.resource == ANY or ":" in self.resource:
            return self.resource
        return f"{kind_and_group(self.resource)[0]}/{self.resource.partition('/')[2]}"

    @property
    def group(self) -> str | None:
        """The API group of the kind; None for any."""
        return kind_and_group(self.resource)[1]

    @property
    def whom(self) -> str:
        """Whom it is for: `Deployment/old in research`."""
        where = f" in {self.namespace}" if self.namespace else ""
        labelled = f" in namespaces with {self.namespace_label}" if self.namespace_label else ""
        return f"{self.resource}{where}{labelled}"

    def names(self, manifest: Manifest) -> bool:
        """Return whether it names an object, as far as the object itself can tell."""
        kind, name = str(manifest.get("kind")), at(manifest, "metadata", "name")
        names = (f"{kind}/{name}", f"{kind.rpartition(':')[2]}/{name}", ANY)
        where = at(manifest, "metadata", "namespace") or ""
        if self.named not in names or self.namespace not in ("", where):
            return False
        return self.group is None or _group(manifest) in (None, self.group)


@dataclass(frozen=True, kw_only=True)
class ConfiguredRule:
    """A rule as an environment wants it."""

    rule: Rule
    level: Level
    settings: Mapping[str, object]
    exemptions: tuple[Exemption, ...]
    advisory_in: tuple[str, ...] = ()
    facts: Facts = field(default_factory=lambda: NONE)

    def exemption(self, manifest: Manifest, namespaces: Namespaces = NO_ONE) -> Exemption | None:
        """Returns the exemption of an object from this rule, expired or not."""
        return next(
            (
                one
                for one in self.exemptions
                if one.names(manifest) and _is_labelled(one, manifest, namespaces)
            ),
            None,
        )

    def perhaps(self, manifest: Manifest, namespaces: Namespaces) -> Exemption | None:
        """Returns the exemption that an object has if its namespace, which is not known, does."""
        if at(manifest, "metadata", "namespace") in namespaces:
            return None
        found = (one for one in self.exemptions if one.namespace_label and one.names(manifest))
        return next(found, None)


def _group(manifest: Manifest) -> str | None:
    version = manifest.get("apiVersion")
    if not isinstance(version, str):
        return None
    group, _, _version = version.rpartition("/")
    return "apps" if group == "extensions" else group  # where Deployments once were


def _is_labelled(one: Exemption, manifest: Manifest, namespaces: Namespaces) -> bool:
    key, _, value = one.namespace_label.partition("=")
    labels = namespaces.get(str(at(manifest, "metadata", "namespace")), {})
    return not key or labels.get(key) == value


def schema(rule: Rule) -> dict[str, object]:
    """Returns the JSON Schema of what may be said about a rule."""
    return {
        "type": "object",
        "additionalProperties": False,
        "default": {},
        "description": rule.sentence,
        "properties": {
            "level": {"type": "string", "enum": list(get_args(Level)), "default": rule.level},
            "exemptions": {"type": "array", "items": _EXEMPTION, "default": []},
            "advisory_in": {
                "type": "array",
                "items": _NAMESPACE,
                "default": [],
                "description": "Namespaces in which the rule only warns.",
            },
            **rule.schema,
        },
    }


def configure(
    rule_settings: RuleSettings, rules: Sequence[Rule] = ALL
) -> tuple[ConfiguredRule, ...]:
    """Returns every rule with its settings, and those of one's own.

    Raises PolicyConfigError with all mistakes at once.
    """
    rule_settings = json.loads(json.dumps(rule_settings, default=str))  # days that YAML has read
    own, bad_files = _own(rule_settings)
    every = (*rules, *own)
    # jsonschema reports a mapping without two of its keys twice, and each time both are named
    found = dict.fromkeys(_mistakes(rule_settings, every, are_all_known=not bad_files))
    mistakes = [*bad_files, *found]
    if mistakes:
        raise PolicyConfigError(mistakes)
    facts = cast("Facts", {**NONE, **rule_settings.get(FACTS, {})})
    return tuple(_configured(rule, rule_settings.get(rule.id, {}), facts) for rule in every)


def _own(rule_settings: RuleSettings) -> tuple[list[Rule], list[str]]:
    """Returns the rules of the folder that the settings name, and its mistakes."""
    folder = at(rule_settings, own_rules.KEY, "folder")
    if not isinstance(folder, str) or not folder:
        return [], []
    try:
        return [each.rule for each in own_rules.load(Path(folder), ALL)], []
    except own_rules.OwnRulesError as error:
        place = f"{PATH}.{own_rules.KEY}.folder"
        return [], [Mistake(sentence, "", place=place) for sentence in error.mistakes]


def _configured(rule: Rule, said: Mapping[str, object], facts: Facts) -> ConfiguredRule:
    entries = (cast("Mapping[str, str]", entry) for entry in items(said.get("exemptions")))
    return ConfiguredRule(
        rule=rule,
        level=cast("Level", said.get("level", rule.level)),
        settings={name: said.get(name, default) for name, default in rule.defaults().items()},
        exemptions=tuple(
            Exemption(
                resource=entry["resource"],
                owner=entry["owner"],
                reason=entry["reason"],
                until=date.fromisoformat(entry["until"]),
                namespace=entry.get("namespace", ""),
                namespace_label=entry.get("namespace_label", ""),
            )
            for entry in entries
        ),
        advisory_in=tuple(map(str, items(said.get("advisory_in")))),
        facts=facts,
    )


def _mistakes(
    rule_settings: RuleSettings, rules: Sequence[Rule], *, are_all_known: bool
) -> Iterator[str]:
    of_rules = {rule.id: schema(rule) for rule in rules}
    forms = {**of_rules, FACTS: FACTS_SCHEMA, own_rules.KEY: own_rules.SCHEMA}
    for key, said in rule_settings.items():
        if key not in forms:
            if not are_all_known:
                continue
            near = difflib.get_close_matches(key, list(forms), n=1)
            offer = f'did you mean "{near[0]}"? ' if near else ""
            yield Mistake(f"{PATH}.{key}", f" is not a rule; {offer}docs/policies.md has them all.")
            continue
        errors = Draft202012Validator(
            forms[key], format_checker=Draft202012Validator.FORMAT_CHECKER
        ).iter_errors(said)
        seen = set()
        for error in sorted(errors, key=lambda error: error.validator == "format"):
            place = tuple(error.absolute_path)
            # an enum says of a wrong type what is allowed, and a pattern what a day looks like
            if (error.validator == "type" and "enum" in error.schema) or (
                error.validator == "format" and place in seen
            ):
                continue
            seen.add(place)
            yield from _sentences(error, f"{PATH}.{key}")


def _sentences(error: ValidationError, root: str) -> Iterator[str]:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    path = root + "".join(steps)
    form = cast("Mapping[str, object]", error.schema)
    value = error.instance
    if error.validator == "additionalProperties":
        known = mapping(form["properties"])
        for key in mapping(value):
            if key not in known:
                yield unknown_key(f"{path}.{key}", key, list(known))
    elif error.validator == "required":
        for key in map(str, items(form["required"])):
            if key not in mapping(value):
                wanted = mapping(at(form, "properties", key))
                yield Mistake(f"{path}.{key}", f" is missing; allowed: {_allowed(wanted)}.")
    elif error.validator == "anyOf":
        seen = _seen(at(value, "resource"))
        yield Mistake(
            f"{path}.resource", f" is {seen}; with it, namespace or namespace_label must say where."
        )
    elif error.validator == "format":
        yield Mistake(path, f" is {_seen(value)}; allowed: {_allowed({**_DAY, **form})}.")
    else:
        yield Mistake(path, f" is {_seen(value)}; allowed: {_allowed(form)}.")


def _seen(value: object) -> str:
    """A value as JSON has it, and so YAML, cut where it is long."""
    text = "empty" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _allowed(form: Mapping[str, object]) -> str:
    """Return what a form takes; its `title` and `examples` say it where a pattern would not."""
    if "examples" in form:
        examples = " or ".join(map(str, items(form["examples"])))
        return f"{form.get('title', 'text')}, such as {examples}"
    if "enum" in form:
        return ", ".join(str(value) for value in items(form["enum"]))
    if "minimum" in form:
        return f"{_TYPES[str(form['type'])]} from {form['minimum']} to {form['maximum']}"
    if "pattern" in form:
        return f"text of the form {form['pattern']}"
    return _TYPES[str(form["type"])]
