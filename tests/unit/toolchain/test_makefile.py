"""The first thing that a person types: `make`, with the Pythons that the machine has."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

NEW, OLD = 0, 1  # what a Python answers when it is asked whether it is new enough


class Machine:
    """A checkout, and a PATH with Pythons that only tell their name."""

    def __init__(self, folder: Path) -> None:
        self.checkout, self.path = folder / "checkout", folder / "bin"
        (self.checkout / "toolchain").mkdir(parents=True)
        (self.checkout / "toolchain" / "bootstrap.py").touch()
        shutil.copy(ROOT / "Makefile", self.checkout)
        self.path.mkdir()

    def has(self, name: str, answer: int) -> None:
        python = self.path / name
        python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exit {answer}\necho {name} runs "$@"\n')
        python.chmod(0o755)

    def make(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        make = shutil.which("make")
        assert make
        # as a person's shell, also where `make test` runs this: a make within a make says so
        shell = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
        return subprocess.run(
            [make, *words],
            cwd=cwd or self.checkout,
            env={**shell, "PATH": str(self.path)},
            check=False,
            capture_output=True,
            text=True,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_python3_is_taken_where_it_is_new_enough(machine: Machine) -> None:
    machine.has("python3", NEW)
    machine.has("python3.12", NEW)
    assert machine.make("bootstrap").stdout == "python3 runs toolchain/bootstrap.py\n"


def test_a_newer_python_is_found_behind_an_old_python3(machine: Machine) -> None:
    machine.has("python3", OLD)
    machine.has("python3.12", NEW)
    assert machine.make("bootstrap").stdout == "python3.12 runs toolchain/bootstrap.py\n"


def test_old_pythons_alone_are_one_sentence_with_what_to_install(machine: Machine) -> None:
    machine.has("python3", OLD)
    ended = machine.make("bootstrap")
    assert ended.returncode
    assert ended.stderr.startswith("There is no Python 3.11 or newer on PATH (looked for python3 ")
    assert ended.stdout == ""


def test_from_another_folder_make_says_where_it_has_to_run(
    machine: Machine, tmp_path: Path
) -> None:
    machine.has("python3", NEW)
    ended = machine.make("-f", str(machine.checkout / "Makefile"), "bootstrap", cwd=tmp_path)
    assert f"run this Makefile in its own folder: make -C {machine.checkout}/" in ended.stderr
    assert ended.stdout == ""
