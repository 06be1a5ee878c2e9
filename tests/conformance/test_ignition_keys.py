"""The keys of Ignition that the boot check knows, before the real Ignition, one by one."""

import json

import pytest

from ignition.boot import config_schema
from tests.support.butane_reference import reference

# as json.loads makes them
RIGHT = {"string": "x", "integer": 1, "boolean": True, "array": [], "object": {}}
WRONG = {"string": 1, "integer": "x", "boolean": "x", "array": "x", "object": "x"}


def configuration(place: str, value: object) -> str:
    """A configuration with nothing but a value at a place such as `storage.files[].mode`."""
    for part in reversed(place.split(".")):
        name = part.removesuffix("[]")
        value = {name: [value] if part.endswith("[]") else value}
    assert isinstance(value, dict)
    ignition = value.get("ignition", {})
    if isinstance(ignition, dict):
        ignition = {"version": "3.4.0", **ignition}
    return json.dumps({**value, "ignition": ignition})


def refuses_type(config: str) -> bool:
    try:
        list(config_schema.problems(json.loads(config)))
    except config_schema.WrongTypeError:
        return True
    return False


@pytest.mark.parametrize("section", ["ignition", "storage", "systemd", "passwd", "kernelArguments"])
def test_ignition_knows_each_key_and_decodes_its_type_alone(section: str) -> None:
    known = {
        place: kind for place, kind in config_schema.KEYS.items() if place.split(".")[0] == section
    }
    for place, kind in known.items():
        right, wrong = (configuration(place, values[kind]) for values in (RIGHT, WRONG))
        assert "unused key" not in reference().validate(right), place
        assert "cannot unmarshal" not in reference().validate(right), place
        assert "cannot unmarshal" in reference().validate(wrong), place
        assert (refuses_type(right), refuses_type(wrong)) == (False, True), place


def test_a_key_that_ignition_does_not_know_is_told_by_both() -> None:
    config = configuration("storage.files[].moed", 420)
    assert "unused key moed" in reference().validate(config)
    assert "storage.files.moed is no key of Ignition 3.4, which passes over it; write mode" in list(
        config_schema.problems(json.loads(config))
    )
