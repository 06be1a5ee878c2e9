"""`fleet explain` of a setting that no plan has."""

import json

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from fleet.plan.explanation import explain
from fleet.plan.subject import SubjectError


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("nohz_full", "built without NO_HZ_FULL"),
        ("rcu_nocbs=4-55", "built without RCU_NOCB_CPU"),
        ("pci=noaer", "hides the PCIe errors"),
        ("NVreg_EnablePCIeGen4", "no NVIDIA driver ever had it"),
        ("nvidia.NVreg_PersistenceMode=1", "nvidia-persistenced"),
        ("iommu.passthrough", "tuning.iommu decides it"),
        ("mitigations=off", "tuning.extra_kernel_arguments takes it where a pool asks for it"),
        ("NVreg_EnableMSI", "tuning.extra_module_options takes it where a pool asks for it"),
    ],
)
def test_what_no_plan_has_is_explained_with_the_reason(word: str, reason: str) -> None:
    result = CliRunner().invoke(app, ["explain", word])
    assert result.exit_code == 0
    assert f"No plan of the catalogue has {word}: " in result.stdout
    assert reason in result.stdout


def test_the_json_says_which_line_is_refused_and_why() -> None:
    result = CliRunner().invoke(app, ["explain", "nohz_full", "--json"])
    found = json.loads(result.stdout)
    assert found["line"] == "nohz_full"
    assert "built without NO_HZ_FULL" in found["reason"]


@pytest.mark.parametrize("word", ["efa", "aul", "olicy"])
def test_letters_within_a_word_are_no_name(word: str) -> None:
    with pytest.raises(SubjectError, match=f'No plan of the catalogue has a line called "{word}"'):
        explain(word)


@pytest.mark.parametrize("word", ["policy", "autologin", "blockio", "governor"])
def test_a_word_of_a_name_finds_it(word: str) -> None:
    found = explain(word)
    assert isinstance(found, tuple)
    assert all(word in each.line.key.lower() for each in found)


@pytest.mark.parametrize("word", ["", " "])
def test_no_word_is_no_line(word: str) -> None:
    result = CliRunner().invoke(app, ["explain", word])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "LINE is empty; allowed: the name of a line of a plan" in result.stderr
