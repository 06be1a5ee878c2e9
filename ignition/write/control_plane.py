"""Writes the boot data of control-plane servers: kubeadm on Flatcar, and the PKI of the cluster.

Every server gets the same certificate authorities ("manual certificate distribution" of kubeadm's
guide to high availability), so that one that is replaced joins at any time, without the upload of
certificates that kubeadm forgets after two hours, and the hash that nodes know never changes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hardware.catalogue import Arch
from ignition.write import documents
from ignition.write.documents import RenderError, file, hostname_file, to_json
from ignition.write.extensions import kubernetes

CRI_SOCKET = "unix:///run/containerd/containerd.sock"
INIT_FILE = "/etc/kubernetes/init.yaml"
JOIN_FILE = "/etc/kubernetes/join.yaml"
# what kubeadm does not make anew where it is there; certificates of a server are its own
PKI = (
    "ca.crt",
    "ca.key",
    "sa.key",
    "sa.pub",
    "front-proxy-ca.crt",
    "front-proxy-ca.key",
    "etcd/ca.crt",
    "etcd/ca.key",
)
_ENDPOINT = re.compile(r"[A-Za-z0-9.-]+:\d{1,5}", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class ControlPlaneBoot:
    """One server. `first` founds the cluster where no API server answers; the others wait for one.

    `etcd_device` is a disk of etcd's own, formatted when the server is installed, None for the
    system disk. `external_cloud_provider` is for servers of Hetzner Cloud.
    """

    endpoint: str
    kubernetes_version: str
    arch: Arch
    first: bool
    etcd_device: str | None = None
    external_cloud_provider: bool = False
    snippets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _ENDPOINT.fullmatch(self.endpoint):
            raise RenderError(f'control plane: endpoint is "{self.endpoint}"; allowed: host:port')


@dataclass(frozen=True, kw_only=True)
class ControlPlaneSecrets:
    """The secret part of one server; `pki` has a PEM text for each name of PKI."""

    cluster: str
    endpoint: str
    pod_cidr: str
    service_cidr: str
    kubernetes_version: str
    hostname: str
    ca_cert_hash: str
    token: str = field(repr=False)
    pki: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        missing = [name for name in PKI if not self.pki.get(name)]
        unknown = sorted(self.pki.keys() - set(PKI))
        if missing or unknown:
            raise RenderError(
                f"control plane {self.hostname}: pki lacks {missing} and has {unknown}; allowed: "
                f"exactly {', '.join(PKI)}"
            )


def control_plane_butane(server: ControlPlaneBoot) -> str:
    """The plain part as Butane (flatcar 1.1.0)."""
    return documents.butane(
        "control_plane",
        {"server": server, "kubernetes": kubernetes(server.kubernetes_version, server.arch)},
    )


def control_plane_ignition(server: ControlPlaneBoot) -> str:
    """The plain part as Ignition: no secret, the same text for the same input."""
    return documents.ignition(control_plane_butane(server), server.snippets)


def secret_ignition(secrets: ControlPlaneSecrets) -> str:
    """The secret part: the PKI, kubeadm's configurations with the token, and the hostname."""
    pki = [
        file(
            f"/etc/kubernetes/pki/{name}",
            secrets.pki[name],
            mode=0o600 if name.endswith(".key") else 0o644,
        )
        for name in PKI
    ]
    init = "\n---\n".join(to_json(part) for part in (_init(secrets), _cluster(secrets)))
    configurations = [
        file(INIT_FILE, init, mode=0o600),
        file(JOIN_FILE, to_json(_join(secrets)), mode=0o600),
    ]
    return documents.secret_ignition([*pki, *configurations, hostname_file(secrets.hostname)])


def _registration(secrets: ControlPlaneSecrets) -> dict[str, object]:
    return {"name": secrets.hostname, "criSocket": CRI_SOCKET}


def _init(secrets: ControlPlaneSecrets) -> dict[str, object]:
    return {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        # machines join at any time, so the token does not end by itself
        "bootstrapTokens": [{"token": secrets.token, "ttl": "0s"}],
        "nodeRegistration": _registration(secrets),
    }


def _cluster(secrets: ControlPlaneSecrets) -> dict[str, object]:
    return {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "clusterName": secrets.cluster,
        "kubernetesVersion": f"v{secrets.kubernetes_version}",
        "controlPlaneEndpoint": secrets.endpoint,
        "networking": {"podSubnet": secrets.pod_cidr, "serviceSubnet": secrets.service_cidr},
        "proxy": {"disabled": True},  # Cilium leads to Services
    }


def _join(secrets: ControlPlaneSecrets) -> dict[str, object]:
    return {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {
                "apiServerEndpoint": secrets.endpoint,
                "token": secrets.token,
                "caCertHashes": [secrets.ca_cert_hash],
            }
        },
        "nodeRegistration": _registration(secrets),
        "controlPlane": {},
    }
