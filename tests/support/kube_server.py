"""An API server in memory, over HTTP, for what asks a cluster by its kubeconfig."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from kube.resources.provider import ClusterProvider

Provider = TypeVar("Provider", bound=ClusterProvider)

NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"


@dataclass(kw_only=True)
class KubeServer:
    """Objects by path. A deleted object with finalizers stays until they are gone."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    """Method and path, in order."""
    before: Callable[[str, str], None] = lambda _method, _path: None
    """Called before each request, for what others do meanwhile."""
    kubeconfig: str = ""
    token: str = ""
    """The only token that is let in; every one is where this is empty."""

    def put(self, path: str, **content: Any) -> dict[str, Any]:
        metadata = {"name": path.rsplit("/", 1)[1], **content.pop("metadata", {})}
        self.objects[path] = {"metadata": metadata, **content}
        return self.objects[path]

    def node(self, name: str, *, ready: bool = True) -> dict[str, Any]:
        condition = {"type": "Ready", "status": str(ready), "message": "cni plugin is missing"}
        return self.put(f"{NODES}/{name}", spec={}, status={"conditions": [condition]})

    def pod(self, name: str, node: str) -> dict[str, Any]:
        spec = {"nodeName": node, "containers": []}
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1"}
        metadata = {"namespace": "default", "ownerReferences": [{**owner, "controller": True}]}
        return self.put(f"{PODS}/{name}", metadata=metadata, spec=spec, status={"phase": "Running"})

    def claim(self, name: str, pool: str) -> dict[str, Any]:
        metadata = {
            "labels": {"karpenter.sh/nodepool": pool},
            "finalizers": ["karpenter.sh/termination"],
        }
        return self.put(f"{CLAIMS}/{name}", metadata=metadata, spec={})

    def node_pool(self, name: str) -> dict[str, Any]:
        return self.put(f"{NODE_POOLS}/{name}", spec={"limits": {"nvidia.com/gpu": "16"}})

    def release(self, name: str, *statuses: str, namespace: str = "kube-system") -> None:
        """A Secret for each revision of a release, as Helm keeps them."""
        for number, status in enumerate(statuses, 1):
            labels = {"owner": "helm", "name": name, "status": status, "version": str(number)}
            secrets = f"/api/v1/namespaces/{namespace}/secrets"
            self.put(f"{secrets}/sh.helm.release.v1.{name}.v{number}", metadata={"labels": labels})

    def left(self, collection: str) -> list[str]:
        """The names of the objects in a collection."""
        found = [path for path in self.objects if path.startswith(f"{collection}/")]
        return sorted(path.rsplit("/", 1)[1] for path in found)

    def answer(self, method: str, url: str, body: Any) -> tuple[int, Any]:
        path = urlsplit(url).path
        self.requests.append(f"{method} {path}")
        self.before(method, path)
        if method == "POST" and path.endswith("/eviction"):
            return self._evict(path.removesuffix("/eviction"))
        if path not in self.objects:
            return self._listed(url) if method == "GET" else _status(404)
        if method == "PATCH":
            _merge(self.objects[path], body)
        if method == "DELETE":
            self._delete(path)
        return 200, self.objects.get(path, {"metadata": {}})

    def _listed(self, url: str) -> tuple[int, Any]:
        path, query = urlsplit(url).path, parse_qs(urlsplit(url).query)
        kind = path.rsplit("/", 1)[1]
        if kind not in {"nodes", "pods", "nodeclaims", "nodepools", "secrets"}:
            return _status(404)
        found = [each for key, each in self.objects.items() if key.rsplit("/", 2)[1] == kind]
        if kind == "secrets":  # of one namespace
            found = [each for key, each in self.objects.items() if key.startswith(f"{path}/")]
        for selector in query.get("labelSelector", []):
            wanted = {tuple(label.split("=")) for label in selector.split(",")}
            found = [each for each in found if wanted <= {*each["metadata"]["labels"].items()}]
        for selector in query.get("fieldSelector", []):
            node = selector.partition("=")[2]
            found = [each for each in found if each["spec"].get("nodeName") == node]
        return 200, {"metadata": {}, "items": found}

    def _delete(self, path: str) -> None:
        if self.objects[path]["metadata"].get("finalizers"):
            now = datetime.now(UTC).isoformat()
            self.objects[path]["metadata"]["deletionTimestamp"] = now
        else:
            del self.objects[path]

    def _evict(self, path: str) -> tuple[int, Any]:
        if path not in self.objects:
            return _status(404)
        if "budget" in self.objects[path]["metadata"].get("labels", {}):
            return _status(429)
        del self.objects[path]
        return 201, {"metadata": {}}


def _status(code: int) -> tuple[int, Any]:
    return code, {"kind": "Status", "status": "Failure", "code": code, "message": f"it is {code}"}


def _merge(held: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(held.get(key), dict):
            _merge(held[key], value)
        else:
            held[key] = value


@contextmanager
def serving() -> Iterator[KubeServer]:
    """An empty cluster, until the end of the block."""
    cluster = KubeServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(text) if text else None
            bearer = self.headers.get("Authorization")
            let_in = not cluster.token or bearer == f"Bearer {cluster.token}"
            code, answer = cluster.answer(self.command, self.path, body) if let_in else _status(401)
            content = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815  # the protocol's names

        def log_message(self, *_args: object) -> None:  # the base class prints
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster.kubeconfig = kubeconfig(f"http://127.0.0.1:{server.server_port}")
    try:
        yield cluster
    finally:
        server.shutdown()
        server.server_close()


def acting(provider: Provider, kubeconfig: str) -> Provider:
    """The provider with a kubeconfig, as the engine's configuration hands it one."""
    provider.kubeconfig = kubeconfig
    return provider


def kubeconfig(server: str) -> str:
    """A kubeconfig of one server, as text."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": server}}],
            "users": [{"name": "it", "user": {"token": "t0ken"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        }
    )
