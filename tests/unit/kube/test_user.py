"""The access of the person who runs a command."""

from pathlib import Path

import pytest

from kube.client import KubeError
from kube.user import users_client
from tests.unit.kube.test_client import GOOD


def test_the_file_that_kubeconfig_names_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text(GOOD)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    assert users_client().config.cluster.server == "https://127.0.0.1:6443"


def test_without_the_variable_it_is_the_usual_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(GOOD)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert users_client().config.cluster.server == "https://127.0.0.1:6443"


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("gone", "gone is not there: set KUBECONFIG to the kubeconfig with which you may change"),
        ("one:two", "KUBECONFIG names several files"),
        ("wrong", "cannot be read"),
    ],
)
def test_what_is_no_kubeconfig_is_one_sentence(
    named: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong").write_text("clusters: 7")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / named))
    with pytest.raises(KubeError, match=says):
        users_client()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "cannot be read"),
        ("a: [", "cannot be read (line 1 is not YAML: expected the node content"),
        (GOOD.replace("6443", '6443", certificate-authority-data: "AAAA'), "cannot be read"),
        (GOOD.replace("token: abc", "client-certificate: /gone"), "cannot be read"),
    ],
    ids=["empty", "no YAML", "no certificate", "without its key"],
)
def test_a_file_with_a_mistake_is_one_sentence(
    content: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wrong").write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "wrong"))
    with pytest.raises(KubeError) as caught:
        users_client()
    assert f"{tmp_path}/wrong {says}" in str(caught.value)
    assert "\n" not in str(caught.value)
