"""The commands in the README of an export do what they are there for, with kubectl."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.cli.main import app
from policies.gates.pack_config import POLICY
from policies.rules import ALL
from rehearsal.control_plane import ControlPlane
from tests.support.admission.objects import container, pod
from tests.support.admission.server import Server
from toolchain.build import ensure

HOST = "isolation/host-access"
BAD = pod(container(), hostNetwork=True)


@pytest.fixture
def kubectl(control_plane: ControlPlane, tmp_path: Path) -> dict[str, str]:
    """The variables with which a shell finds kubectl and the cluster."""
    program = ensure(("kubectl",), console=None).path("kubectl")
    (tmp_path / "kubectl").symlink_to(program)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(tmp_path), "KUBECONFIG": str(control_plane.kubeconfig)}


def follow(folder: Path, environment: dict[str, str], *words: str) -> list[str]:
    """Exports, does what the README says first, and returns its last command."""
    done = CliRunner().invoke(app, ["rules", "export", str(folder), *words])
    assert done.exit_code == 0, done.output
    lines = (folder / "README.md").read_text().splitlines()
    *first, last = [shlex.split(each) for each in lines if each.startswith("    kubectl")]
    for command in first:
        subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return last


def test_an_export_in_audit_lifts_the_refusals_of_one_that_denied(
    server: Server, kubectl: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "gate"
    follow(folder, kubectl, "--deny")
    server.wait_for("the denial", lambda: server.try_out(BAD).by_policy)

    follow(folder, kubectl, "--audit")

    server.wait_for("the end of the denial", lambda: server.try_out(BAD).taken)
    server.wait_for("the warning", lambda: HOST in server.try_out(BAD).rules())


def test_what_an_export_no_longer_has_is_deleted_and_all_goes_with_the_last_command(
    server: Server, kubectl: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "gate"
    follow(folder, kubectl, "--deny")
    server.wait_for("the denial", lambda: server.try_out(BAD).by_policy)
    disabled = {each.id: {"level": "disabled"} for each in ALL if each.id.startswith("isolation/")}
    config = tmp_path / "rules.json"
    config.write_text(json.dumps({POLICY: disabled}))

    last = follow(folder, kubectl, "--deny", "--config", str(config))

    assert "fleet-isolation" not in names(server)
    assert "fleet-idle" in names(server)
    subprocess.run(last, env=kubectl, check=True, capture_output=True)
    assert names(server) == set()


def names(server: Server) -> set[str]:
    """The policies and bindings that the server has."""
    kinds = ("validatingadmissionpolicies", "validatingadmissionpolicybindings")
    lists = [server.api.get(f"/apis/admissionregistration.k8s.io/v1/{kind}") for kind in kinds]
    return {each["metadata"]["name"] for found in lists if found for each in found["items"]}
