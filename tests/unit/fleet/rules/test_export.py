"""`fleet rules export`: files that can be applied, and which rules hold nobody to anything."""

import json
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from fleet.cli.main import app
from fleet.rules.export import NEEDS_POOLS, NEEDS_QUEUES
from policies.rules import ALL


def export(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["rules", "export", *words])
    return done.exit_code, done.output


def test_the_kustomization_names_every_policy_with_its_binding(tmp_path: Path) -> None:
    code, said = export(str(tmp_path), "--env", "prod", "--deny")

    assert code == 0, said
    kustomization = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())
    assert kustomization["resources"] == sorted(each.name for each in tmp_path.glob("fleet-*"))
    for file in kustomization["resources"]:
        policy, binding = yaml.safe_load_all((tmp_path / file).read_text())
        assert binding["spec"]["policyName"] == policy["metadata"]["name"]
        refuses = binding["spec"]["validationActions"] == ["Deny"]
        assert refuses is not file.endswith("-warn.yaml")
    readme = (tmp_path / "README.md").read_text()
    assert all(f"`{rule.id}`" in readme for rule in ALL if rule.admission)
    assert "hold nobody" not in said


def test_in_audit_the_same_objects_only_warn(tmp_path: Path) -> None:
    assert export(str(tmp_path / "deny"), "--deny")[0] == 0
    code, said = export(str(tmp_path / "audit"), "--audit")

    assert code == 0, said
    files = sorted(each.name for each in (tmp_path / "deny").glob("fleet-*"))
    assert files == sorted(each.name for each in (tmp_path / "audit").glob("fleet-*"))
    for file in files:
        _, binding = yaml.safe_load_all((tmp_path / "audit" / file).read_text())
        assert binding["spec"]["validationActions"] == ["Audit", "Warn"]


def test_a_label_tells_the_objects_of_one_export_from_those_of_another(tmp_path: Path) -> None:
    labels = {}
    for mode in ("--audit", "--deny"):
        _, said = export(str(tmp_path), mode)
        every = [each for file in tmp_path.glob("fleet-*") for each in whole(file)]
        found = {each["metadata"]["labels"]["fleet.gpu/export"] for each in every}
        assert len(found) == 1
        labels[mode] = found.pop()
        assert f"-l 'fleet.gpu/export,fleet.gpu/export!={labels[mode]}'" in said
    assert labels["--audit"] != labels["--deny"]


def whole(file: Path) -> list[dict[str, Any]]:
    """The objects of a file."""
    return list(yaml.safe_load_all(file.read_text()))


def test_without_facts_it_names_the_rules_that_hold_nobody(tmp_path: Path) -> None:
    _, said = export(str(tmp_path))

    assert all(rule in said for rule in (*NEEDS_POOLS, *NEEDS_QUEUES))
    readme = (tmp_path / "README.md").read_text()
    assert f"- facts.pools is empty: {', '.join(f'`{each}`' for each in NEEDS_POOLS)}" in readme


def test_a_file_sets_levels_settings_and_facts(tmp_path: Path) -> None:
    queue = {"name": "research", "gpus": 16}
    said = {"idle/notebooks": {"level": "disabled"}, "facts": {"pools": [], "queues": [queue]}}
    config = tmp_path / "rules.json"
    config.write_text(json.dumps({"fleet-resources": said}))

    code, told = export(str(tmp_path / "gate"), "--config", str(config))

    assert code == 0, told
    assert "idle/gang-fits" not in told
    text = (tmp_path / "gate" / "fleet-idle-warn.yaml").read_text()
    assert "idle/notebooks" not in text
    assert "research" in text


def test_an_export_replaces_an_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    assert export(str(tmp_path))[0] == 0
    assert (tmp_path / "fleet-idle-warn.yaml").exists()
    disabled = {rule.id: {"level": "disabled"} for rule in ALL if rule.id.startswith("idle/")}
    config = tmp_path / "config"
    config.write_text(json.dumps({"fleet-resources": disabled}))
    assert export(str(tmp_path), "--config", str(config))[0] == 0
    assert not (tmp_path / "fleet-idle-warn.yaml").exists()

    (tmp_path / "kustomization.yaml").write_text("mine: 1\n")
    code, said = export(str(tmp_path))
    assert (code, "and no export" in said) == (2, True)
    assert (tmp_path / "kustomization.yaml").read_text() == "mine: 1\n"


def test_mistakes_are_sentences(tmp_path: Path) -> None:
    config = tmp_path / "rules.yaml"
    for text, expected in (
        ("a: [", "is neither JSON nor YAML"),
        ("idle/notebooks: {}", 'has no mapping "fleet-resources"'),
        ("fleet-resources: {idle/notebok: {}}", 'did you mean "idle/notebooks"?'),
    ):
        config.write_text(text)
        code, said = export(str(tmp_path / "gate"), "--config", str(config))
        assert code == 2
        assert expected in said
    code, said = export(str(tmp_path / "gate"), "--config", str(config), "--env", "dev")
    assert (code, "give one" in said) == (2, True)
