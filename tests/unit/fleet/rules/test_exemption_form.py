"""The issue form by which somebody without the checkout asks for an exemption."""

import json
from datetime import date
from importlib.resources import files
from typing import Any

import yaml
from jsonschema import Draft7Validator

from fleet.rules.exemption import entry
from policies.configuration import schema
from policies.rules import ALL
from settings import stack_file
from tests.conftest import ROOT

FORM = ROOT / ".github" / "ISSUE_TEMPLATE" / "exemption.yml"
WHERE = ("rule", "environment")
SCHEMA = files("check_jsonschema") / "builtin_schemas/vendor/github-issue-forms.json"


def fields() -> dict[str, Any]:
    form = yaml.safe_load(FORM.read_text(encoding="utf-8"))
    return {each["id"]: each for each in form["body"] if each["type"] != "markdown"}


def test_the_form_asks_for_what_an_exemption_says() -> None:
    of_rule: Any = schema(ALL[0])["properties"]
    wanted = of_rule["exemptions"]["items"]
    required = {name for name, each in fields().items() if each.get("validations")}

    assert set(fields()) - set(WHERE) <= set(wanted["properties"])
    assert required == {*wanted["required"], *WHERE}


def test_the_examples_of_the_form_are_an_exemption() -> None:
    said = {name: each["attributes"]["placeholder"] for name, each in fields().items()}
    rule, environment = (said.pop(name) for name in WHERE)

    shown = entry(stack_file(ROOT, environment), rule, said, date(2026, 11, 21))

    assert yaml.safe_load(shown.partition("\n\n")[2]) == {
        "gpu-fleet:policies": {rule: {"exemptions": [said]}}
    }


def test_the_form_tells_of_the_command() -> None:
    text = FORM.read_text(encoding="utf-8")

    assert (
        "`fleet rules exempt RULE KIND/NAME --env ENV --owner NAME --reason WHY --until DAY`"
        in text
    )


def test_github_takes_the_form() -> None:
    form = yaml.safe_load(FORM.read_text(encoding="utf-8"))

    assert [*Draft7Validator(json.loads(SCHEMA.read_text())).iter_errors(form)] == []
