"""bash and shellcheck read every script that boot data and this repository ship."""

import json
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from ignition.write.render import NodeBoot, tuning_ignition
from tests.support.ignition.nodes import every_choice, node
from tests.support.judges.shell_scripts import ANY_INLINE, INLINE, commands, scripts, shellcheck

FAULT = '#!/usr/bin/bash\nfor file in $(ls *.raw); do rm "$fil"; done\n'


def said_of(script: Path) -> str:
    """What shellcheck says of a script."""
    done = subprocess.run(
        [shellcheck(), "--norc", "--severity=style", "--format=gcc", script],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def syntax(script: Path) -> str:
    """What bash says of a script that it only reads."""
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run([bash, "-n", script], capture_output=True, text=True, check=False)
    return done.stderr


@pytest.fixture(params=sorted(scripts()))
def script(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One script as a file."""
    path = tmp_path / "script"
    path.write_text(scripts()[request.param])
    return path


def test_bash_reads_the_script(script: Path) -> None:
    assert syntax(script) == ""


def test_shellcheck_finds_nothing_in_the_script(script: Path) -> None:
    assert said_of(script) == ""


def test_shellcheck_is_asked_about_everything_that_it_knows(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(FAULT)
    found = said_of(tmp_path / "script")
    assert "[SC2045]" in found, "an error"
    assert "[SC2154]" in found, "a warning"
    assert "[SC2035]" in found, "an information"


def test_bash_refuses_a_script_that_ends_too_early(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/usr/bin/bash\nif true; then\n")
    assert "syntax error" in syntax(tmp_path / "script")


def test_the_scripts_of_each_kind_are_found() -> None:
    named = {name.partition(" ")[0] for name in scripts()}
    assert named >= {
        "/opt/bin/control-plane",
        "/opt/bin/fabric-ready",
        "/opt/bin/fleet-acs",
        "/opt/bin/fleet-irq",
        "/opt/bin/fleet-rails",
        "/opt/bin/kubelet-state",
        "/opt/bin/scratch-array",
        "/opt/bin/scratch-quota",
        ".ci/run",
    }


def test_whatever_a_pool_can_choose_some_machine_has_chosen() -> None:
    made = [boot for _, boot in every_choice()]
    # WireGuard has neither a script nor a unit; the sweep of the roles has it
    choices = {each.name for each in fields(NodeBoot) if each.default is None} - {"wireguard"}
    assert {name for name in choices if any(getattr(boot, name) for boot in made)} == choices
    assert {boot.fabric for boot in made} == {None, "infiniband", "roce"}


def test_no_shell_within_a_unit_is_overlooked() -> None:
    for name, text in commands(json.loads(tuning_ignition(node("dgx-h200")))):
        assert len(ANY_INLINE.findall(text)) == len(INLINE.findall(text)), name
