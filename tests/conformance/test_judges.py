"""Judges that are missing are counted or fail the run, and none outlives its test."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.support.judges import qemu
from tests.support.judges.debian import debian
from tests.support.judges.presence import absent, summary

STARTER = """
import subprocess, sys
machine = subprocess.Popen(sys.argv[1:])
print(machine.pid, flush=True)
machine.wait()
"""
TWO_TESTS = """
from tests.support.judges.presence import absent

def test_one():
    absent("the kernel", "there is no QEMU")

def test_other():
    absent("the kernel", "there is no QEMU")
"""


def test_a_missing_judge_skips_the_test_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEET_JUDGES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="judge did not run: bash: there is none"):
        absent("bash", "there is none")


def test_a_missing_judge_fails_the_test_where_judges_are_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FLEET_JUDGES", "required")
    with pytest.raises(pytest.fail.Exception, match="judge did not run: bash: there is none"):
        absent("bash", "there is none")


def test_the_checks_of_a_fresh_clone_require_every_judge() -> None:
    assert "export FLEET_JUDGES=required\n" in (ROOT / ".ci/run").read_text()


@pytest.mark.parametrize("processes", [(), ("-n", "1")], ids=["alone", "by another process"])
def test_the_end_of_a_run_counts_the_judges_that_did_not_run(
    processes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLEET_JUDGES", raising=False)
    (tmp_path / "test_two.py").write_text(TWO_TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-c",
        str(ROOT / "pyproject.toml"),
    ]
    run = subprocess.run(
        [*command, *processes, f"--rootdir={tmp_path}", tmp_path / "test_two.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 tests without the kernel: there is no QEMU" in run.stdout.splitlines(), run.stdout


def test_other_skips_are_no_missing_judges() -> None:
    class Report:
        longrepr = ("test_x.py", 1, "Skipped: this kernel has no NUMA support")

    assert summary([Report()]) == []


def test_a_machine_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    qemu.programs()
    (tmp_path / "root").mkdir()
    qemu.write_files(tmp_path / "root", tmp_path)
    command = qemu.start_command(debian(), tmp_path, arguments=(), accelerator="tcg")
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, *command, "-S"], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        machine = psutil.Process(int(starter.stdout.readline()))
        while not machine.name().startswith("qemu"):
            machine.cmdline()  # setpriv becomes QEMU
        starter.kill()
    gone, _ = psutil.wait_procs([machine], timeout=60)
    assert gone == [machine]


def test_a_machine_that_stops_while_it_boots_is_started_again_with_new_drives_and_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = iter(["echo used > scratch0; exit 1", "grep -q used scratch0 || echo '{}' > report"])

    def start_command(_: object, folder: Path, **_options: object) -> list[str]:
        return ["sh", "-c", f"cd {folder}; {next(starts)}"]

    (tmp_path / "root").mkdir()
    monkeypatch.setattr(qemu, "start_command", start_command)
    monkeypatch.setattr(qemu, "accelerators", lambda: ("tcg", "tcg"))
    with pytest.warns(UserWarning, match="came up at attempt 2"):
        assert qemu.boot(debian(), tmp_path / "root", tmp_path, arguments=()) == {}
