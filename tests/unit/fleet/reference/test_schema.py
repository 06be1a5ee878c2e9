"""The JSON schema of stack files: current, valid, and as strict as the parser about shapes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from fleet.reference.files import SCHEMA, schema_text
from fleet.reference.schema import schema
from hardware import catalogue
from settings import environments, stack_file
from settings.yaml_reading import Loader
from tests.conftest import ROOT
from tests.support.stack_settings import config, with_efa, with_tunnel, with_value, without

CASES = yaml.safe_load((ROOT / "tests/unit/settings/mistakes.yaml").read_text())
VALIDATOR = Draft7Validator(schema())


def document(configuration: dict[str, object]) -> Any:
    """A configuration as the stack file that an editor reads."""
    keys = {f"gpu-fleet:{key}": value for key, value in configuration.items()}
    return json.loads(json.dumps({"config": keys}))


def refusals(configuration: dict[str, object]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(document(configuration))]


def references(part: Any) -> Iterator[dict[str, object]]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part
        part = [*part.values()]
    for each in part if isinstance(part, list) else ():
        yield from references(each)


def test_the_written_file_is_what_the_types_say() -> None:
    assert SCHEMA.read_text() == schema_text(), "`make docs` writes it anew"


def test_it_is_a_schema_of_the_draft_that_editors_read() -> None:
    Draft7Validator.check_schema(schema())
    beside = [each for each in references(schema()) if len(each) > 1]
    assert not beside, "draft 7 ignores what is beside a reference"


@pytest.mark.parametrize(
    "path",
    [*(stack_file(ROOT, name) for name in environments(ROOT)), ROOT / "settings/example.yaml"],
    ids=lambda path: path.name,
)
def test_the_files_of_this_repository_are_valid_and_name_it(path: Path) -> None:
    first, _ = path.read_text().split("\n", 1)
    begin = "# yaml-language-server: $schema="
    assert (path.parent / first.removeprefix(begin)).resolve() == SCHEMA
    read = yaml.load(path.read_text(), Loader)  # noqa: S506  # a SafeLoader
    assert [*VALIDATOR.iter_errors(json.loads(json.dumps(read)))] == []


@pytest.mark.parametrize("configuration", [config(), with_efa(), with_tunnel()])
def test_what_the_parser_takes_is_valid(configuration: dict[str, object]) -> None:
    assert refusals(configuration) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['at']}={case.get('value')}")
def test_a_mistake_of_shape_is_refused_by_the_schema_too(case: dict[str, str]) -> None:
    """Where a case has `schema: accepts`, it takes two values or the catalogue to see it."""
    wrong = without(case["at"]) if "absent" in case else with_value(case["at"], case["value"])
    assert bool(refusals(wrong)) == ("schema" not in case)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pools.dgx.machines.0.leaving", True),
        ("pools.dgx.machines.0.leaving", "detach"),
        ("pools.dgx.fabric", None),
        ("budget.usd_per_day", 12.5),
        ("pools.dgx.snippets", ["variant: flatcar\nversion: 1.1.0\n"]),
    ],
)
def test_other_forms_that_the_parser_takes_are_valid(path: str, value: object) -> None:
    assert refusals(with_value(path, value)) == []


def test_an_inventory_stands_in_place_of_machines() -> None:
    named = without("pools.dgx.machines")
    assert refusals(named), "one of both is needed"
    pools: Any = named["pools"]
    pools["dgx"]["inventory"] = "dgx.csv"
    assert refusals(named) == []


@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("aws:region", True),
        ("pulumi:disable-default-providers", True),
        ("gpu-fleet:queues", False),
        ("pools", False),
    ],
)
def test_keys_of_other_namespaces_are_let_through(key: str, *, valid: bool) -> None:
    right = document(config())
    right["config"][key] = ["kubernetes"]
    assert VALIDATOR.is_valid(right) == valid


def test_a_secret_is_an_encrypted_value() -> None:
    assert refusals({**config(), "hcloud_token": {"secure": "v1:abc"}}) == []
    assert refusals({**config(), "hcloud_token": "in plain text"})


def test_a_pool_is_offered_the_machines_of_its_kind() -> None:
    pools = schema()["properties"]["config"]["properties"]["gpu-fleet:pools"]
    offered = {
        each["if"]["properties"]["kind"]["const"]: each["then"]["properties"]["hardware"]["enum"]
        for each in pools["additionalProperties"]["allOf"]
    }
    for kind, names in offered.items():
        assert names
        assert {catalogue.load(name).kind for name in names} == {kind}


def test_each_key_says_what_it_means_with_an_example() -> None:
    pools = schema()["properties"]["config"]["properties"]["gpu-fleet:pools"]
    (bare_metal,) = [
        each["then"]
        for each in pools["additionalProperties"]["allOf"]
        if each["if"]["properties"]["kind"]["const"] == "bare-metal"
    ]
    sharing = bare_metal["properties"]["sharing"]
    assert sharing["description"].startswith("How pods get GPUs: ")
    assert "Allowed: whole, mig, time-slicing, mps. Default: whole." in sharing["description"]
    assert sharing["examples"] == ["mig"]
    assert len(sharing["enumDescriptions"]) == len(sharing["enum"])
    machine = bare_metal["properties"]["machines"]["items"]["properties"]["boot_mac_address"]
    assert machine["patternErrorMessage"].startswith("allowed: six hexadecimal pairs")
