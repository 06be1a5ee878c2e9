"""A machine's boot data laid on Debian's system, as Ignition lays it on Flatcar's.

What comes from an address is left out, with the links to it: extensions are no part of this system.
Units are enabled by a preset, as Ignition does it, and by systemd's own `systemctl preset-all`.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.support.ignition.faults import decoded
from tests.support.judges import flatcar_image
from tests.support.judges.debian import Debian
from tests.support.judges.flatcar_image import write


def install(debian: Debian, root: Path, *configs: str, gpu: bool) -> None:
    """Make `root` a system with the stand-ins of Flatcar and the Ignition `configs`."""
    shutil.copytree(debian.root, root, symlinks=True, copy_function=os.link)
    flatcar_image.add(root, gpu=gpu)
    enabled: list[str] = []
    for config in map(json.loads, configs):
        _storage(root, config.get("storage", {}))
        for unit in config.get("systemd", {}).get("units", ()):
            _unit(root, unit)
            enabled += [unit["name"]] if unit.get("enabled") else []
    preset = "".join(f"enable {name}\n" for name in enabled)
    write(root, "etc/systemd/system-preset/20-ignition.preset", preset)
    subprocess.run(
        [*debian.program("systemctl"), f"--root={root}", "preset-all"],
        check=True,
        capture_output=True,
    )


def _storage(root: Path, storage: dict[str, Any]) -> None:
    for directory in storage.get("directories", ()):
        (root / directory["path"].lstrip("/")).mkdir(parents=True, exist_ok=True)
    for file in storage.get("files", ()):
        source = file.get("contents", {}).get("source", "data:,")
        if source.startswith("data:"):
            write(root, file["path"], decoded(source), mode=file.get("mode", 0o644))
    for link in storage.get("links", ()):
        if (root / link["target"].lstrip("/")).exists():
            path = root / link["path"].lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(link["target"])


def _unit(root: Path, unit: dict[str, Any]) -> None:
    path = f"etc/systemd/system/{unit['name']}"
    if unit.get("mask"):
        (root / path).symlink_to("/dev/null")
    if unit.get("contents"):
        write(root, path, unit["contents"])
    for drop_in in unit.get("dropins", ()):
        write(root, f"{path}.d/{drop_in['name']}", drop_in["contents"])
