"""Starts and ends controllers of the cluster beside the rehearsal, each as its own account.

A controller gets a token of its ServiceAccount, as a pod would, and nothing else: what it may do is
what RBAC gives that account. Its folder `controllers/<name>` holds the token, a kubeconfig with it
and the files of its volumes; only their owner can read them.
"""

import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import yaml
from pydantic import TypeAdapter

from rehearsal.api import Api
from rehearsal.certificates import LIFE, write_private
from rehearsal.errors import RefusedError
from rehearsal.log_reason import PORT_TAKEN
from rehearsal.processes import Processes

FOLDER = "controllers"
AUTHORITY = Path("certificates", "ca.crt")
RECORD = "controller.json"
READY_WITHIN_S = 60.0
PAUSE_S = 0.05


class PortTakenError(RefusedError):
    """Another program has taken a port between its choice and its use."""


@dataclass(frozen=True, kw_only=True)
class Controller:
    """One controller; `system` is the one whose version it has, empty for a program of ours."""

    name: str
    system: str
    namespace: str
    service_account: str
    command: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    """The port of 127.0.0.1 on which it listens once it works."""

    @property
    def user(self) -> str:
        """Whom the API server takes it for."""
        return f"system:serviceaccount:{self.namespace}:{self.service_account}"


@dataclass(frozen=True, kw_only=True)
class Controllers:
    """The controllers of the rehearsal in `directory`, for whoever starts some of them."""

    api: Api
    directory: Path
    processes: Processes
    environment: Mapping[str, str] = field(repr=False)
    root: Path
    """The checkout, in which programs of ours run."""

    def folder(self, name: str) -> Path:
        """The folder of one controller."""
        made = self.directory / FOLDER / name
        made.mkdir(parents=True, exist_ok=True, mode=0o700)
        return made

    def kubeconfig(self, name: str) -> Path:
        """The kubeconfig of one controller."""
        return self.folder(name) / "kubeconfig"

    def start(self, wanted: Sequence[Controller]) -> None:
        """Starts controllers and waits until they work; one that runs as it should goes on.

        Raises RefusedError where one ends, with the reason in its log, or is late.
        """
        for each in wanted:
            if not self._runs_as(each):
                self.end([each.name])
                self._log_in(each)
                record = json.dumps(asdict(each))
                write_private(self.folder(each.name) / RECORD, record.encode())
                environment = {**self.environment, **each.variables}
                self.processes.start(each.name, each.command, env=environment, cwd=self.root)
        for each in wanted:
            self._await(each)

    def end(self, names: Sequence[str]) -> None:
        """Ends controllers, if they run."""
        self.processes.end(names)
        for name in names:
            (self.folder(name) / RECORD).unlink(missing_ok=True)

    def _runs_as(self, wanted: Controller) -> bool:
        known = {each.name: each for each in started(self.directory)}
        return known.get(wanted.name) == wanted and wanted.name in self.processes.running()

    def _log_in(self, controller: Controller) -> None:
        account = f"/api/v1/namespaces/{controller.namespace}/serviceaccounts"
        made = self.api.request(
            "POST",
            f"{account}/{controller.service_account}/token",
            {"spec": {"expirationSeconds": int(LIFE.total_seconds())}},
        )
        token, folder = str(made["status"]["token"]), self.folder(controller.name)
        write_private(folder / "token", token.encode())
        write_private(folder / "ca.crt", (self.directory / AUTHORITY).read_bytes())
        text = yaml.safe_dump(_kubeconfig(self.api.server, folder / "ca.crt", token))
        write_private(self.kubeconfig(controller.name), text.encode())

    def _await(self, controller: Controller) -> None:
        name, deadline = controller.name, time.monotonic() + READY_WITHIN_S
        while not _listens(controller.port):
            if name not in self.processes.running():
                told = self.processes.how_it_ended(name)
                kind = PortTakenError if PORT_TAKEN in told else RefusedError
                raise kind(told, summary="ended")
            if time.monotonic() > deadline:
                raise RefusedError(
                    f"{name} does not work after {READY_WITHIN_S:.0f} s (log: "
                    f"{self.processes.log(name)}).",
                    summary="late",
                )
            self.api.pause(PAUSE_S)


def started(directory: Path) -> tuple[Controller, ...]:
    """Return the controllers that were started in a rehearsal's directory, by name."""
    found = (directory / FOLDER).glob(f"*/{RECORD}")
    return tuple(TypeAdapter(Controller).validate_json(path.read_bytes()) for path in sorted(found))


def _listens(port: int | None) -> bool:
    if port is None:
        return True
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _kubeconfig(server: str, authority: Path, token: str) -> Mapping[str, object]:
    cluster = {"server": server, "certificate-authority": str(authority)}
    context = {"cluster": "rehearsal", "user": "controller"}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "rehearsal", "cluster": cluster}],
        "users": [{"name": "controller", "user": {"token": token}}],
        "contexts": [{"name": "rehearsal", "context": context}],
        "current-context": "rehearsal",
    }
