"""`fleet reinstall` with a kubeconfig whose command that logs in does not."""

from pathlib import Path

import pytest

from fleet.cli.place import ROOT
from fleet.reinstall.command import Wanted, command

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: dev
clusters: [{name: dev, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: dev, context: {cluster: dev, user: me}}]
users: [{name: me, user: {exec: {apiVersion: client.authentication.k8s.io/%s, command: "%s"}}}]
"""


@pytest.mark.parametrize(
    ("login", "says"),
    [
        (("v1beta1", "no-such-login"), "no-such-login of the kubeconfig does not start"),
        (("v1beta1", "false"), "false of the kubeconfig ended with exit code 1: log in"),
        (("v1", "true"), "true of the kubeconfig gave no token"),
    ],
)
def test_a_login_that_fails_is_one_sentence(
    login: tuple[str, str],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "config").write_text(KUBECONFIG % login)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    wanted = Wanted(machines=(), yes=False, dry_run=True, again=False, as_json=False)
    assert command(ROOT, "dev", "dgx", wanted) == 2
    told = capsys.readouterr().err
    assert f"The login command {says}" in told
    assert told.count("\n") == 1
