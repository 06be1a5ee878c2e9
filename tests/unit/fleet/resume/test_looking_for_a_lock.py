"""How the engine is asked who has a stack; what it answers is as pinned (see the method)."""

import os
from pathlib import Path

import pytest

from fleet.deployed_stack import DeployedStack, StackError

FOLDER = '{"url": "file:///state"}'
CLOUD = '{"url": "https://app.pulumi.com/ada"}'
FREE = "error: no resource named 'urn:pulumi:dev::gpu-fleet::fleet:index:Nothing::nothing' found"
TAKEN = """error: the stack is currently locked by 1 lock(s). Either wait for the other process(es)
  a.json: created by ada@runner-7 (pid 77) at 2026-11-24T00:41:00Z"""
IDLE = "Current stack is dev:\n    Owner: ada\n    Last updated: 3 days ago\n"
BUSY = """Current stack is dev:
    Owner: ada
    Update in progress:
\tStarted: 3 minutes ago
\tRequested By: grace
    Current stack resources (3):
"""


def stack(folder: Path, backend: str, out: str = "", error: str = "") -> DeployedStack:
    """A stack whose engine says this, of whatever it is asked, and writes down what it was."""
    program = folder / "pulumi"
    told = {"backend": backend, "out": out, "error": error}
    for name, text in told.items():
        (folder / name).write_text(text)
    program.write_text(
        f"#!/bin/sh\ncd {folder}\necho $* >> asked\n"
        "if [ $1 = whoami ]; then cat backend; exit; fi\ncat out; cat error >&2; test ! -s error\n"
    )
    program.chmod(0o755)
    return DeployedStack(
        root=folder,
        environment="dev",
        pulumi=program,
        variables=dict(os.environ),
        arguments=("--stack=dev",),
    )


def test_a_stack_is_free_where_a_preview_gets_its_lock(tmp_path: Path) -> None:
    """A preview of what no stack has, without --yes: it cannot change a state, whatever happens."""
    assert stack(tmp_path, FOLDER, error=FREE).lock() is None
    assert stack(tmp_path, FOLDER).lock() is None
    asked = (tmp_path / "asked").read_text().splitlines()
    for words in (line.split() for line in asked if "whoami" not in line):
        assert words[:2] == ["refresh", "--preview-only"]
        assert "--yes" not in words
        assert "--target=urn:pulumi:dev::gpu-fleet::fleet:index:Nothing::nothing" in words


def test_a_lock_is_what_the_engine_says_of_it(tmp_path: Path) -> None:
    assert "created by ada@runner-7" in (stack(tmp_path, FOLDER, error=TAKEN).lock() or "")


def test_pulumi_cloud_is_never_asked_for_another_name(tmp_path: Path) -> None:
    assert stack(tmp_path, CLOUD, out=IDLE).lock() is None
    words = stack(tmp_path, CLOUD, out=BUSY).lock() or ""
    assert [*map(str.strip, words.splitlines())] == [
        "Update in progress:",
        "Started: 3 minutes ago",
        "Requested By: grace",
    ]
    assert "refresh" not in (tmp_path / "asked").read_text()


def test_a_backend_that_does_not_answer_is_no_open_stack(tmp_path: Path) -> None:
    with pytest.raises(
        StackError, match=r"`pulumi refresh --preview-only` failed: .*unable to reach"
    ):
        stack(tmp_path, FOLDER, error="error: unable to reach the backend").lock()
