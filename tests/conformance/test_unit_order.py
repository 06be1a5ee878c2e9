"""The order that systemd gives each type of unit by itself, before systemd's own verdict."""

import subprocess
from pathlib import Path

import pytest

from ignition.boot import unit_order
from ignition.boot.unit_syntax import parse
from tests.support.judges.debian import Debian, debian

INSTALL = "[Install]\nWantedBy=multi-user.target\n"
BODIES = {
    "a.service": "[Service]\nType=oneshot\nExecStart=/bin/true\n",
    "a.path": "[Path]\nPathChanged=/data/in\n",
    "a.timer": "[Timer]\nOnBootSec=5min\n",
    "a.socket": "[Socket]\nListenStream=/run/a\n",
    "data.mount": "[Mount]\nWhat=tmpfs\nWhere=/data\nType=tmpfs\n",
    "data.automount": "[Automount]\nWhere=/data\n",
    "a.target": "",
}
# a unit and what it is told to wait for: a circle, if systemd orders the two the other way round
TOLD = [
    ("a.path", "paths.target"),
    ("a.path", "basic.target"),
    ("a.path", "timers.target"),
    ("a.path", "sysinit.target"),
    ("a.path", "a.service"),
    ("a.timer", "timers.target"),
    ("a.timer", "basic.target"),
    ("a.timer", "multi-user.target"),
    ("a.timer", "a.service"),
    ("a.socket", "sockets.target"),
    ("a.socket", "basic.target"),
    ("a.socket", "timers.target"),
    ("a.socket", "a.service"),
    ("data.mount", "local-fs.target"),
    ("data.mount", "sysinit.target"),
    ("data.mount", "basic.target"),
    ("data.mount", "local-fs-pre.target"),
    ("data.mount", "a.path"),
    ("data.automount", "local-fs.target"),
    ("a.service", "multi-user.target"),
    ("a.service", "basic.target"),
    ("a.target", "basic.target"),
    ("local-fs.target", "a.service"),
    ("sysinit.target", "a.path"),
    ("basic.target", "a.timer"),
    ("basic.target", "a.service"),
]

# with the default order and without it, which a unit of the system keeps
CASES = [
    (name, other, plain)
    for name, other in TOLD
    for plain in ((True, False) if name in BODIES else (True,))
]


@pytest.fixture(scope="module")
def system() -> Debian:
    """Debian's systemd; the circles of a type are the same in systemd 252 to 257."""
    return debian()


def units(name: str, other: str, *, plain: bool) -> dict[str, str]:
    """The unit that is told to wait, with those that are started beside it."""
    written = {"a.service": BODIES["a.service"]}
    for each in (name, other):
        if each in BODIES:
            written[each] = BODIES[each]
    if "data.automount" in written:
        written["data.mount"] = BODIES["data.mount"]
    if "a.path" in written:
        written["data.mount"] = BODIES["data.mount"]
    told = f"After={other}\n" if plain else f"After={other}\nDefaultDependencies=no\n"
    return {
        each: f"[Unit]\n{told if each == name else ''}{body}{INSTALL}"
        for each, body in {**written, **({name: ""} if name not in written else {})}.items()
    }


def ours(written: dict[str, str], name: str) -> bool:
    """Whether the boot check finds a circle; a unit of the system is changed by a drop-in."""
    brought = frozenset({name} - BODIES.keys())
    lines = {each: parse(text) for each, text in written.items()}
    return bool(list(unit_order.circles(lines, brought)))


def theirs(system: Debian, folder: Path, written: dict[str, str], name: str) -> bool:
    """Whether systemd finds one, when it starts all of them."""
    wants = folder / "multi-user.target.wants"
    wants.mkdir(parents=True)
    for each, text in written.items():
        if each in BODIES:
            (wants / each).symlink_to(f"../{each}")
            (folder / each).write_text(text)
        else:
            dropins = folder / f"{each}.d"
            dropins.mkdir()
            (dropins / "10-told.conf").write_text(text.replace(INSTALL, ""))
    done = subprocess.run(
        [*system.program("systemd-analyze"), "verify", "--man=no", "multi-user.target"],
        capture_output=True,
        text=True,
        check=False,
        env={
            "SYSTEMD_UNIT_PATH": f"{folder}:{system.root}/usr/lib/systemd/system",
            "PATH": "/usr/bin:/bin",
        },
    )
    return "Found ordering cycle" in done.stderr


@pytest.mark.parametrize(("name", "other", "plain"), CASES)
def test_a_circle_is_found_where_systemd_finds_one(
    system: Debian, tmp_path: Path, name: str, other: str, plain: bool
) -> None:
    written = units(name, other, plain=plain)
    assert ours(written, name) == theirs(system, tmp_path, written, name)


def test_both_answers_are_there() -> None:
    answers = {ours(units(name, other, plain=True), name) for name, other in TOLD}
    assert answers == {True, False}
