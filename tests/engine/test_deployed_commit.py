"""What the real engine writes down of the commit that a stack was last updated from."""

import subprocess
from pathlib import Path

import pytest

from rehearsal.errors import RehearsalError
from rehearsal.moves.deployed import deployed_commit
from toolchain.build import ensure

STACK = ("--stack", "dev", "--non-interactive")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small program in a repository, and an empty stack of it."""
    folder = tmp_path / "checkout"
    (folder / "state").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
    (folder / "__main__.py").write_text("import pulumi\n\npulumi.export('one', 1)\n")
    (folder / ".gitignore").write_text("state\nPulumi.dev.yaml\n__pycache__\n")
    own = {
        "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "of a test",
        "PULUMI_HOME": str(tmp_path / "home"),
        **ensure(("pulumi",), console=None).environment(),
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    run(folder, "git", "init", "--quiet")
    commit(folder)
    pulumi(folder, "stack", "init", "dev", "--non-interactive")
    return folder


def run(root: Path, *words: str) -> str:
    return subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout


def pulumi(root: Path, *words: str) -> None:
    run(root, str(ensure(("pulumi",), console=None).path("pulumi")), *words)


def commit(root: Path) -> str:
    run(root, "git", "add", ".")
    who = ("-c", "user.name=test", "-c", "user.email=test@fleet.example")
    run(root, "git", *who, "commit", "--quiet", "--allow-empty", "--message", "A change")
    return run(root, "git", "rev-parse", "HEAD").strip()


def test_the_deployed_commit_is_the_one_of_the_last_update_unless_it_was_dirty(root: Path) -> None:
    with pytest.raises(RehearsalError, match="the stack dev has no update in its history"):
        deployed_commit(root, "dev")

    updated = run(root, "git", "rev-parse", "HEAD").strip()
    pulumi(root, "up", "--yes", "--skip-preview", *STACK)
    commit(root)
    pulumi(root, "refresh", "--yes", "--skip-preview", *STACK)
    assert deployed_commit(root, "dev") == updated

    (root / "__main__.py").write_text("import pulumi\n\npulumi.export('one', 2)\n")
    pulumi(root, "up", "--yes", "--skip-preview", *STACK)
    with pytest.raises(RehearsalError, match=r"had changes beside its commit"):
        deployed_commit(root, "dev")

    with pytest.raises(RehearsalError, match=r"prod cannot be read\. The backend has no st"):
        deployed_commit(root, "prod")
