"""The project file agrees with the program, and the program ends in sentences."""

import runpy

import pulumi
import pytest
import yaml

from settings import SECRETS
from settings.names import PROJECT
from tests.conftest import ROOT
from tests.support.engine_configuration import configure

DECLARED = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())


def test_the_project_declares_the_secrets_and_nothing_else() -> None:
    assert DECLARED["name"] == PROJECT
    assert set(DECLARED["config"]) == set(SECRETS)
    for name, declared in DECLARED["config"].items():
        assert declared["secret"] is True, name
        assert declared["description"], name


def test_a_declared_secret_leaves_the_sentence_about_its_absence_to_the_program() -> None:
    for name, declared in DECLARED["config"].items():
        assert declared["default"] == "", f"without one the engine stops before us: {name}"
        assert "type" not in declared, f"with one the engine calls the default unencrypted: {name}"


def test_stack_files_lie_beside_the_program() -> None:
    assert DECLARED["main"] == DECLARED["stackConfigDir"] == "stacks/"


def test_mistakes_end_the_program_in_sentences_without_a_traceback() -> None:
    configure({"pool": {}}, {})
    with pytest.raises(pulumi.RunError, match="gpu-fleet:pool is not a known key") as caught:
        runpy.run_module("stacks.__main__")
    assert "gpu-fleet:budget is missing" in str(caught.value)
