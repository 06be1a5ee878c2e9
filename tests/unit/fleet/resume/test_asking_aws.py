"""What `aws` answers, and who can be asked where it does not."""

from pathlib import Path

import pytest

from fleet.resume.clouds import WHO, AskError, UnansweredError, aws_command


def aws(folder: Path, told: str, code: int) -> None:
    (folder / "aws").write_text(f"#!/bin/sh\necho '{told}' >&2\nexit {code}\n")
    (folder / "aws").chmod(0o755)


def test_without_a_login_it_is_to_be_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    aws(tmp_path, 'Unable to locate credentials. You can run "aws configure".', 253)
    with pytest.raises(UnansweredError) as caught:
        aws_command(WHO)
    assert str(caught.value) == (
        "`aws sts get-caller-identity --output json` failed: Unable to locate credentials. You can "
        'run "aws configure". Mend that, and run the same command again'
    )


def test_where_aws_refuses_somebody_else_may_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    aws(tmp_path, "AccessDenied", 254)
    with pytest.raises(AskError, match="Run it as somebody who may") as caught:
        aws_command(WHO)
    assert not isinstance(caught.value, UnansweredError)
    (tmp_path / "aws").unlink()
    with pytest.raises(AskError, match="install AWS's command") as caught:
        aws_command(WHO)
    assert not isinstance(caught.value, UnansweredError)
