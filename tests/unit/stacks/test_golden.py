"""Every resource of every environment, as files that a review can read: tests/golden/<env>.yaml.

Of a policy at the API server stand the rules that it holds, their settings and the facts of pools:
their CEL is in the files of the rules, and tests of its own hold it.

After a wanted change, write them anew and look at the difference:

    GOLDEN=write .venv/bin/pytest tests/unit/stacks/test_golden.py && git diff tests/golden
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
import yaml

from engine.events import STACK
from tests.conftest import ROOT
from tests.support.environments import ENVIRONMENTS, NEVER_SHOWN
from tests.support.environments import resources as registered
from tests.support.recorder import Registered, plain

GOLDEN = ROOT / "tests" / "golden"
HOW_TO_REFRESH = "GOLDEN=write .venv/bin/pytest tests/unit/stacks/test_golden.py"
LONGEST = 200  # characters of a text on one line; a longer one is told by its digest
everywhere = pytest.mark.parametrize("environment", ENVIRONMENTS)

Resources = dict[str, object]


class _Readable(yaml.SafeDumper):
    """Texts of several lines as they are, and no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


class _Line(dict[str, object]):
    """An object that is written like JSON."""


def _line(dumper: yaml.SafeDumper, found: _Line) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", found, flow_style=True)


_Readable.add_representer(str, _text)
_Readable.add_representer(_Line, _line)


@cache
def rendered(environment: str) -> str:
    """The resources in the order of their names, by the component that they stand in."""
    resources = sorted(registered(environment), key=lambda each: (_place(each), each.name))
    found: Resources = {
        f"{_place(each)}/{each.name} ({each.kind})": _shown(each) for each in resources
    }
    assert len(found) == len(resources)
    return yaml.dump(found, Dumper=_Readable, sort_keys=False, width=120, allow_unicode=True)


def _place(resource: Registered) -> str:
    *_, types, name = resource.parent.split("::")
    return "stack" if types.rsplit("$", 1)[-1] == STACK else name


def _shown(resource: Registered) -> Resources:
    shown: Resources = {"type": resource.type}
    if resource.custom and resource.provider:
        shown["provider"] = resource.provider.split("::")[-2]
    if resource.protect:
        shown["protected"] = True
    inputs = plain(resource.inputs)
    if _place(resource) == "admission" and "spec" in resource.inputs:
        spec: Any = plain(resource.inputs["spec"])
        return shown | {"inputs": _of_a_pack(spec)}
    return shown | {"inputs": _readable(inputs)} if inputs else shown


def _of_a_pack(spec: Mapping[str, Any]) -> Mapping[str, object]:
    """A binding as it is; of a policy its rules, and the variables that are plain values."""
    if "validations" not in spec:
        return spec
    said = [each["messageExpression"].partition(": ")[0] for each in spec["validations"]]
    variables = [(each["name"], _value(each["expression"])) for each in spec["variables"]]
    return {
        "rules": [rule.removeprefix('"') for rule in said],
        "values": {name: value for name, value in variables if value is not None},
    }


def _value(expression: str) -> object:
    """The plain value that CEL writes, each object on lines of its own; None of all else."""
    try:
        value = json.loads(re.sub(r"dyn\(|\)", "", expression))
    except ValueError:
        return None
    if isinstance(value, list):
        return [_Line(each) if isinstance(each, dict) else each for each in value]
    return value


def _readable(value: object) -> object:
    if isinstance(value, dict):
        return {key: _readable(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_readable(part) for part in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return _short(value) if isinstance(value, str) else value


def _short(text: str) -> object:
    """A JSON document as what it says, a dashboard as what it asks, another endless line as its
    digest and length.
    """
    if text.startswith(("{", "[")):
        with suppress(ValueError):
            document = json.loads(text)
            if "panels" in document:
                return {f"dashboard, SHA-256 {_digest(text)}": dict(_panels(document["panels"]))}
            if "ignition" not in document:
                return {"JSON of": _readable(document)}
    if max(map(len, text.splitlines()), default=0) <= LONGEST:
        return text
    return f"[{len(text)} characters, SHA-256 {_digest(text)}]"


def _digest(text: str) -> str:
    return f"{hashlib.sha256(text.encode()).hexdigest()[:12]}…"


def _panels(panels: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[str]]]:
    """What a dashboard asks, panel by panel; how it draws the answers is left to its digest."""
    for panel in panels:
        if "targets" in panel:
            yield panel["title"], [" ".join(each["expr"].split()) for each in panel["targets"]]
        yield from _panels(panel.get("panels", ()))


def differences(before: str, after: str) -> Iterator[str]:
    """The resources that came, went or changed."""
    old, new = (yaml.safe_load(text) or {} for text in (before, after))
    for name in sorted({*old, *new}):
        if name not in old:
            yield f"new: {name}"
        elif name not in new:
            yield f"gone: {name}"
        elif old[name] != new[name]:
            yield f"changed: {name}"


@everywhere
def test_an_environment_has_the_resources_that_were_reviewed(environment: str) -> None:
    path = GOLDEN / f"{environment}.yaml"
    text = rendered(environment)
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    reviewed = path.read_text() if path.exists() else ""
    if text != reviewed:  # the whole of both would bury the names
        found = "\n".join(differences(reviewed, text))
        pytest.fail(f"{path.name} differs:\n{found}\nwanted? {HOW_TO_REFRESH}", pytrace=False)


@everywhere
def test_a_golden_file_holds_no_secret(environment: str) -> None:
    text = rendered(environment)
    assert "[secret]" in text
    assert [name for name, value in NEVER_SHOWN.items() if value in text] == []


def test_no_golden_file_is_left_of_an_environment_that_is_gone() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(ENVIRONMENTS)


def test_a_difference_names_the_resources_that_came_went_and_changed() -> None:
    before, after = "a: {x: 1}\nb: {x: 1}\nc: {x: 1}", "a: {x: 1}\nb: {x: 2}\nd: {x: 1}"
    assert [*differences(before, after)] == ["changed: b", "gone: c", "new: d"]


def test_a_document_in_a_text_is_shown_and_an_endless_line_is_not() -> None:
    assert _short('{"Version": "2012-10-17"}') == {"JSON of": {"Version": "2012-10-17"}}
    assert _short('{"ignition": {}, "x": "' + "y" * LONGEST + '"}') != {"JSON of": {}}
    row = {"title": "Use", "panels": [{"title": "Busy", "targets": [{"expr": "a\n  + b"}]}]}
    dashboard = _short(json.dumps({"panels": [row], "color": "red"}))
    assert isinstance(dashboard, dict)
    assert [*dashboard.values()] == [{"Busy": ["a + b"]}], "not how it draws the answers"
    told = _short("y" * (LONGEST + 1))
    assert isinstance(told, str)
    assert told.startswith("[201 characters, SHA-256 ")
