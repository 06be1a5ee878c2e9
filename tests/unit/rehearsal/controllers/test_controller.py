"""Starting, watching and ending controllers beside a rehearsal."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from rehearsal.api import Api
from rehearsal.control_plane import free_port
from rehearsal.controllers.controller import (
    AUTHORITY,
    Controller,
    Controllers,
    PortTakenError,
    started,
)
from rehearsal.controllers.releases import ReleaseControllers
from rehearsal.errors import RefusedError
from rehearsal.processes import Processes
from rehearsal.providers.kubernetes.readiness import Discovery

LISTENS = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1])))"
WAITS = f"{LISTENS}; time.sleep(600)"


class FakeApi(SimpleNamespace):
    """Gives tokens, each another."""

    asked: list[str]
    server = "https://127.0.0.1:6443"

    def request(self, _method: str, path: str, _body: object) -> dict[str, Any]:
        self.asked.append(path)
        return {"status": {"token": f"token-{len(self.asked)}"}}

    def pause(self, _seconds: float) -> None:
        """The test does not wait."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Controllers]:
    (tmp_path / AUTHORITY).parent.mkdir()
    (tmp_path / AUTHORITY).write_text("PEM")
    found = Controllers(
        api=cast("Api", FakeApi(asked=[])),
        directory=tmp_path,
        processes=Processes(tmp_path),
        environment=dict(os.environ),
        root=tmp_path,
    )
    yield found
    found.processes.stop()


def controller(program: str = WAITS) -> Controller:
    port = free_port()
    return Controller(
        name="volcano-scheduler",
        system="volcano",
        namespace="volcano-system",
        service_account="scheduler",
        command=(sys.executable, "-c", program, str(port)),
        port=port,
    )


def pids(place: Controllers) -> list[int]:
    return [record.pid for record in place.processes.records()]


def test_a_controller_has_the_token_of_its_account_and_nothing_else(place: Controllers) -> None:
    place.start([controller()])
    (asked,) = cast("FakeApi", place.api).asked
    assert asked == "/api/v1/namespaces/volcano-system/serviceaccounts/scheduler/token"
    path = place.kubeconfig("volcano-scheduler")
    (user,) = yaml.safe_load(path.read_text())["users"]
    assert user["user"] == {"token": "token-1"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_one_that_runs_as_it_should_goes_on_and_another_command_starts_it_again(
    place: Controllers,
) -> None:
    first = controller()
    place.start([first])
    before = pids(place)
    place.start([first])
    assert pids(place) == before
    other = controller()
    place.start([other])
    (now,) = pids(place)
    assert now not in before
    assert started(place.directory) == (other,)


def test_what_ends_at_its_start_is_said_with_the_reason_in_its_log(place: Controllers) -> None:
    ends = controller("raise OSError('no such cluster')")
    with pytest.raises(RefusedError, match=r"volcano-scheduler .*OSError: no such cluster"):
        place.start([ends])


def test_a_port_that_another_program_has_taken_is_an_error_of_its_own(place: Controllers) -> None:
    told = "listen tcp 127.0.0.1:8443: bind: address already in use"
    taken = controller(f"import sys; sys.exit({told!r})")
    with pytest.raises(PortTakenError):
        place.start([taken])


def test_one_that_was_ended_on_purpose_is_none_of_the_rehearsals(place: Controllers) -> None:
    place.start([controller()])
    place.end(["volcano-scheduler"])
    assert (started(place.directory), place.processes.ended()) == ((), None)


def test_the_releases_of_other_charts_start_nothing(place: Controllers) -> None:
    releases = ReleaseControllers(place=place, kinds=cast("Discovery", None), programs={})
    given = {"chart": "oci://quay.io/cilium/charts/cilium", "name": "cilium"}
    releases.start(given)
    releases.end(given)
    assert place.processes.records() == ()


def test_a_chart_that_the_toolchain_has_under_no_version_is_named(place: Controllers) -> None:
    programs = {"charts": place.directory, "volcano": Path("volcano"), "helm": Path("helm")}
    releases = ReleaseControllers(place=place, kinds=cast("Discovery", None), programs=programs)
    mirror = {"repo": "https://mirror.fleet.example"}
    given = {
        "chart": "volcano",
        "name": "volcano",
        "namespace": "volcano-system",
        "version": "1.14.1",
        "repositoryOpts": mirror,
    }
    with pytest.raises(RefusedError, match=r"volcano of https://mirror\.fleet\.example is not in"):
        releases.start(given)
