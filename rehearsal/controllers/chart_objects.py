"""Applies what controllers need of their rendered chart: accounts, rights, settings, webhooks.

A webhook configuration names a Service of pods that the twin does not run, so it gets the address
at which the webhook serves beside the rehearsal.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.charts.ownership import Owner
from rehearsal.errors import RefusedError
from rehearsal.providers.kubernetes.readiness import Discovery

MANAGER = "helm"
HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
APPLIED = (
    *("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ConfigMap"),
    *HOOKS,
)
"""The kinds that are applied, in their order: a webhook comes when its program can start."""

Object = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ChartObjects:
    """The objects of one Release in the twin; `record` is the file with their paths."""

    api: Api
    kinds: Discovery
    owner: Owner
    record: Path

    def apply(self, objects: Iterable[Object], ports: Mapping[str, int]) -> None:
        """Applies the objects, and deletes those that an earlier revision had.

        `ports` are where webhooks serve on 127.0.0.1, by the name of their Service. A configuration
        of a webhook that does not run would keep what it judges out of the cluster: it is left out.
        """
        wanted: dict[str, Object] = {}
        for each in sorted(objects, key=_position):
            if each["kind"] not in APPLIED:
                continue
            if each["kind"] in HOOKS and not set(_services(each)) <= set(ports):
                continue
            wanted[self._path(each)] = _served_here(each, ports)
        before = self._recorded()
        self.record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.record.write_text(json.dumps([*wanted]))
        for path, body in wanted.items():
            self.api.apply(path, self.owner.marked(body), manager=MANAGER, force=True)
        self._delete(path for path in before if path not in wanted)

    def delete(self) -> None:
        """Deletes the objects, the webhooks first: nobody answers for them any more."""
        self._delete(reversed(self._recorded()))
        self.record.unlink(missing_ok=True)

    def _delete(self, paths: Iterable[str]) -> None:
        for path in paths:
            self.api.delete(path, dependents="Background")

    def _recorded(self) -> list[str]:
        if not self.record.exists():
            return []
        return [str(path) for path in json.loads(self.record.read_text(encoding="utf-8"))]

    def _path(self, thing: Object) -> str:
        served = self.kinds.find(thing["apiVersion"], thing["kind"])
        if served is None:
            raise RefusedError(
                f"The chart has a {thing['kind']} of {thing['apiVersion']}, which the API server "
                "does not serve.",
                summary="unknown kind",
            )
        metadata = thing["metadata"]
        return served.path(metadata.get("namespace", self.owner.namespace), metadata["name"])


def _position(thing: Object) -> int:
    return APPLIED.index(thing["kind"]) if thing["kind"] in APPLIED else len(APPLIED)


def _services(configuration: Object) -> list[str]:
    clients = [each["clientConfig"] for each in configuration.get("webhooks") or ()]
    return [each["service"]["name"] for each in clients if "service" in each]


def _served_here(thing: Object, ports: Mapping[str, int]) -> Object:
    """Return a webhook configuration with addresses in the place of Services."""
    if thing["kind"] not in HOOKS:
        return thing
    return {**thing, "webhooks": [_moved(each, ports) for each in thing["webhooks"]]}


def _moved(webhook: Object, ports: Mapping[str, int]) -> Object:
    service = webhook["clientConfig"].get("service")
    if service is None:
        return webhook
    rest = {key: value for key, value in webhook["clientConfig"].items() if key != "service"}
    url = f"https://127.0.0.1:{ports[service['name']]}{service.get('path', '')}"
    return {**webhook, "clientConfig": {**rest, "url": url}}
