"""Volcano's scheduler, controller manager and webhook manager, as its chart's Deployments run them.

Of their arguments these alone differ: addresses are ports of 127.0.0.1, no leader is elected, as
one replica of each runs, and the scheduler writes no dumps of its cache. The webhook manager itself
writes the authority of its certificate into its configurations (v1.14.1,
cmd/webhook-manager/app/util.go, addCaCertForWebhook).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.controllers.controller import AUTHORITY, Controller, Controllers
from rehearsal.controllers.pod import container, contents
from rehearsal.controllers.ports import chosen_ports

SYSTEM = "volcano"
ADMISSION, SCHEDULER, MANAGER = "admission", "scheduler", "controllers"
PROGRAMS = {
    ADMISSION: "vc-webhook-manager",
    SCHEDULER: "vc-scheduler",
    MANAGER: "vc-controller-manager",
}
"""What a Deployment runs, by the end of its name."""
SECRET = "volcano-admission-secret"  # noqa: S105  # its name; the chart's hook Job makes it
USES = ("webhook", *(f"{part} healthz" for part in PROGRAMS), SCHEDULER, MANAGER)
NO_ELECTION = "--leader-elect=false"


@dataclass(frozen=True, kw_only=True)
class Volcano:
    """The controllers of one Release, and the ports on which they serve."""

    release: str
    program: Path
    ports: Mapping[str, int]
    """By the use of each, as `webhook` and `scheduler healthz`."""

    @classmethod
    def place(cls, release: str, program: Path, record: Path) -> "Volcano":
        """Serve on the ports that `record` has, or on free ones that it gets."""
        return cls(release=release, program=program, ports=chosen_ports(record, USES))

    @staticmethod
    def names(release: str) -> list[str]:
        """The names of the controllers of a Release."""
        return [f"{release}-{part}" for part in PROGRAMS]

    @property
    def services(self) -> Mapping[str, int]:
        """Where its webhooks serve, by the name of their Service."""
        return {f"{self.release}-admission-service": self.ports["webhook"]}

    def controllers(
        self, objects: Sequence[Mapping[str, Any]], place: Controllers
    ) -> list[Controller]:
        """The controllers of the rendered objects; the webhook, which judges the others' first."""
        deployments = {each["metadata"]["name"]: each for each in _of(objects, "Deployment")}
        files = {each["metadata"]["name"]: contents(each) for each in _of(objects, "ConfigMap")}
        files[SECRET] = _certificate(place.directory)
        found = {part: deployments.get(f"{self.release}-{part}") for part in PROGRAMS}
        return [
            self._controller(part, deployment, files, place)
            for part, deployment in found.items()
            if deployment is not None
        ]

    def _controller(
        self,
        part: str,
        deployment: Mapping[str, Any],
        files: Mapping[str, Mapping[str, bytes]],
        place: Controllers,
    ) -> Controller:
        name, spec = deployment["metadata"]["name"], deployment["spec"]["template"]["spec"]
        started = container(spec, place.folder(name), files)
        health = f"--healthz-address=127.0.0.1:{self.ports[f'{part} healthz']}"
        own = (f"--kubeconfig={place.kubeconfig(name)}", health, *self._differences(part))
        listens = "webhook" if part == ADMISSION else f"{part} healthz"
        return Controller(
            name=name,
            system=SYSTEM,
            namespace=deployment["metadata"]["namespace"],
            service_account=spec["serviceAccount"],
            command=(str(self.program), PROGRAMS[part], *started.words, *own),
            variables=started.variables,
            port=self.ports[listens],
        )

    def _differences(self, part: str) -> tuple[str, ...]:
        if part == ADMISSION:
            return ("--listen-address=127.0.0.1", f"--port={self.ports['webhook']}")
        metrics = f"--listen-address=127.0.0.1:{self.ports[part]}"
        dumps = ("--cache-dumper=false",) if part == SCHEDULER else ()
        return (metrics, NO_ELECTION, *dumps)


def _of(objects: Sequence[Mapping[str, Any]], kind: str) -> list[Mapping[str, Any]]:
    return [each for each in objects if each["kind"] == kind]


def _certificate(directory: Path) -> dict[str, bytes]:
    folder = (directory / AUTHORITY).parent
    named = {"tls.crt": "webhook.crt", "tls.key": "webhook.key", "ca.crt": AUTHORITY.name}
    return {name: (folder / file).read_bytes() for name, file in named.items()}
