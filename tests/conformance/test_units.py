"""systemd-analyze reads all units of each role, with those of the image that they meet.

systemd keeps jobs in hash tables with a new seed in each process, so the unit that it drops from a
circle differs from run to run, and may be one that nobody misses. Hence many runs of each role.
"""

import json
import subprocess
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ignition.write.control_plane import control_plane_ignition
from ignition.write.gateway import gateway_ignition
from ignition.write.render import NodeBoot, join_ignition, tuning_ignition
from tests.support.ignition.faults import Change, changed, find
from tests.support.ignition.nodes import TUNING_OF, beside_the_plan, join, node
from tests.support.ignition.roles import gateway, server
from tests.support.judges.debian import Debian, debian
from tests.support.judges.installed import install
from tests.support.judges.shell_scripts import commands, configs

RUNS = 25


def nodes_ignition(of: NodeBoot) -> tuple[str, ...]:
    return tuning_ignition(of), join_ignition(join())


def background_io() -> NodeBoot:
    """A DGX that limits it, which orders containerd after the scratch drives."""
    return node("dgx-h200", tuning=replace(TUNING_OF["dgx-h200"], background_io_mib_per_s=200))


# the boot data of each role, and whether the machine has GPUs
ROLES: dict[str, tuple[Callable[[], tuple[str, ...]], bool]] = {
    "DGX with limits of background I/O": (lambda: nodes_ignition(background_io()), True),
    **{name: (partial(nodes_ignition, of), True) for name, of in beside_the_plan()},
    "CPU node at Hetzner": (lambda: nodes_ignition(node("ccx33")), False),
    "gateway": (lambda: (gateway_ignition(gateway()),), False),
    "first of the control plane": (lambda: (control_plane_ignition(server()),), False),
    "second of the control plane": (lambda: (control_plane_ignition(server(first=False)),), False),
}


@pytest.fixture(scope="module")
def system() -> Debian:
    """Debian's systemd."""
    return debian()


def verify(system: Debian, root: Path, *configs: str, gpu: bool, runs: int = RUNS) -> set[str]:
    """The lines that systemd-analyze prints about the units of a system, in all runs together."""
    install(system, root, *configs, gpu=gpu)
    written = [
        unit["name"]
        for config in map(json.loads, configs)
        for unit in config.get("systemd", {}).get("units", ())
        if not unit.get("mask")
    ]
    command = [*system.program("systemd-analyze"), "verify", f"--root={root}", "--man=no"]

    def run(_: int) -> str:
        done = subprocess.run(
            [*command, "multi-user.target", *written], capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr + ("" if done.returncode == 0 else "it failed\n")

    with ThreadPoolExecutor(2) as pool:
        return {line for output in pool.map(run, range(runs)) for line in output.splitlines()}


@pytest.mark.parametrize("role", ROLES)
def test_systemd_finds_no_circle_and_nothing_to_warn_of(
    system: Debian, role: str, tmp_path: Path
) -> None:
    make, gpu = ROLES[role]
    assert verify(system, tmp_path / "root", *make(), gpu=gpu) == set()


def unit_lines(found: Iterable[dict[str, Any]]) -> set[tuple[str, str]]:
    """Each line of the units of configurations, with its unit, but what they are called."""
    return {
        (name, line)
        for config in found
        for name, text in commands(config)
        for line in text.splitlines()
        if not line.startswith("Description=")
    }


def test_systemd_reads_every_line_that_a_unit_can_have() -> None:
    judged = [json.loads(config) for make, _ in ROLES.values() for config in make()]
    plain = [config for config in judged if "systemd" in config]
    assert unit_lines(configs()) - unit_lines(plain) == set()


def unit(name: str, edit: Callable[[str], str]) -> Change:
    """A unit of the boot data with another text."""

    def change(config: dict[str, Any]) -> None:
        entry = find(config, "units", name)
        before = entry["contents"]
        entry["contents"] = edit(before)
        assert entry["contents"] != before

    return change


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (
            # as it was: ordered before basic.target, and after a service that follows it
            unit("scratch-quota.path", lambda text: text.replace("DefaultDependencies=no\n", "")),
            "ordering cycle",
        ),
        (
            unit("fleet-irq.service", lambda text: text.replace("Type=oneshot", "Typ=oneshot")),
            "Unknown key",
        ),
        (
            unit("fleet-irq.service", lambda text: text.replace("/opt/bin/fleet-irq", "/opt/no")),
            "/opt/no",
        ),
        (
            unit("fleet-irq.timer", lambda text: text.replace("5min", "5 parsecs")),
            "5 parsecs",
        ),
    ],
    ids=["circle", "misspelt", "no program", "no time"],
)
def test_systemd_finds_the_fault(
    system: Debian, change: Change, finding: str, tmp_path: Path
) -> None:
    config = changed(tuning_ignition(node("dgx-h200")), change)
    said = verify(system, tmp_path / "root", config, gpu=True, runs=3)
    assert any(finding in line for line in said), said
