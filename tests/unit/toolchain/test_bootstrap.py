"""The bootstrap: when .venv is complete, and what is done when it is not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from toolchain import bootstrap
from toolchain.bootstrap import Bootstrap, BootstrapError


class Recorded(Bootstrap):
    """Records the commands in place of running them; making .venv makes an empty one."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.steps: list[str] = []
        self.interrupted_by = ""

    def _call(self, command: list[str], failure: str) -> None:
        step = "make" if "venv" in command else "project" if "--editable" in command else "lock"
        self.steps.append(step)
        if step == self.interrupted_by:
            raise KeyboardInterrupt
        if step == "make":
            (self.venv / "bin").mkdir(parents=True)
            (self.venv / "bin" / "python").symlink_to(sys.executable)


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """A checkout without .venv."""
    (tmp_path / "requirements.lock").write_text("one==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return Recorded(tmp_path)


def test_a_fresh_checkout_gets_everything_and_is_done(recorded: Recorded) -> None:
    assert not recorded.is_done()

    recorded.run()

    assert recorded.steps == ["make", "lock", "project"]
    assert recorded.is_done()


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_changed_file_updates_the_environment_in_place(recorded: Recorded, name: str) -> None:
    recorded.run()
    recorded.steps.clear()
    (recorded.root / name).write_text("changed")
    assert not recorded.is_done()

    recorded.run()

    assert recorded.steps == ["lock", "project"]
    assert recorded.is_done()


@pytest.mark.parametrize("step", ["make", "lock", "project"])
def test_an_interrupted_bootstrap_is_not_done_and_begins_anew(
    recorded: Recorded, step: str
) -> None:
    recorded.interrupted_by = step
    with pytest.raises(KeyboardInterrupt):
        recorded.run()
    assert not recorded.is_done()
    recorded.interrupted_by = ""
    recorded.steps.clear()

    recorded.run()

    assert recorded.steps == ["make", "lock", "project"]
    assert recorded.is_done()


def test_an_interrupted_update_is_not_taken_for_the_old_environment(recorded: Recorded) -> None:
    recorded.run()
    before = (recorded.root / "requirements.lock").read_text()
    (recorded.root / "requirements.lock").write_text("two==2\n")
    recorded.interrupted_by = "lock"
    with pytest.raises(KeyboardInterrupt):
        recorded.run()
    (recorded.root / "requirements.lock").write_text(before)

    assert not recorded.is_done()


def test_an_environment_whose_python_is_gone_is_made_anew(recorded: Recorded) -> None:
    recorded.run()
    python = recorded.venv / "bin" / "python"
    python.unlink()
    python.symlink_to(recorded.root / "gone")
    recorded.steps.clear()
    assert not recorded.is_done()

    recorded.run()

    assert recorded.steps == ["make", "lock", "project"]


def test_an_environment_that_was_moved_is_made_anew(recorded: Recorded, tmp_path: Path) -> None:
    recorded.run()
    moved = Recorded(tmp_path.rename(tmp_path.with_name("moved")))
    assert not moved.is_done()

    moved.run()

    assert moved.steps == ["make", "lock", "project"]


def test_a_failing_pip_is_one_sentence_with_its_error(tmp_path: Path) -> None:
    script = "import sys; print('Collecting x'); print('ERROR: No match for x'); sys.exit(1)"

    with pytest.raises(BootstrapError) as caught:
        Bootstrap(tmp_path)._call([sys.executable, "-c", script], "Nothing was installed")

    assert str(caught.value).startswith("Nothing was installed (ERROR: No match for x): check")
    assert "Collecting x" in Bootstrap(tmp_path).log.read_text()


def test_a_python_without_venv_is_one_sentence(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)

    with pytest.raises(BootstrapError, match=r"lacks the module ensurepip.*apt install python3"):
        recorded.run()


def test_pulumi_stands_beside_fleet(recorded: Recorded) -> None:
    recorded.run()

    launcher = recorded.venv / "bin" / "pulumi"
    assert os.access(launcher, os.X_OK)
    assert '/python" -P -m toolchain exec pulumi "$@"' in launcher.read_text()


def test_a_done_bootstrap_prints_nothing_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_arguments: object, **_options: object) -> NoReturn:
        raise AssertionError("a process was started")

    monkeypatch.setattr(bootstrap.Bootstrap, "is_done", lambda _self: True)
    monkeypatch.setattr(subprocess, "Popen", refuse)

    assert bootstrap.main() == 0
    assert capsys.readouterr() == ("", "")
