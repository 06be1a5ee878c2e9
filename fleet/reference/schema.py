"""The JSON schema of a stack file, which editors read: stacks/stack-file.schema.json.

Draft 7, because that is what yaml-language-server reads, and with one reference alone, so that a
text is beside each key. It refuses what the parser refuses by shape: unknown and missing keys,
types, ranges, forms of text. What needs two values or the hardware catalogue is left to `fleet
validate`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast, get_args, get_origin

from pydantic import TypeAdapter

from hardware import catalogue
from policies import own_rules
from policies.configuration import schema as rule_schema
from policies.language.facts import KEY as FACTS
from policies.language.facts import SCHEMA as FACTS_SCHEMA
from policies.language.rule import Rule
from policies.rules import ALL
from settings.forms import Name
from settings.gpu_sharing import SUITABLE
from settings.keys import REQUIRED, SECTIONS, Key, keys, kind_of, members
from settings.names import PROJECT
from settings.secrets import SECRETS

Schema = dict[str, Any]
DIALECT = "http://json-schema.org/draft-07/schema#"
NAME = TypeAdapter(Name).json_schema()


def schema() -> Schema:
    """Return the schema of a whole stack file."""
    known = {(key.path, key.of): key for key in keys()}
    own = {f"{PROJECT}:{section}": _section(section, known) for section in SECTIONS}
    secret = {f"{PROJECT}:{name}": _secret(name) for name in SECRETS}
    return {
        "$schema": DIALECT,
        "title": "Stack file of a GPU fleet: stacks/Pulumi.<environment>.yaml",
        "definitions": {"exemptions": _settings(ALL[0])["properties"]["exemptions"]},
        "type": "object",
        "required": ["config"],
        "additionalProperties": False,
        "properties": {
            "config": {
                "type": "object",
                "required": [f"{PROJECT}:{section}" for section in REQUIRED],
                "properties": {**own, f"{PROJECT}:policies": _policies(), **secret},
                "patternProperties": {rf"^(?!{PROJECT}:)[^:]+:": {}},
                "additionalProperties": False,
            },
            **{key: {"type": "string"} for key in ("encryptedkey", "encryptionsalt")},
            "secretsprovider": {"type": "string"},
            "environment": {},
        },
    }


def _secret(name: str) -> Schema:
    return {
        "description": f"An encrypted value: `pulumi config set --secret {PROJECT}:{name}`.",
        "type": "object",
        "required": ["secure"],
        "properties": {"secure": {"type": "string"}},
        "additionalProperties": False,
    }


def _policies() -> Schema:
    """Return the schema of the rules' settings; each rule brings its own."""
    return {
        "description": "Settings of rules by rule id; docs/policies.md has all rules.",
        "type": "object",
        "properties": {
            **{rule.id: _rule(rule) for rule in ALL},
            FACTS: {"description": "Written by programs of other projects.", **FACTS_SCHEMA},
            own_rules.KEY: {**own_rules.SCHEMA},
        },
        "patternProperties": {own_rules.pattern(ALL): {"type": "object"}},
        "additionalProperties": False,
    }


def _settings(rule: Rule) -> Schema:
    return {**rule_schema(rule)}


def _rule(rule: Rule) -> Schema:
    """Return the schema of a rule's settings; what exemptions are is said once for all rules."""
    form = _settings(rule)
    form["properties"] = {**form["properties"], "exemptions": {"$ref": "#/definitions/exemptions"}}
    return form


def _section(section: str, known: Mapping[tuple[str, str | None], Key]) -> Schema:
    form = SECTIONS[section]
    if get_origin(form) is not Mapping:
        return _described(_made(form), section, None, known)
    path, kinds = f"{section}.<name>", members(get_args(form)[1])
    least = {"minProperties": 1} if section in REQUIRED else {}
    named = {"type": "object", **least, "propertyNames": NAME}
    if len(kinds) == 1:
        return {**named, "additionalProperties": _described(_made(kinds[0]), path, None, known)}
    by_kind = {
        kind: _described(_made(each), path, kind, known)
        for kind, each in ((kind_of(each), each) for each in kinds)
    }
    for kind, entry in by_kind.items():
        if "hardware" in entry["properties"]:
            entry["properties"]["hardware"]["enum"] = _machines(kind)
    return {**named, "additionalProperties": _by_kind(by_kind)}


def _machines(kind: str) -> list[str]:
    return [name for name in catalogue.names() if catalogue.load(name).kind == kind]


def _by_kind(entries: Mapping[str, Schema]) -> Schema:
    """Return the schema of entries whose keys depend on `kind`, which an editor asks for first."""
    descriptions = " ".join(f"{kind}: {each['description']}" for kind, each in entries.items())
    return {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"enum": list(entries), "description": descriptions}},
        "allOf": [
            {"if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]}, "then": entry}
            for kind, entry in entries.items()
        ],
    }


def _made(form: object) -> Schema:
    """Return pydantic's schema of a type without references and titles."""
    made = TypeAdapter(cast("type", form)).json_schema()
    definitions = made.pop("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            found = definitions[part["$ref"].rpartition("/")[2]]
            return inline({**found, **{key: part[key] for key in part if key != "$ref"}})
        return _nullable({key: _member(key, part[key], inline) for key in part if key != "title"})

    return cast("Schema", inline(made))


def _member(key: str, value: Any, inline: Any) -> Any:
    """Return a member of a schema; properties may be called title, too."""
    if key == "properties":
        return {name: inline(each) for name, each in value.items()}
    return inline(value)


def _nullable(part: Schema) -> Schema:
    """Return a type or nothing in one schema, because editors explain `anyOf` badly."""
    some = part.get("anyOf", [])
    if len(some) != 2 or some[1] != {"type": "null"}:
        return _closed(part)
    value = dict(some[0])
    if "enum" in value:
        value["enum"] = [*value["enum"], None]
    if "const" in value:
        value["enum"] = [value.pop("const"), None]
    value["type"] = [value["type"], "null"]
    return {**value, **{key: part[key] for key in part if key != "anyOf" and part[key] is not None}}


def _closed(part: Schema) -> Schema:
    """Return a mapping that allows no name but the known ones, or those of a form."""
    names = part.get("propertyNames", {})
    if "enum" in names:
        part["properties"] = dict.fromkeys(names["enum"], part["additionalProperties"])
        part["additionalProperties"] = False
        del part["propertyNames"]
    elif "patternProperties" in part:
        ((pattern, entry),) = part.pop("patternProperties").items()
        part["propertyNames"] = {**names, "pattern": pattern}
        part["additionalProperties"] = entry
    return part


def _described(
    part: Schema, path: str, of: str | None, known: Mapping[tuple[str, str | None], Key]
) -> Schema:
    """Return a schema in which each key has its meaning, what is allowed and an example."""
    key = known.get((path, of))
    if key is not None:
        if "pattern" in part:
            part["patternErrorMessage"] = f"allowed: {key.allowed}"
        part["description"] = " ".join(_texts(key))
        if key.name == "sharing":
            part["enumDescriptions"] = [f"for {each.suits}" for each in SUITABLE.values()]
        if key.example is not None:
            part["examples"] = [key.example]
    for name, below in part.get("properties", {}).items():
        _described(below, f"{path}.{name}", of, known)
    if isinstance(part.get("items"), dict):
        _described(part["items"], f"{path}[]", of, known)
    if isinstance(part.get("additionalProperties"), dict):
        _described(part["additionalProperties"], f"{path}.<name>", of, known)
    return part


def _texts(key: Key) -> Iterator[str]:
    yield key.meaning
    yield f"Allowed: {key.allowed}."
    if not key.required and key.default not in (None, {}, []):
        yield f"Default: {key.default}."
