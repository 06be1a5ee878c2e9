"""What stack files were in earlier commits of this checkout."""

import subprocess
from typing import Any

import yaml

from settings import SettingsError, parse
from tests.conftest import ROOT

_OURS = "gpu-fleet:"


def readable_versions(environment: str) -> list[dict[str, Any]]:
    """The configuration of an environment in each commit that today's settings read, oldest last.

    Too few to compare where the checkout is shallow or an archive.
    """
    name = f"stacks/Pulumi.{environment}.yaml"
    git = ("git", "-C", str(ROOT))
    log = subprocess.run(
        (*git, "log", "--format=%H", "--", name), capture_output=True, text=True, check=False
    )
    found: list[dict[str, Any]] = []
    for commit in log.stdout.split():
        shown = subprocess.run(
            (*git, "show", f"{commit}:{name}"), capture_output=True, text=True, check=True
        )
        config = yaml.safe_load(shown.stdout)["config"]
        if not _is_read(environment, config):
            break
        if config not in found:  # a commit may change comments alone
            found.append(config)
    return found


def _is_read(environment: str, config: dict[str, Any]) -> bool:
    """Whether today's settings read a configuration, without the values that they refuse by now."""
    ours = {key.removeprefix(_OURS): value for key, value in config.items() if _OURS in key}
    try:
        parse(environment, ours)
    except SettingsError as error:
        return all(_left_out(ours, mistake) for mistake in error.mistakes) and _is_read(
            environment, config
        )
    return True


def _left_out(ours: dict[str, Any], mistake: str) -> bool:
    """Removes the value within a key of which a sentence speaks, if there is one."""
    path, _, _ = mistake.removeprefix(_OURS).partition(" is ")
    *above, last = path.split(".")
    place: Any = ours
    for key in above:
        place = place.get(key) if isinstance(place, dict) else None
    return bool(above) and isinstance(place, dict) and place.pop(last, None) is not None
