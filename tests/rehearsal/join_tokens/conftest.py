"""A control plane with the objects of fleet-join-tokens, its pod's account, and a store."""

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from components.platform.join_tokens import NAME, JoinTokens, JoinTokensArgs
from components.pools.boot import Cluster
from rehearsal.api import Api
from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from settings.names import JOIN_TOKENS_NAMESPACE
from tests.support.recorder import plain, render
from toolchain.build import ensure
from workloads.api_server import ApiServer

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
OWN = f"/api/v1/namespaces/{JOIN_TOKENS_NAMESPACE}"
GROUPS = {
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"{OWN}/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/{{}}/roles",
    "RoleBinding": f"{RBAC}/namespaces/{{}}/rolebindings",
    "ValidatingAdmissionPolicy": f"{ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ADMISSION}/validatingadmissionpolicybindings",
    "Deployment": f"/apis/apps/v1/namespaces/{JOIN_TOKENS_NAMESPACE}/deployments",
    "ConfigMap": f"{OWN}/configmaps",
}
CLUSTER = Cluster(name="c", endpoint="api.fleet.example:6443", ca_cert_hash="sha256:" + "ab" * 32)


@dataclass(kw_only=True)
class Store:
    """Takes objects as S3 does, in memory; `refuses` makes it answer 503."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    refuses: bool = False


@dataclass(frozen=True, kw_only=True)
class Ground:
    """The API server for its administrator and for the program, and the store."""

    api: Api
    program: ApiServer
    store: Store


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("join-tokens")
    tools = ensure(("control-plane", "kwok", "admitter"), console=None)
    processes = Processes(folder)
    launcher = Launcher(
        directory=folder,
        processes=processes,
        programs=Programs.of(tools),
        environment=dict(os.environ),
    )
    store = Store()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(store))
    store.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        api = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16").api
        _install(api)
        (folder / "token").write_text(_token(api))
        (folder / "ca.crt").write_bytes((folder / "certificates" / "ca.crt").read_bytes())
        place = urlsplit(api.server)
        assert place.hostname
        assert place.port
        program = ApiServer(host=place.hostname, port=place.port, account=folder)
        yield Ground(api=api, program=program, store=store)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        processes.stop()


def _handler(store: Store) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:  # http.server's
            body = self.rfile.read(int(self.headers["content-length"]))
            if not store.refuses:
                store.objects[self.path] = body
            self.send_response(503 if store.refuses else 200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    return Handler


def _install(api: Api) -> None:
    """The component's objects, as it registers them, but its Deployment's machine-bound parts."""
    args = JoinTokensArgs(cluster=CLUSTER, region="us-east-1", burst=("burst",))
    for each in render(lambda: JoinTokens("join-tokens", args)):
        path = GROUPS.get(each.kind)
        if path is not None:
            text = json.dumps(plain(each.inputs))
            thing = json.loads(text, parse_float=lambda number: int(float(number)))
            space = thing["metadata"].get("namespace", "")
            assert api.create(path.format(space), thing), each.name


def _token(api: Api) -> str:
    path = f"{GROUPS['ServiceAccount']}/{NAME}/token"
    made = api.request("POST", path, {"spec": {"expirationSeconds": 3600}})
    return str(made["status"]["token"])
