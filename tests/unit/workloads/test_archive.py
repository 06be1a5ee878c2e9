"""Programs in one file: the same bytes every time, and nothing but the standard library."""

import ast
import io
import sys
import zipfile

import pytest

from workloads.bind.program import program as bind
from workloads.controllers.join_tokens.program import program as join_tokens
from workloads.controllers.pool_domains.program import program as pool_domains
from workloads.controllers.queue_entry.program import program as queue_entry
from workloads.node_check.program import program as node_check

programs = pytest.mark.parametrize(
    "program",
    [node_check(), bind(), join_tokens(), pool_domains(), queue_entry()],
    ids=["node-check", "bind", "join-tokens", "pool-domains", "queue-entry"],
)


def modules(program: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(program)) as packed:
        return {name: packed.read(name).decode() for name in packed.namelist()}


def imported(text: str) -> set[str]:
    """Every module that the source imports, wherever it does."""
    found: set[str] = set()
    for each in ast.walk(ast.parse(text)):
        if isinstance(each, ast.Import):
            found |= {alias.name for alias in each.names}
        elif isinstance(each, ast.ImportFrom):
            found.add(each.module or "")
    return found


@programs
def test_a_program_imports_the_standard_library_and_itself_alone(program: bytes) -> None:
    files = modules(program)
    own = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files}
    foreign = {
        module
        for text in files.values()
        for module in imported(text)
        if module.partition(".")[0] not in sys.stdlib_module_names and module not in own
    }
    assert foreign == set()


@programs
def test_a_program_is_one_file_that_a_shell_can_start(program: bytes) -> None:
    assert program.startswith(b"#!/usr/bin/env python3\nPK")
    assert "__main__.py" in modules(program)


def test_two_builds_are_the_same_bytes() -> None:
    first, second = (node_check() for _ in range(2))
    assert first == second


@programs
def test_a_program_carries_no_time_and_no_compression(program: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(program)) as packed:
        for entry in packed.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert entry.compress_type == zipfile.ZIP_STORED


def test_a_program_fits_a_config_map() -> None:
    limit = 1024 * 1024  # of the API server, for the object in base64
    assert len(node_check()) * 4 / 3 < limit / 2


def test_the_import_check_sees_imports_in_functions() -> None:
    assert imported("def f():\n    import yaml\n    from pulumi.runtime import x") == {
        "yaml",
        "pulumi.runtime",
    }
