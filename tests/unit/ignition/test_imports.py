"""Who may import whom: the boot check shares no code with what wrote the configuration."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BOOT = sorted((ROOT / "ignition" / "boot").glob("*.py"))
PURE = sorted([*(ROOT / "hardware").rglob("*.py"), *(ROOT / "ignition").rglob("*.py")])
OF_THIS_REPOSITORY = (
    "components",
    "fleet",
    "policies",
    "rehearsal",
    "stacks",
    "toolchain",
    "workloads",
)


def imports(path: Path) -> Iterator[str]:
    for statement in ast.walk(ast.parse(path.read_text())):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path} has a relative import"
            assert statement.module is not None
            yield statement.module
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)


def test_there_is_a_boot_check_to_look_at() -> None:
    assert BOOT


@pytest.mark.parametrize("path", BOOT, ids=lambda path: path.name)
def test_the_boot_check_imports_nothing_that_writes_boot_data(path: Path) -> None:
    ours = {name for name in imports(path) if name.split(".")[0] in ("hardware", "ignition")}
    allowed = ("ignition.boot", "hardware.catalogue")
    assert not {name for name in ours if not name.startswith(allowed) and name != "ignition"}


@pytest.mark.parametrize("path", BOOT, ids=lambda path: path.name)
def test_the_boot_check_reads_cpu_lists_by_itself(path: Path) -> None:
    assert not {name for name in imports(path) if "cpuset" in name}


@pytest.mark.parametrize("path", PURE, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_pure_modules_import_neither_pulumi_nor_what_is_built_on_them(path: Path) -> None:
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & {"pulumi", *OF_THIS_REPOSITORY}
    assert not {root for root in roots if root.startswith("pulumi")}
