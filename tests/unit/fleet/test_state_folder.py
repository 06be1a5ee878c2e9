"""What a killed engine leaves beside a state in a folder is mended, and nothing else is touched."""

from pathlib import Path

import pytest

from fleet.state_folder import mend


@pytest.fixture
def stacks(tmp_path: Path) -> Path:
    """The folder of a project's states, with one of each kind of metadata."""
    stacks = tmp_path / "my states" / ".pulumi" / "stacks" / "gpu-fleet"
    stacks.mkdir(parents=True)
    for name, text in {"dev.json": "{}", "dev.json.attrs": "", "prod.json.attrs": "{}"}.items():
        (stacks / name).write_text(text)
    return stacks


def test_empty_metadata_are_deleted_and_all_else_stays(stacks: Path, tmp_path: Path) -> None:
    backend = f"file://{tmp_path}/my%20states?metadata=skip"
    assert mend(backend) == (stacks / "dev.json.attrs",)
    assert {path.name for path in stacks.iterdir()} == {"dev.json", "prod.json.attrs"}
    assert mend(backend) == ()


def test_the_users_home_is_found(
    stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "my states"))
    assert mend("file://~") == (stacks / "dev.json.attrs",)


def test_a_backend_that_is_no_folder_is_left_alone(stacks: Path) -> None:
    assert mend(f"s3://{stacks.parents[2]}") == ()
