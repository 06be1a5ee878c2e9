"""Who may import whom: settings are read without Pulumi and without what is built on them."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

SETTINGS = sorted([ROOT / "fleet" / "versions.py", *(ROOT / "fleet" / "settings").glob("*.py")])


def imports(path: Path) -> Iterator[str]:
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield str(statement.module)


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.name)
def test_settings_import_neither_pulumi_nor_what_is_built_on_them(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & {"components", "rehearsal", "stacks", "toolchain", "workloads"}
    assert not {root for root in roots if root.startswith("pulumi")}
