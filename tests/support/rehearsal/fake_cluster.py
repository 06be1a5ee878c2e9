"""A few kinds of an API server in memory: enough for the unit tests of the provider."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from rehearsal.api import Api
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.contract import Failure, PropertyDifference, Session
from rehearsal.providers.kubernetes.apply import Objects
from rehearsal.providers.kubernetes.provider import KubernetesInstance
from rehearsal.providers.kubernetes.readiness import Discovery
from rehearsal.providers.kubernetes.release import Releases
from rehearsal.providers.values import Properties

KINDS = {
    "/api/v1": [
        ("namespaces", "Namespace", False),
        ("secrets", "Secret", True),
        ("configmaps", "ConfigMap", True),
        ("pods/status", "Pod", True),
    ],
    "/apis/batch/v1": [("jobs", "Job", True)],
}


@dataclass
class FakeCluster:
    """Objects by path, and the requests that changed or would have changed them."""

    objects: dict[str, Properties] = field(default_factory=dict)
    applied: list[httpx.Request] = field(default_factory=list)
    refuses: tuple[int, str] | None = None
    """Status and message with which it answers every create and apply."""

    def answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path in KINDS:
            resources = [
                {"name": name, "kind": kind, "namespaced": namespaced}
                for name, kind, namespaced in KINDS[path]
            ]
            return httpx.Response(200, json={"resources": resources})
        if request.method == "PATCH":
            return self._write(request, path)
        if request.method == "POST":
            return self._create(request)
        if request.method == "DELETE":
            self.objects.pop(path, None)
            return httpx.Response(200, json={})
        if path in self.objects:
            return httpx.Response(200, json=self.objects[path])
        return httpx.Response(404, json={"reason": "NotFound", "message": f"{path} not found"})

    def _create(self, request: httpx.Request) -> httpx.Response:
        path = f"{request.url.path}/{json.loads(request.content)['metadata']['name']}"
        if path in self.objects:
            why = {"reason": "AlreadyExists", "message": f"{path} already exists"}
            return httpx.Response(409, json=why)
        return self._write(request, path)

    def _write(self, request: httpx.Request, path: str) -> httpx.Response:
        self.applied.append(request)
        if self.refuses:
            status, message = self.refuses
            return httpx.Response(status, json={"reason": "Refused", "message": message})
        live = json.loads(request.content)
        live["metadata"] |= {"uid": "1", "managedFields": [{"manager": "pulumi"}]}
        live["status"] = {"phase": "Active"}
        if "dryRun" not in request.url.params:
            self.objects[path] = live
        return httpx.Response(200, json=live)


@dataclass(frozen=True, kw_only=True)
class FakeProvider:
    """The provider `kubernetes` on a cluster in memory."""

    cluster: FakeCluster
    directory: Path
    adopts: bool = False
    mutable: bool = False
    package: str = "kubernetes"
    version: str = "4.34.2"

    def check_config(self, config: Properties) -> Sequence[Failure]:
        del config
        return []

    def diff_config(self, old: Properties, new: Properties) -> PropertyDifference:
        del old, new
        return PropertyDifference(changes={})

    def configure(self, session: Session) -> KubernetesInstance:
        transport = httpx.MockTransport(self.cluster.answer)
        client = httpx.Client(base_url="https://cluster", transport=transport)
        api = Api(client, session.cancelled)
        kinds = Discovery(api)
        return KubernetesInstance(
            objects=Objects(api=api, kinds=kinds, namespace="default", adopts=self.adopts),
            releases=Releases(
                api=api,
                cloud=Cloud(self.directory),
                crds=self.directory / "crds",
                namespace="default",
            ),
            mutable_config_maps=self.mutable,
            mutable_secrets=self.mutable,
        )
