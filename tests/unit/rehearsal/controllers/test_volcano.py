"""Volcano's programs, as the Deployments of its chart run them."""

from pathlib import Path
from typing import Any, cast

import pytest

from rehearsal.api import Api
from rehearsal.controllers.controller import AUTHORITY, Controller, Controllers
from rehearsal.controllers.volcano import Volcano
from rehearsal.processes import Processes


def deployment(name: str, args: list[str]) -> dict[str, Any]:
    pod = {"serviceAccount": name, "containers": [{"args": args}]}
    metadata = {"name": name, "namespace": "volcano-system"}
    return {"kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": pod}}}


@pytest.fixture
def place(tmp_path: Path) -> Controllers:
    certificates = tmp_path / AUTHORITY.parent
    certificates.mkdir()
    for name in ("ca.crt", "webhook.crt", "webhook.key"):
        (certificates / name).write_text(name)
    return Controllers(
        api=cast("Api", None),
        directory=tmp_path,
        processes=Processes(tmp_path),
        environment={},
        root=tmp_path,
    )


def volcano(directory: Path) -> Volcano:
    return Volcano.place("volcano", Path("/bin/volcano"), directory / "ports.json")


def found(place: Controllers) -> dict[str, Controller]:
    objects = [
        deployment("volcano-scheduler", ["--leader-elect=true", "--schedule-period=1s", "2>&1"]),
        deployment("volcano-admission", ["--enabled-admission=/jobs/mutate", "--port=8443"]),
        deployment("volcano-agent", []),
    ]
    controllers = volcano(place.directory).controllers(objects, place)
    return {each.name: each for each in controllers}


def test_each_runs_as_its_account_with_the_charts_arguments(place: Controllers) -> None:
    scheduler = found(place)["volcano-scheduler"]
    assert scheduler.user == "system:serviceaccount:volcano-system:volcano-scheduler"
    assert scheduler.command[1:4] == ("vc-scheduler", "--leader-elect=true", "--schedule-period=1s")
    assert f"--kubeconfig={place.kubeconfig('volcano-scheduler')}" in scheduler.command


def test_what_the_twin_changes_stands_last_where_it_counts(place: Controllers) -> None:
    webhook, command = found(place)["volcano-admission"], found(place)["volcano-scheduler"].command
    assert command.index("--leader-elect=false") > command.index("--leader-elect=true")
    assert webhook.command[-1] == f"--port={webhook.port}"
    assert "--listen-address=127.0.0.1" in webhook.command
    assert not any(":8080" in word or "=:" in word for word in command)


def test_the_webhook_is_first_and_other_deployments_do_not_run(place: Controllers) -> None:
    assert list(found(place)) == ["volcano-admission", "volcano-scheduler"]


def test_ports_stay_for_the_life_of_a_release(tmp_path: Path) -> None:
    first = volcano(tmp_path)
    assert volcano(tmp_path).ports == first.ports
    assert len(set(first.ports.values())) == len(first.ports)
    assert first.services == {"volcano-admission-service": first.ports["webhook"]}
