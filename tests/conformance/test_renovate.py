"""Renovate takes its configuration, and finds with it every pin of versions.py."""

import json
import re
from copy import deepcopy
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from settings import versions
from settings.versions import Chart
from tests.conftest import ROOT

VERSIONS = Path(versions.__file__)
CONFIGURATION: dict[str, Any] = json.loads((ROOT / ".github" / "renovate.json").read_text())
SCHEMA = json.loads(
    (files("check_jsonschema") / "builtin_schemas/vendor/renovate.json").read_text()
)
# a channel, an account, and a branch without a feed
BY_HAND = {"FLATCAR_CHANNEL", "FLATCAR_AMI_OWNER", "NVIDIA_DRIVER"}
PINS = {
    name: value for name, value in vars(versions).items() if name.isupper() and name not in BY_HAND
}


def read() -> list[tuple[str, dict[str, str]]]:
    """The constant and the named groups of every match of the regular expressions."""
    patterns = [
        re.sub(r"\(\?<(?=\w)", "(?P<", pattern)  # as Python writes a named group
        for manager in CONFIGURATION["customManagers"]
        for pattern in manager["matchStrings"]
    ]
    matches = [
        match for pattern in patterns for match in re.finditer(pattern, VERSIONS.read_text())
    ]
    return [
        (
            re.findall(r"\n([A-Z_]+) = ", match[0])[0],
            {name: value for name, value in match.groupdict().items() if value},
        )
        for match in matches
    ]


def expected(value: str | Chart) -> dict[str, str]:
    """What Renovate has to know of a pin, apart from the feed of a bare release."""
    if isinstance(value, Chart):
        address = {"registryUrl": value.repository} if value.repository else {}
        return {
            "datasource": "helm" if value.repository else "docker",
            "depName": value.name.removeprefix("oci://"),
            "currentValue": value.version,
            **address,
        }
    image, _, digest = value.partition("@")
    if ":" not in image:
        return {"currentValue": image}
    name, _, tag = image.rpartition(":")
    pinned = {"currentDigest": digest} if digest else {}
    return {"datasource": "docker", "depName": name, "currentValue": tag, **pinned}


def test_every_pin_is_found_once() -> None:
    assert len(PINS) > 15
    assert sorted(name for name, _ in read()) == sorted(PINS)


@pytest.mark.parametrize("name", PINS)
def test_a_pin_is_found_with_its_feed_and_its_release(name: str) -> None:
    found = dict(read())[name]
    assert found["datasource"]
    assert found["depName"]
    assert found.items() >= expected(PINS[name]).items()


def test_the_file_of_the_pins_is_the_one_that_is_searched() -> None:
    path = VERSIONS.relative_to(ROOT).as_posix()
    for manager in CONFIGURATION["customManagers"]:
        (pattern,) = manager["managerFilePatterns"]
        assert re.search(pattern.strip("/"), path)


def test_renovate_takes_the_configuration() -> None:
    assert [each.message for each in Draft7Validator(SCHEMA).iter_errors(CONFIGURATION)] == []


def test_a_bump_of_flatcar_says_that_its_drivers_are_to_be_read() -> None:
    (note,) = (
        note
        for rule in CONFIGURATION["packageRules"]
        if "flatcar/scripts" in rule["matchDepNames"]
        for note in rule["prBodyNotes"]
    )
    command = "python -m hardware.flatcar.read_tag {{{newVersion}}}"
    assert command in note
    assert dict(read())["FLATCAR"]["depName"] == "flatcar/scripts"


@pytest.mark.parametrize(
    ("key", "value"),
    [("customType", "regexp"), ("matchStrings", "one"), ("managerFilePatterns", [1])],
)
def test_renovate_does_not_take_a_wrong_one(key: str, value: object) -> None:
    broken = deepcopy(CONFIGURATION)
    broken["customManagers"][0][key] = value
    assert list(Draft7Validator(SCHEMA).iter_errors(broken))
