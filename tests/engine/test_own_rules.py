"""A rule of one's own at the real engine: the pack holds it, the program makes it a policy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fleet.rules.new import write
from tests.engine.conftest import Trial

ID = "acme/who-owns"


def test_a_preview_is_held_to_a_rule_of_the_folder(
    twin_of_dev: Callable[..., Trial], tmp_path: Path
) -> None:
    write(ID, tmp_path / "rules")

    def with_rules(config: dict[str, Any]) -> None:
        config["gpu-fleet:policies"] |= {"rules": {"folder": str(tmp_path / "rules")}}
        config["gpu-fleet:policies"][ID] = {"level": "advisory"}

    trial = twin_of_dev(with_rules)
    outcome = trial.preview()

    said = [each.message for each in outcome.violations if f"{ID}: " in each.message]
    assert any("Deployment 'fleet-join-tokens' must say who owns it" in each for each in said)
    registered = trial.registered("preview")
    assert any(each.endswith("::admission-acme-warn") for each in registered)
    assert any(each.endswith("::admission-acme-warn-binding") for each in registered)
