"""Starts a real Kubernetes control plane on 127.0.0.1: etcd, API server, controllers, kubelets.

kwok plays the kubelets, and runs the pods that the admitter has marked.

All processes listen on the loopback interface alone, and etcd asks for a certificate like the API
server. Ports are free ones; when another program takes one before the process listens, the process
is started again on another.
"""

import base64
import contextlib
import secrets
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import yaml

from rehearsal import certificates, rights
from rehearsal.api import Api
from rehearsal.certificates import Certificates, write_private
from rehearsal.errors import RehearsalError
from rehearsal.log_reason import PORT_TAKEN, with_reason
from rehearsal.processes import Processes
from toolchain.build import Tools

STAGES = Path(__file__).with_name("stages.yaml")
KUBELETS = "kubelets"
"""The folder with the files of each node's kubelet, in a subfolder of its name."""
READY_DEADLINE_S = 90.0  # a loaded laptop; 3 s is usual
PORT_ATTEMPTS = 3
PORTS = range(15_000, 30_000)
"""Below those of connections that go out (Linux has 32768 to 60999, others 49152 and more): one of
these takes a port between its choice and the moment at which a server listens. And below those of
NodePorts."""
# The defaults serve a cluster with many clients; a rehearsal has one and wants it done.
CLIENT_LIMITS = ("--kube-api-qps=2000", "--kube-api-burst=4000")
MEMORY_FOR_CPU = {"GOGC": "400"}
"""Go's garbage collector takes a third of the API server's CPU while policies are compiled, at the
default of 100 (a profile of `up` with 1.36.3); at 400 it runs a quarter as often."""


@dataclass(frozen=True, kw_only=True)
class Programs:
    """Paths of the binaries."""

    control_plane: Path  # etcd, API server, controller manager, scheduler by first argument
    kwok: Path
    admitter: Path  # the kubelets' admission of the pods that kwok runs

    @classmethod
    def of(cls, tools: Tools) -> Self:
        """Return those of the toolchain."""
        return cls(
            control_plane=tools.path("control-plane"),
            kwok=tools.path("kwok"),
            admitter=tools.path("admitter"),
        )


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """A ready cluster."""

    api: Api
    kubeconfig: Path


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """Starts the parts of one control plane in `directory`."""

    directory: Path
    processes: Processes
    programs: Programs
    environment: Mapping[str, str]
    gates: tuple[str, ...] = ()
    """Feature gates that are on in all its programs, beside those that are on by default."""
    apis: tuple[str, ...] = ()
    """API versions that are served beside the usual ones, such as scheduling.k8s.io/v1beta1."""

    def launch(self, *, service_cidr: str, pod_cidr: str) -> ControlPlane:
        """Starts everything and returns when the API server is ready."""
        pki = certificates.make(self.directory / "certificates", service_cidr=service_cidr)
        etcd = self._on_free_port("etcd", partial(self._etcd, pki), pki)
        etcd.close()
        audit = rights.write_policy(self.directory)
        more = (*audit, *self._gates(), *self._apis())
        arguments = partial(_api_server, pki, etcd.server, service_cidr, more)
        api = self._on_free_port("kube-apiserver", arguments, pki)
        kubeconfig = self.directory / "kubeconfig"
        write_private(kubeconfig, _kubeconfig(api.server, pki).encode())
        self._start_clients(kubeconfig, pki, pod_cidr)
        return ControlPlane(api=api, kubeconfig=kubeconfig)

    def _start_clients(self, kubeconfig: Path, pki: Certificates, pod_cidr: str) -> None:
        config = f"--kubeconfig={kubeconfig}"
        quiet = ("--leader-elect=false", "--secure-port=0")
        keys = (
            f"--service-account-private-key-file={pki.service_account_key}",
            f"--root-ca-file={pki.authority}",
        )
        # as kubeadm has it: each controller is a user of its own, whom the rules believe
        own = "--use-service-account-credentials=true"
        usual = (config, *quiet, *CLIENT_LIMITS, *self._gates())
        manager = ("kube-controller-manager", *usual, *keys, own)
        scheduler = ("kube-scheduler", *usual)
        for arguments in (manager, scheduler):
            program: tuple[str | Path, ...] = (self.programs.control_plane, *arguments)
            self._start(arguments[0], program, controller=True)
        self.start_kwok(kubeconfig, pod_cidr)
        self.start_admitter(kubeconfig)

    def start_kwok(self, kubeconfig: Path, pod_cidr: str, stages: Path = STAGES) -> None:
        """Starts what plays the kubelets, by the stages of a file."""
        kwok = (
            self.programs.kwok,
            f"--kubeconfig={kubeconfig}",
            f"--config={stages}",
            f"--cidr={pod_cidr}",
            "--manage-all-nodes=false",
            "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
            "--node-lease-duration-seconds=40",
        )
        self._start("kwok", kwok, controller=True)

    def _gates(self) -> tuple[str, ...]:
        on = ",".join(f"{gate}=true" for gate in self.gates)
        return (f"--feature-gates={on}",) if on else ()

    def _apis(self) -> tuple[str, ...]:
        on = ",".join(f"{version}=true" for version in self.apis)
        return (f"--runtime-config={on}",) if on else ()

    def start_admitter(self, kubeconfig: Path) -> None:
        """Starts what admits pods to the nodes that kwok plays."""
        state = f"--state={self.directory / KUBELETS}"
        admitter = (self.programs.admitter, f"--kubeconfig={kubeconfig}", state)
        self._start("admitter", admitter, controller=True)

    def _start(
        self, name: str, argv: tuple[str | Path, ...], *, controller: bool = False
    ) -> subprocess.Popen[bytes]:
        env = {**self.environment, **MEMORY_FOR_CPU}
        return self.processes.start(name, argv, env=env, cwd=self.directory, controller=controller)

    def _etcd(self, pki: Certificates, port: int) -> tuple[str, ...]:
        peer = f"https://127.0.0.1:{free_port()}"
        client = f"https://127.0.0.1:{port}"
        own = [
            f"--{side}{option}"
            for side in ("", "peer-")
            for option in (
                f"cert-file={pki.server.certificate}",
                f"key-file={pki.server.key}",
                f"trusted-ca-file={pki.authority}",
                "client-cert-auth",
            )
        ]
        return (
            "--name=rehearsal",
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=rehearsal={peer}",
            "--unsafe-no-fsync",  # its data is thrown away with the rehearsal
            "--log-level=warn",
            *own,
        )

    def _on_free_port(
        self, name: str, arguments: Callable[[int], tuple[str, ...]], pki: Certificates
    ) -> Api:
        """Starts the server `name` on a free port and waits until it is ready."""
        trust = _trust(pki)
        for _ in range(PORT_ATTEMPTS):
            port = free_port()
            process = self._start(name, (self.programs.control_plane, name, *arguments(port)))
            api = Api.connect(f"https://127.0.0.1:{port}", trust)
            problem = self._wait(name, process, api)
            if problem is None:
                return api
            api.close()
            if PORT_TAKEN not in problem:
                raise RehearsalError(problem)
        raise RehearsalError(
            f"{name} found its port on 127.0.0.1 taken {PORT_ATTEMPTS} times in a row; another "
            "program takes ports faster than they can be used: end it and rehearse again."
        )

    def _wait(self, name: str, process: subprocess.Popen[bytes], api: Api) -> str | None:
        """Waits until the server is ready; returns one sentence with the end of its log if not."""
        deadline = time.monotonic() + READY_DEADLINE_S
        while True:
            waits_for = api.ready()
            if waits_for is None:
                return None
            if process.poll() is not None:
                return self.processes.how_it_ended(name)
            self.processes.check(starting=name)
            if time.monotonic() > deadline:
                late = f"{name} was not ready after {READY_DEADLINE_S:.0f} s ({waits_for})"
                return with_reason(late, self.processes.log(name))
            time.sleep(0.05)


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens at this moment.

    Raises RehearsalError where none of many is free.
    """
    for _ in range(len(PORTS)):
        port = secrets.choice(PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise RehearsalError(
        f"No port of {PORTS[0]} to {PORTS[-1]} is free on 127.0.0.1: end what listens there."
    )


def _trust(pki: Certificates) -> ssl.SSLContext:
    """Trusts the control plane's own authority and logs in as its administrator."""
    context = ssl.create_default_context(cafile=str(pki.authority))
    context.load_cert_chain(pki.admin.certificate, pki.admin.key)
    return context


def _api_server(
    pki: Certificates, etcd: str, service_cidr: str, more: tuple[str, ...], port: int
) -> tuple[str, ...]:
    return (
        *more,
        f"--etcd-servers={etcd}",
        f"--etcd-cafile={pki.authority}",
        f"--etcd-certfile={pki.server.certificate}",
        f"--etcd-keyfile={pki.server.key}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki.server.certificate}",
        f"--tls-private-key-file={pki.server.key}",
        f"--client-ca-file={pki.authority}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--enable-bootstrap-token-auth=true",  # as kubeadm sets it
        "--allow-privileged=true",
        f"--service-cluster-ip-range={service_cidr}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={pki.service_account_key}",
        f"--service-account-signing-key-file={pki.service_account_key}",
        "--endpoint-reconciler-type=none",  # a Service cannot point at a loopback address
        "--profiling=false",
    )


def _kubeconfig(server: str, pki: Certificates) -> str:
    """A kubeconfig with its keys inside, so that it can be the stack's secret."""

    def embedded(path: Path) -> str:
        return base64.b64encode(path.read_bytes()).decode()

    cluster = {"server": server, "certificate-authority-data": embedded(pki.authority)}
    user = {
        "client-certificate-data": embedded(pki.admin.certificate),
        "client-key-data": embedded(pki.admin.key),
    }
    name = "rehearsal"
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        },
        sort_keys=False,
    )
