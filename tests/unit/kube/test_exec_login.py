"""A kubeconfig that logs in by a command, as those of clouds and of OpenID Connect do."""

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kube import nodes
from kube.client import KubeError, client
from kube.user import users_client
from tests.support.kube_server import KubeServer

SECRET = "s3cret-of-the-login"
PLUGIN = f"""#!{sys.executable}
import json, os, pathlib, sys

here = pathlib.Path(__file__).parent
with (here / "runs").open("a") as runs:
    told = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    runs.write(json.dumps([sys.argv[1:], os.environ.get("REALM"), told]) + "\\n")
print((here / "answer").read_text())
sys.exit(int((here / "code").read_text()))
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A login command; beside it what it answers, its exit code, and how it was run."""
    program = tmp_path / "login"
    program.write_text(PLUGIN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    answer(tmp_path, SECRET)
    return program


def answer(folder: Path, token: str, code: int = 0) -> None:
    credential = {"kind": "ExecCredential", "status": {"token": token}}
    (folder / "answer").write_text(json.dumps(credential))
    (folder / "code").write_text(str(code))


def runs(plugin: Path) -> list[list[Any]]:
    return [json.loads(line) for line in (plugin.parent / "runs").read_text().splitlines()]


def logging_in(cluster: KubeServer, command: str, version: str = "v1", **more: object) -> str:
    """The cluster's kubeconfig with a login command in place of a token."""
    found = yaml.safe_load(cluster.kubeconfig)
    api = f"client.authentication.k8s.io/{version}"
    found["users"][0]["user"] = {"exec": {"apiVersion": api, "command": command, **more}}
    return json.dumps(found)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_command_gives_the_token(version: str, cluster: KubeServer, plugin: Path) -> None:
    cluster.token = SECRET
    cluster.node("gpu-1")
    given = {"args": ["get-token"], "env": [{"name": "REALM", "value": "desk"}]}
    asked = client(logging_in(cluster, str(plugin), version, interactiveMode="Never", **given))

    assert nodes.find(asked, "gpu-1")
    assert nodes.find(asked, "gpu-2") is None

    told = {
        "apiVersion": f"client.authentication.k8s.io/{version}",
        "kind": "ExecCredential",
        "spec": {"interactive": False},
    }
    assert runs(plugin) == [[["get-token"], "desk", told]], "one run serves many requests"


def test_a_token_that_has_ended_is_fetched_anew(cluster: KubeServer, plugin: Path) -> None:
    cluster.node("gpu-1")
    cluster.token = SECRET
    asked = client(logging_in(cluster, str(plugin)))
    nodes.find(asked, "gpu-1")

    cluster.token = "next"
    answer(plugin.parent, "next")

    assert nodes.find(asked, "gpu-1")
    assert len(runs(plugin)) == 2


def test_a_path_is_relative_to_the_users_file(
    cluster: KubeServer, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.token = SECRET
    cluster.node("gpu-1")
    (plugin.parent / "config").write_text(logging_in(cluster, "./login"))
    monkeypatch.setenv("KUBECONFIG", str(plugin.parent / "config"))

    assert nodes.find(users_client(), "gpu-1")


def test_a_command_that_is_not_installed_is_one_sentence_with_its_hint(cluster: KubeServer) -> None:
    asked = client(logging_in(cluster, "no-such-login", installHint="\nInstall it from desk.\n"))
    with pytest.raises(KubeError) as caught:
        nodes.find(asked, "gpu-1")
    assert str(caught.value) == (
        "The login command no-such-login of the kubeconfig does not start: No such file or "
        "directory. Install it from desk."
    )


@pytest.mark.parametrize(
    ("credential", "code", "says"),
    [
        (json.dumps({"status": {"token": SECRET}}), 3, "ended with exit code 3: log in so that"),
        (json.dumps({"status": {"clientKeyData": SECRET}}), 0, "gave no token; allowed: an Exec"),
        (json.dumps({"status": {"token": None}}), 0, "gave no token; allowed: an ExecCredential"),
        (f"token: {SECRET}", 0, "gave no token; allowed: an ExecCredential with status.token."),
    ],
    ids=["fails", "a certificate", "null", "no JSON"],
)
def test_what_a_command_answers_is_never_shown(
    credential: str, code: int, says: str, cluster: KubeServer, plugin: Path
) -> None:
    (plugin.parent / "answer").write_text(credential)
    (plugin.parent / "code").write_text(str(code))
    with pytest.raises(KubeError) as caught:
        nodes.find(client(logging_in(cluster, str(plugin))), "gpu-1")
    assert says in str(caught.value)
    assert SECRET not in f"{caught.value!r} {caught.value.__context__!r}"


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ({"exec": {"apiVersion": "x/v9", "command": "login"}}, 'login is "x/v9"; allowed: client'),
        (None, "its current context has no user"),
    ],
    ids=["unknown version", "no user"],
)
def test_a_login_that_is_not_known_is_refused(user: object, says: str, cluster: KubeServer) -> None:
    found = yaml.safe_load(cluster.kubeconfig)
    found["users"][0]["user"] = user or {}
    if user is None:
        del found["contexts"][0]["context"]["user"]
    with pytest.raises(KubeError, match="set the content of a kubeconfig file") as caught:
        client(json.dumps(found))
    assert says in str(caught.value)
